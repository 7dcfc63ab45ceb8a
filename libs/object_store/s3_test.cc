// Tests of a file system on S3 with moto's server, which checks each signature
// with botocore (testing/object_server.py).
#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/memory_file_system.h"
#include "libs/fs/testing/file_system_conformance.h"
#include "libs/object_store/aws_credentials.h"
#include "libs/object_store/curl_http_client.h"
#include "libs/object_store/http_client.h"
#include "libs/object_store/object_file_system.h"
#include "libs/object_store/retrying_http_client.h"
#include "libs/object_store/s3_object_store.h"
#include "libs/object_store/testing/object_server.h"

namespace weft {
namespace {

// S3Parts owns all objects that a file system on S3 needs.
class S3Parts {
 public:
  // The timeouts are long, because a server on a busy machine may be silent for
  // seconds.
  explicit S3Parts(const std::string& endpoint,
                   absl::Duration operation_timeout = absl::Minutes(1),
                   absl::Duration stall_timeout = absl::Seconds(30))
      : curl_({.scheduler = scheduler_.get(), .stall_timeout = stall_timeout}),
        credentials_(
            {.environment =
                 [this](const char* name) { return environment_[name]; },
             .files = &home_,
             .http = &curl_,
             .scheduler = scheduler_.get()}),
        store_({.http = &http_,
                .scheduler = scheduler_.get(),
                .credentials = &credentials_,
                .endpoint = endpoint,
                .operation_timeout = operation_timeout,
                .max_copied_bytes = uint64_t{12} << 20}) {}

  ObjectStore& store() { return store_; }
  HttpClient& http() { return http_; }
  Scheduler& scheduler() { return *scheduler_; }
  std::map<std::string, std::string>& environment() { return environment_; }

 private:
  SystemClock clock_;
  MemoryFileSystem home_;
  std::map<std::string, std::string> environment_ = {
      {"AWS_ACCESS_KEY_ID", "weft-test-key"},
      {"AWS_SECRET_ACCESS_KEY", "weft-test-secret"}};
  const std::unique_ptr<Scheduler> scheduler_ =
      NewThreadScheduler(clock_, {.compute_threads = 1});
  const std::unique_ptr<Random> random_ = NewSeededRandom(1);
  CurlHttpClient curl_;
  RetryingHttpClient http_{
      curl_,
      *scheduler_,
      *random_,
      {.max_attempts = 3, .first_delay = absl::Milliseconds(1)}};
  AwsCredentials credentials_;
  S3ObjectStore store_;
};

class S3FileSystem : public ObjectFileSystem {
 public:
  explicit S3FileSystem(std::unique_ptr<S3Parts> parts)
      : ObjectFileSystem(parts->store(), parts->scheduler(),
                         {.part_bytes = size_t{5} << 20}),
        parts_(std::move(parts)) {}

  S3Parts& parts() { return *parts_; }

 private:
  const std::unique_ptr<S3Parts> parts_;
};

// Returns the server, which all tests of this program share. Each test has its
// own bucket.
const ObjectServer* Server() {
  static const auto* server = ObjectServer::Start("s3").release();
  return server;
}

void CreateBucket(S3FileSystem& files, const std::string& bucket) {
  HttpRequest request;
  request.method = "PUT";
  request.url = absl::StrCat(Server()->url(), "/", bucket);
  request.body = std::make_shared<const std::string>();
  ASSERT_OK_AND_ASSIGN(
      const HttpResponse response,
      Send(files.parts().http(), files.parts().scheduler(), request));
  ASSERT_TRUE(response.ok()) << response.body;
}

std::string NewBucketName() {
  static int buckets = 0;
  return absl::StrCat("bucket-", ++buckets);
}

FileSystemHarness NewHarness() {
  auto files = std::make_unique<S3FileSystem>(
      std::make_unique<S3Parts>(Server()->url()));
  const std::string bucket = NewBucketName();
  CreateBucket(*files, bucket);
  const std::string directory = absl::StrCat("s3://", bucket, "/a/b");
  EXPECT_OK(files->CreateDirectories(directory));
  return {std::move(files), directory};
}

// The harnesses are created on first use. If the server did not start, there
// are no harnesses and no tests.
std::vector<FileSystemHarnessFactory> Harnesses() {
  if (Server() == nullptr) return {};
  return {[] { return NewHarness(); }};
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FileSystemConformanceTest);
INSTANTIATE_TEST_SUITE_P(S3, FileSystemConformanceTest,
                         ::testing::ValuesIn(Harnesses()));

class S3Test : public ::testing::Test {
 protected:
  void SetUp() override {
    if (Server() != nullptr) {
      files_ = std::make_unique<S3FileSystem>(
          std::make_unique<S3Parts>(Server()->url()));
      bucket_ = NewBucketName();
      CreateBucket(*files_, bucket_);
      return;
    }
    // tools/test.sh sets this variable and installs the tools, so the test must
    // not be skipped.
    if (std::getenv("WEFT_TEST_TOOLS_REQUIRED") != nullptr) {
      FAIL() << "the S3 server did not start";
    }
    GTEST_SKIP() << "needs tools/setup.sh --tests";
  }

