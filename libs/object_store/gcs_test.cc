// Tests of a file system on Google Cloud Storage with an emulator, and with the
// token of a service account (testing/object_server.py).
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
#include "libs/object_store/curl_http_client.h"
#include "libs/object_store/gcs_object_store.h"
#include "libs/object_store/google_credentials.h"
#include "libs/object_store/http_client.h"
#include "libs/object_store/object_file_system.h"
#include "libs/object_store/retrying_http_client.h"
#include "libs/object_store/testing/object_server.h"

namespace weft {
namespace {

constexpr char kAccountFile[] = "/account.json";

const ObjectServer* Server() {
  static const auto* server = ObjectServer::Start("gcs").release();
  return server;
}

// GcsParts owns all objects that a file system on Google Cloud Storage needs.
class GcsParts {
 public:
  GcsParts()
      : credentials_(
            {.environment =
                 [this](const char* name) { return environment_[name]; },
             .files = &home_,
             .http = &curl_,
             .scheduler = scheduler_.get()}),
        store_({.http = &http_,
                .scheduler = scheduler_.get(),
                .random = random_.get(),
                .credentials = &credentials_,
                .endpoint = Server()->url()}) {}

  ObjectStore& store() { return store_; }
  Scheduler& scheduler() { return *scheduler_; }
  std::map<std::string, std::string>& environment() { return environment_; }
  FileSystem& home() { return home_; }

  // Uses the account that the server provides.
  void LogIn() {
    HttpRequest request;
    request.url = absl::StrCat(Server()->url(), "/weft-account");
    ASSERT_OK_AND_ASSIGN(const HttpResponse account,
                         Send(curl_, *scheduler_, request));
    ASSERT_OK(home_.WriteFileAtomically(kAccountFile, account.body));
    environment_["GOOGLE_APPLICATION_CREDENTIALS"] = kAccountFile;
  }

 private:
  SystemClock clock_;
  MemoryFileSystem home_;
  std::map<std::string, std::string> environment_ = {{"HOME", "/home"}};
  const std::unique_ptr<Scheduler> scheduler_ =
      NewThreadScheduler(clock_, {.compute_threads = 1});
  const std::unique_ptr<Random> random_ = NewSystemRandom();
  CurlHttpClient curl_{{.scheduler = scheduler_.get()}};
  RetryingHttpClient http_{
      curl_,
      *scheduler_,
      *random_,
      {.max_attempts = 3, .first_delay = absl::Milliseconds(1)}};
  GoogleCredentials credentials_;
  GcsObjectStore store_;
};

class GcsFileSystem : public ObjectFileSystem {
 public:
  explicit GcsFileSystem(std::unique_ptr<GcsParts> parts)
      : ObjectFileSystem(parts->store(), parts->scheduler(),
                         {.part_bytes = size_t{64} << 10}),
        parts_(std::move(parts)) {}

  GcsParts& parts() { return *parts_; }

 private:
  const std::unique_ptr<GcsParts> parts_;
};

std::unique_ptr<GcsFileSystem> NewFiles() {
  auto parts = std::make_unique<GcsParts>();
  parts->LogIn();
  return std::make_unique<GcsFileSystem>(std::move(parts));
}

std::string NewDirectory() {
  static int directories = 0;
  return absl::StrCat("gs://bucket/d", ++directories);
}

FileSystemHarness NewHarness() {
  auto files = NewFiles();
  const std::string directory = NewDirectory();
  EXPECT_OK(files->CreateDirectories(directory));
  return {std::move(files), directory};
}

std::vector<FileSystemHarnessFactory> Harnesses() {
  if (Server() == nullptr) return {};
  return {[] { return NewHarness(); }};
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FileSystemConformanceTest);
INSTANTIATE_TEST_SUITE_P(Gcs, FileSystemConformanceTest,
                         ::testing::ValuesIn(Harnesses()));

class GcsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (Server() != nullptr) {
      files_ = NewFiles();
      directory_ = NewDirectory();
      ASSERT_OK(files_->CreateDirectory(directory_));
      return;
    }
    // tools/test.sh sets this variable and installs the tools, so the test must
    // not be skipped.
    if (std::getenv("WEFT_TEST_TOOLS_REQUIRED") != nullptr) {
      FAIL() << "the emulator did not start";
    }
    GTEST_SKIP() << "needs tools/setup.sh --tests";
  }

  std::string Path(absl::string_view name) const {
    return absl::StrCat(directory_, "/", name);
  }

  std::unique_ptr<GcsFileSystem> files_;
  std::string directory_;
};

std::string Bytes(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<char>((i * 2654435761u) >> 13);
  }
  return bytes;
}

TEST_F(GcsTest, LargeFilesAreComposedFromParts) {
  // The file has 41 parts, which is more than one call can compose.
  const std::string bytes = Bytes(size_t{41} * (64 << 10) - 7);
  ASSERT_OK_AND_ASSIGN(auto file, files_->NewWritableFile(Path("large")));
  ASSERT_OK(file->Append(bytes));
  ASSERT_OK(file->Close());
  EXPECT_TRUE(files_->ReadFile(Path("large")).value() == bytes);
  EXPECT_THAT(files_->ListDirectory("gs://bucket/.weft-uploads"),
              StatusIs(absl::StatusCode::kNotFound));  // no part is left
}

TEST_F(GcsTest, AppendsContinueAfterFlush) {
  const std::string bytes = Bytes(size_t{3} * (64 << 10) + 11);
  ASSERT_OK_AND_ASSIGN(auto file, files_->NewWritableFile(Path("grows")));
  ASSERT_OK(file->Append(bytes));
  ASSERT_OK(file->Flush());
  ASSERT_OK(file->Append("and on"));
  ASSERT_OK(file->Close());
  ASSERT_OK_AND_ASSIGN(file, files_->NewAppendableFile(Path("grows")));
  ASSERT_OK(file->Append(bytes));
  ASSERT_OK(file->Close());
  EXPECT_TRUE(files_->ReadFile(Path("grows")).value() ==
              bytes + "and on" + bytes);
}

TEST_F(GcsTest, NamesMayContainUrlSpecialCharacters) {
  const std::vector<std::string> names = {"a b", "a+b", "a&b=c?d#e", "Grüße"};
  for (const std::string& name : names) {
    ASSERT_OK(files_->WriteFileAtomically(Path(name), name));
    EXPECT_EQ(files_->ReadFile(Path(name)).value(), name);
  }
  ASSERT_OK_AND_ASSIGN(const auto listed, files_->ListDirectory(directory_));
  EXPECT_EQ(listed.size(), names.size());
}

TEST_F(GcsTest, MissingBucketIsNotAMissingObject) {
  constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;
  EXPECT_THAT(files_->WriteFileAtomically("gs://no-such-bucket/f", "x"),
              StatusIs(kRefused, "gs://no-such-bucket"));
  EXPECT_THAT(files_->ReadFile("gs://no-such-bucket/f"),
              StatusIs(kRefused, "gs://no-such-bucket"));
  EXPECT_THAT(files_->GetFileSize("gs://no-such-bucket/f"),
              StatusIs(kRefused, "gs://no-such-bucket"));
}

TEST_F(GcsTest, RequestWithoutTokenFails) {
  GcsFileSystem nobody(std::make_unique<GcsParts>());
  EXPECT_THAT(nobody.ReadFile(Path("f")),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       "GOOGLE_APPLICATION_CREDENTIALS"));
}

TEST_F(GcsTest, InvalidAccountFileIsNamed) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"no JSON", "is not a JSON object"},
      {"{}", "neither service_account nor authorized_user"},
      {R"({"type": "service_account", "private_key": "none"})",
       "not an RSA key"}};
  for (const auto& [text, error] : cases) {
    auto parts = std::make_unique<GcsParts>();
    ASSERT_OK(parts->home().WriteFileAtomically("/wrong.json", text));
    parts->environment()["GOOGLE_APPLICATION_CREDENTIALS"] = "/wrong.json";
    GcsFileSystem files(std::move(parts));
    const auto read = files.ReadFile(Path("f"));
    EXPECT_THAT(read, StatusIs(absl::StatusCode::kInvalidArgument, error));
    EXPECT_THAT(read,
                StatusIs(absl::StatusCode::kInvalidArgument, "/wrong.json"));
  }
}

}  // namespace
}  // namespace weft