  std::string Path(absl::string_view name) const {
    return absl::StrCat("s3://", bucket_, "/", name);
  }
  // Makes the server return these faults for the next requests.
  void SetFaults(const std::string& json) {
    HttpRequest request;
    request.method = "POST";
    request.url = absl::StrCat(Server()->url(), "/weft-faults");
    request.body = std::make_shared<const std::string>(json);
    ASSERT_OK(Send(files_->parts().http(), files_->parts().scheduler(), request)
                  .status());
  }

  std::unique_ptr<S3FileSystem> files_;
  std::string bucket_;
};

std::string Bytes(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<char>((i * 2654435761u) >> 13);
  }
  return bytes;
}

TEST_F(S3Test, LargeFilesUseMultipartAndRangedReads) {
  const std::string bytes = Bytes((size_t{17} << 20) + 3);
  ASSERT_OK_AND_ASSIGN(auto file, files_->NewWritableFile(Path("large")));
  for (size_t i = 0; i < bytes.size(); i += 1'000'003) {
    ASSERT_OK(file->Append(absl::string_view(bytes).substr(i, 1'000'003)));
  }
  EXPECT_THAT(files_->FileExists(Path("large")),
              StatusIs(absl::StatusCode::kNotFound));
  ASSERT_OK(file->Close());
  EXPECT_TRUE(files_->ReadFile(Path("large")).value() == bytes);
}

TEST_F(S3Test, AppendAfterFlushUsesServerSideCopy) {
  std::string bytes = Bytes(size_t{11} << 20);
  ASSERT_OK_AND_ASSIGN(auto file, files_->NewWritableFile(Path("grows")));
  ASSERT_OK(file->Append(bytes));
  ASSERT_OK(file->Flush());
  EXPECT_TRUE(files_->ReadFile(Path("grows")).value() == bytes);
  ASSERT_OK(file->Append("and on"));
  ASSERT_OK(file->Flush());
  ASSERT_OK(file->Close());
  ASSERT_OK_AND_ASSIGN(file, files_->NewAppendableFile(Path("grows")));
  ASSERT_OK(file->Append(bytes));
  ASSERT_OK(file->Close());
  EXPECT_TRUE(files_->ReadFile(Path("grows")).value() ==
              bytes + "and on" + bytes);
}

TEST_F(S3Test, LargeObjectsAreRenamedInParts) {
  const std::string bytes = Bytes(size_t{13} << 20);  // copied in two parts
  ASSERT_OK(files_->WriteFileAtomically(Path("old"), bytes));
  ASSERT_OK(files_->RenameFile(Path("old"), Path("new")));
  EXPECT_TRUE(files_->ReadFile(Path("new")).value() == bytes);
  EXPECT_THAT(files_->FileExists(Path("old")),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(S3Test, NamesMayContainUrlAndXmlCharacters) {
  const std::vector<std::string> names = {"a b",
                                          "a+b",
                                          "a%2Fb",
                                          "a&b=c?d#e",
                                          "model.ckpt-1_temp_0a'\"",
                                          "<tag>",
                                          "Grüße 漢",
                                          "~.-_",
                                          "a:b@c;d,e$f!g*(h)"};
  ASSERT_OK(files_->CreateDirectory(Path("d")));
  for (const std::string& name : names) {
    ASSERT_OK(files_->WriteFileAtomically(Path("d/" + name), name));
    EXPECT_EQ(files_->ReadFile(Path("d/" + name)).value(), name);
  }
  std::vector<std::string> sorted = names;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(files_->ListDirectory(Path("d")).value(), sorted);
  ASSERT_OK(files_->RenameFile(Path("d/Grüße 漢"), Path("d/a b+c")));
  ASSERT_OK(files_->DeleteRecursively(Path("d")));
}

TEST_F(S3Test, ListsMayHaveSeveralPages) {
  std::vector<std::string> names;
  for (int i = 0; i < 1003; ++i) {
    names.push_back(absl::StrCat(10000 + i));
    ASSERT_OK(files_->parts().store().Put({bucket_, "d/" + names.back()}, ""));
  }
  EXPECT_EQ(files_->ListDirectory(Path("d")).value(), names);
}

TEST_F(S3Test, ReaderKeepsTheVersionItOpened) {
  const std::string bytes = Bytes(1'000'000);
  ASSERT_OK(files_->WriteFileAtomically(Path("file"), bytes));
  ASSERT_OK_AND_ASSIGN(auto file, files_->NewRandomAccessFile(Path("file")));
  ASSERT_OK(files_->WriteFileAtomically(Path("file"), bytes + "x"));
  std::string buffer(bytes.size(), '\0');
  EXPECT_THAT(file->Read(0, buffer.size(), buffer.data()),
              StatusIs(absl::StatusCode::kFailedPrecondition, "file"));
  ASSERT_OK(files_->DeleteFile(Path("file")));
  EXPECT_FALSE(file->Read(0, buffer.size(), buffer.data()).ok());
}

TEST_F(S3Test, MissingBucketErrorSuggestsRemedy) {
  constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;
  EXPECT_THAT(files_->WriteFileAtomically("s3://no-such-bucket/f", "x"),
              StatusIs(kRefused, "create the bucket first"));
  EXPECT_THAT(files_->ReadFile("s3://no-such-bucket/f"),
              StatusIs(kRefused, "s3://no-such-bucket"));
  EXPECT_THAT(files_->GetFileSize("s3://no-such-bucket/f"),
              StatusIs(kRefused, "create the bucket first"));
  EXPECT_THAT(files_->CreateDirectories("s3://no-such-bucket/d/e"),
              StatusIs(kRefused, "create the bucket first"));
  EXPECT_THAT(files_->ReadFile("s3:///f"),
              StatusIs(absl::StatusCode::kInvalidArgument, "no bucket"));
  EXPECT_THAT(files_->ReadFile(Path("a/../f")),
              StatusIs(absl::StatusCode::kInvalidArgument, ".."));
}

TEST_F(S3Test, WrongKeyIsPermissionDenied) {
  auto parts = std::make_unique<S3Parts>(Server()->url());
  parts->environment()["AWS_SECRET_ACCESS_KEY"] = "another";
  S3FileSystem wrong(std::move(parts));
  EXPECT_THAT(wrong.WriteFileAtomically(Path("f"), "x"),
              StatusIs(absl::StatusCode::kPermissionDenied));
  parts = std::make_unique<S3Parts>(Server()->url());
  parts->environment()["AWS_ACCESS_KEY_ID"] = "nobody";
  S3FileSystem nobody(std::move(parts));
  EXPECT_THAT(
      nobody.ReadFile(Path("f")),
      StatusIs(absl::StatusCode::kPermissionDenied, "AWS_ACCESS_KEY_ID"));
}

TEST_F(S3Test, SessionTokenIsSigned) {
  auto parts = std::make_unique<S3Parts>(Server()->url());
  parts->environment()["AWS_SESSION_TOKEN"] = "FwoGZXIvYXdzE+/=token==";
  S3FileSystem files(std::move(parts));
  ASSERT_OK(files.WriteFileAtomically(Path("f"), "x"));
  EXPECT_EQ(files.ReadFile(Path("f")).value(), "x");
}

TEST_F(S3Test, TransientErrorsAreRetried) {
  for (const char* status : {"500", "503", "429"}) {
    SetFaults(absl::StrCat(R"([{"method": "PUT", "times": 2, "status": )",
                           status, "}]"));
    ASSERT_OK(files_->parts().store().Put({bucket_, "f"}, status));
    EXPECT_EQ(files_->ReadFile(Path("f")).value(), status);
  }
}

TEST_F(S3Test, PermanentErrorIsReturnedAfterRetries) {
  SetFaults(R"([{"method": "PUT", "times": 3, "status": 503}])");
  EXPECT_THAT(files_->parts().store().Put({bucket_, "f"}, "x"),
              StatusIs(absl::StatusCode::kUnavailable, "SlowDown"));
}

TEST_F(S3Test, TruncatedRepliesAreRetried) {
  const std::string bytes = Bytes(100'000);
  ASSERT_OK(files_->WriteFileAtomically(Path("f"), bytes));
  SetFaults(R"([{"method": "GET", "times": 2, "half": true}])");
  EXPECT_TRUE(files_->ReadFile(Path("f")).value() == bytes);
}

TEST_F(S3Test, SilentServerIsRetried) {
  ASSERT_OK(files_->WriteFileAtomically(Path("f"), "x"));
  S3FileSystem files(std::make_unique<S3Parts>(
      Server()->url(), absl::Minutes(1), absl::Seconds(3)));
  SetFaults(R"([{"method": "GET", "stall": true}])");
  EXPECT_EQ(files.ReadFile(Path("f")).value(), "x");
}

TEST_F(S3Test, SilentServerFailsCallAtDeadline) {
  S3FileSystem files(
      std::make_unique<S3Parts>(Server()->url(), absl::Milliseconds(300)));
  SetFaults(R"([{"method": "PUT", "times": 100, "stall": true}])");
  EXPECT_THAT(files.parts().store().Put({bucket_, "f"}, "x"),
              StatusIs(absl::StatusCode::kDeadlineExceeded, "f"));
  SetFaults("[]");
}

TEST_F(S3Test, LostUploadConfirmationKeepsFileComplete) {
  const std::string bytes = Bytes(size_t{11} << 20);
  ASSERT_OK_AND_ASSIGN(auto file, files_->NewWritableFile(Path("f")));
  ASSERT_OK(file->Append(bytes));
  SetFaults(R"([{"method": "POST", "path": "uploadId", "done": true}])");
  ASSERT_OK(file->Close());
  EXPECT_TRUE(files_->ReadFile(Path("f")).value() == bytes);
}

TEST_F(S3Test, FailedFileLeavesNoObject) {
  ASSERT_OK_AND_ASSIGN(auto file, files_->NewWritableFile(Path("f")));
  SetFaults(R"([{"method": "PUT", "path": "uploadId", "times": 100,
                 "status": 503}])");
  absl::Status status;
  for (int i = 0; i < 20 && status.ok(); ++i) {
    status = file->Append(Bytes(size_t{5} << 20));
  }
  if (status.ok()) status = file->Close();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(file->Append("more").code(), absl::StatusCode::kUnavailable);
  file = nullptr;
  SetFaults("[]");
  EXPECT_THAT(files_->FileExists(Path("f")),
              StatusIs(absl::StatusCode::kNotFound));
}

// A cancelled save sends no further requests. An upload of parts is aborted,
// and a short object is not created.
TEST_F(S3Test, AbandonedFileIsNotCreated) {
  ASSERT_OK(files_->WriteFileAtomically(Path("old"), "old"));
  for (const size_t size : {size_t{10}, (size_t{11} << 20) + 10}) {
    for (const char* name : {"new", "old"}) {
      ASSERT_OK_AND_ASSIGN(auto file, files_->NewWritableFile(Path(name)));
      ASSERT_OK(file->Append(Bytes(size)));
      // If the file sent further parts or completed the upload, these requests
      // would fail.
      SetFaults(R"([{"method": "POST", "times": 100, "status": 403},
                    {"method": "PUT", "path": "partNumber=3", "times": 100,
                     "status": 403}])");
      file->Abandon();
      EXPECT_FALSE(file->Append("more").ok());
      EXPECT_OK(file->Close());
      file = nullptr;
      SetFaults("[]");
    }
    EXPECT_THAT(files_->FileExists(Path("new")),
                StatusIs(absl::StatusCode::kNotFound));
    EXPECT_EQ(files_->ReadFile(Path("old")).value(), "old");
  }
  // The service keeps no parts of the upload.
  HttpRequest request;
  request.url = absl::StrCat(Server()->url(), "/", bucket_, "?uploads");
  ASSERT_OK_AND_ASSIGN(
      const HttpResponse uploads,
      Send(files_->parts().http(), files_->parts().scheduler(), request));
  EXPECT_EQ(uploads.body.find("<UploadId>"), std::string::npos) << uploads.body;
}

// The service's answer has a code that also stands for missing files. It must
// not be taken for a missing file.
TEST_F(S3Test, BucketInOtherRegionIsAnError) {
  for (const bool is_made : {false, true}) {
    SetFaults(
        R"([{"times": 100, "status": 301, "code": "PermanentRedirect"}])");
    const absl::Status status = is_made
                                    ? files_->CreateDirectory(Path("d"))
                                    : files_->IsDirectory(Path("d")).status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                                 "PermanentRedirect"));
    SetFaults("[]");
  }
}

TEST_F(S3Test, UnreachableServerIsUnavailable) {
  S3FileSystem files(std::make_unique<S3Parts>("http://127.0.0.1:1"));
  EXPECT_THAT(files.ReadFile("s3://bucket/f"),
              StatusIs(absl::StatusCode::kUnavailable, "s3://bucket/f"));
}

}  // namespace
}  // namespace weft
