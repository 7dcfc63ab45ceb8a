// Tests with responses that services return rarely or should never return. A
// scripted HTTP client simulates them.
#include "libs/object_store/object_answers.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/memory_file_system.h"
#include "libs/object_store/aws_credentials.h"
#include "libs/object_store/aws_signature.h"
#include "libs/object_store/curl_http_client.h"
#include "libs/object_store/gcs_object_store.h"
#include "libs/object_store/google_credentials.h"
#include "libs/object_store/object_file_system.h"
#include "libs/object_store/object_files.h"
#include "libs/object_store/object_stores.h"
#include "libs/object_store/retrying_http_client.h"
#include "libs/object_store/s3_object_store.h"

namespace weft {
namespace {

constexpr auto kInternalError = absl::StatusCode::kInternal;

// ScriptedHttp answers requests at once and records them.
class ScriptedHttp : public HttpClient {
 public:
  using Script =
      std::function<absl::StatusOr<HttpResponse>(const HttpRequest& request)>;

  void Start(HttpRequest request, Done done) override {
    absl::StatusOr<HttpResponse> answer;
    {
      absl::MutexLock lock(&mutex_);
      requests_.push_back(request);
      answer = script_(request);
    }
    done(std::move(answer));
  }
  void set_script(Script script) { script_ = std::move(script); }
  const std::vector<HttpRequest>& requests() const { return requests_; }
  int Count(absl::string_view method, absl::string_view part_of_url) const {
    int count = 0;
    for (const HttpRequest& request : requests_) {
      if (request.method == method &&
          absl::StrContains(request.url, part_of_url)) {
        ++count;
      }
    }
    return count;
  }

 private:
  absl::Mutex mutex_;
  Script script_ = [](const HttpRequest&) { return HttpResponse{.code = 404}; };
  std::vector<HttpRequest> requests_;
};

HttpResponse Xml(const std::string& body) {
  return {.code = 200, .headers = {}, .body = body};
}

class ObjectAnswersTest : public testing::Test {
 protected:
  SystemClock clock_;
  const std::unique_ptr<Scheduler> scheduler_ =
      NewThreadScheduler(clock_, {.compute_threads = 1});
  const std::unique_ptr<Random> random_ = NewSeededRandom(1);
  MemoryFileSystem home_;
  ScriptedHttp http_;
  RetryingHttpClient retrying_{
      http_,
      *scheduler_,
      *random_,
      {.max_attempts = 3, .first_delay = absl::ZeroDuration()}};
  AwsCredentials aws_{{.environment = [](const char*) { return ""; },
                       .files = &home_,
                       .http = &http_,
                       .scheduler = scheduler_.get()}};
  GoogleCredentials google_{{.environment = [](const char*) { return ""; },
                             .files = &home_,
                             .http = &http_,
                             .scheduler = scheduler_.get()}};
  S3ObjectStore s3_{{.http = &retrying_,
                     .scheduler = scheduler_.get(),
                     .credentials = &aws_,
                     .endpoint = "http://s3"}};
  GcsObjectStore gcs_{{.http = &retrying_,
                       .scheduler = scheduler_.get(),
                       .random = random_.get(),
                       .credentials = &google_,
                       .endpoint = "http://gcs"}};
  ObjectFileSystem files_{s3_, *scheduler_, {.part_bytes = size_t{5} << 20}};
};

TEST_F(ObjectAnswersTest, ListedNamesAreDecodedPerEncodingType) {
  const std::string keys =
      "<Contents><Key>d/a+b</Key></Contents>"
      "<Contents><Key>d/a%2Bb</Key></Contents>"
      "<CommonPrefixes><Prefix>d/x+y/</Prefix></CommonPrefixes>";
  for (const bool is_encoded : {true, false}) {
    http_.set_script([&](const HttpRequest&) {
      return Xml(
          absl::StrCat("<ListBucketResult>",
                       is_encoded ? "<EncodingType>url</EncodingType>" : "",
                       keys, "</ListBucketResult>"));
    });
    ASSERT_OK_AND_ASSIGN(const ObjectList list,
                         s3_.List("bucket", "d/", 1000, ""));
    using Names = std::vector<std::string>;
    EXPECT_EQ(list.keys, is_encoded ? (Names{"d/a b", "d/a+b"})
                                    : (Names{"d/a+b", "d/a%2Bb"}));
    EXPECT_EQ(list.prefixes, Names{is_encoded ? "d/x y/" : "d/x+y/"});
  }
}

// A listed name such as "../x" is skipped, so that deleting all listed names
// cannot delete files elsewhere.
TEST_F(ObjectAnswersTest, InvalidListedNamesAreSkipped) {
  http_.set_script([&](const HttpRequest&) {
    return Xml(
        "<ListBucketResult><Contents><Key>d/</Key></Contents>"
        "<Contents><Key>/etc/x</Key></Contents>"
        "<Contents><Key>d/good</Key></Contents>"
        "<Contents><Key>d/a/b</Key></Contents>"
        "<CommonPrefixes><Prefix>d/./</Prefix></CommonPrefixes>"
        "<CommonPrefixes><Prefix>d/../</Prefix></CommonPrefixes>"
        "<CommonPrefixes><Prefix>gs://other/</Prefix></CommonPrefixes>"
        "<CommonPrefixes><Prefix>d/folder/</Prefix></CommonPrefixes>"
        "</ListBucketResult>");
  });
  ASSERT_OK_AND_ASSIGN(const auto names, files_.ListDirectory("s3://b/d"));
  EXPECT_EQ(names, (std::vector<std::string>{"folder", "good"}));
}

TEST_F(ObjectAnswersTest, EndlessListIsRejected) {
  const auto page = [](const std::string& next) {
    return Xml(absl::StrCat("<ListBucketResult><Contents><Key>d/x</Key>",
                            "</Contents><IsTruncated>true</IsTruncated>",
                            next.empty() ? "" : "<NextContinuationToken>", next,
                            next.empty() ? "" : "</NextContinuationToken>",
                            "</ListBucketResult>"));
  };
  // The pages form a cycle: A, B, A.
  http_.set_script([&](const HttpRequest& request) {
    return page(absl::StrContains(request.url, "token=A") ? "B" : "A");
  });
  EXPECT_THAT(files_.ListDirectory("s3://b/d"),
              StatusIs(kInternalError, "a page that was already listed"));
  // This page has no continuation token, as in the first version of the
  // interface.
  http_.set_script([&](const HttpRequest&) { return page(""); });
  EXPECT_THAT(files_.ListDirectory("s3://b/d"),
              StatusIs(kInternalError, "without a continuation token"));
}

// An endless list is also rejected if each page is empty and has a new token.
TEST_F(ObjectAnswersTest, EndlessEmptyPagesAreRejected) {
  int pages = 0;
  http_.set_script([&](const HttpRequest&) {
    return Xml(absl::StrCat("<ListBucketResult><IsTruncated>true</IsTruncated>",
                            "<NextContinuationToken>", ++pages,
                            "</NextContinuationToken></ListBucketResult>"));
  });
  EXPECT_THAT(files_.ListDirectory("s3://b/d"),
              StatusIs(kInternalError, "empty pages in a row"));
  EXPECT_LE(pages, 1000);
}

// The service may send an empty page before pages with names.
TEST_F(ObjectAnswersTest, EmptyPageDoesNotEndTheList) {
  http_.set_script([&](const HttpRequest& request) {
    if (!absl::StrContains(request.url, "token=A")) {
      return Xml(
          "<ListBucketResult><IsTruncated>true</IsTruncated>"
          "<NextContinuationToken>A</NextContinuationToken>"
          "</ListBucketResult>");
    }
    return Xml(
        "<ListBucketResult><Contents><Key>d/x</Key></Contents>"
        "</ListBucketResult>");
  });
  ASSERT_OK_AND_ASSIGN(const bool is_directory, files_.IsDirectory("s3://b/d"));
  EXPECT_TRUE(is_directory);
  EXPECT_THAT(files_.DeleteDirectory("s3://b/d"),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

// The fixture simulates Google's interface for HMAC keys, which does not
// support UploadPartCopy.
class UncopiedPartsTest : public ObjectAnswersTest {
 protected:
  int NumCopies(absl::string_view part_of_url) const {
    int count = 0;
    for (const HttpRequest& request : http_.requests()) {
      count += Header(request, "x-amz-copy-source").empty() ||
                       !absl::StrContains(request.url, part_of_url)
                   ? 0
                   : 1;
    }
    return count;
  }
  static std::string Header(const HttpRequest& request,
                            absl::string_view name) {
    for (const auto& [key, value] : request.headers) {
      if (key == name) return value;
    }
    return "";
  }

  S3ObjectStore store_{{.http = &retrying_,
                        .scheduler = scheduler_.get(),
                        .credentials = &aws_,
                        .endpoint = "http://gs",
                        .scheme = "gs",
                        .copies_parts = false}};
  ObjectFileSystem gs_files_{
      store_, *scheduler_, {.part_bytes = size_t{5} << 20}};
};

TEST_F(UncopiedPartsTest, LargeObjectIsCopiedCompletely) {
  http_.set_script([](const HttpRequest& request) -> HttpResponse {
    if (request.method != "HEAD") return Xml("<CopyObjectResult/>");
    return {.code = 200,
            .headers = {{"content-length", "6442450944"}, {"etag", "e"}},
            .body = ""};
  });
  EXPECT_OK(store_.Copy({"b", "old"}, {"b", "new"}));
  EXPECT_EQ(http_.Count("PUT", "/b/new"), 1);
  EXPECT_EQ(http_.requests().size(), 2u);  // the other one requests the size
  EXPECT_EQ(NumCopies("/b/new"), 1);
  EXPECT_EQ(NumCopies("partNumber"), 0);
}

TEST_F(UncopiedPartsTest, AppendReuploadsExistingBytes) {
  std::string old(size_t{17} << 20, 'x');
  for (size_t i = 0; i < old.size(); i += 1000) old[i] = 'a' + i / 1000 % 26;
  std::string sent;
  http_.set_script([&](const HttpRequest& request) -> HttpResponse {
    if (request.method == "HEAD") {
      return {.code = 200,
              .headers = {{"content-length", absl::StrCat(old.size())},
                          {"etag", "e"}},
              .body = ""};
    }
    if (request.method == "PUT") {
      sent += *request.body;
      return {.code = 200, .headers = {{"etag", "p"}}, .body = ""};
    }
    if (request.method == "POST") {
      return Xml(absl::EndsWith(request.url, "?uploads=")
                     ? "<InitiateMultipartUploadResult><UploadId>id</UploadId>"
                       "</InitiateMultipartUploadResult>"
                     : "<CompleteMultipartUploadResult/>");
    }
    size_t begin = 0, end = 0;
    if (std::sscanf(Header(request, "Range").c_str(), "bytes=%zu-%zu", &begin,
                    &end) != 2) {
      return Xml("<ListBucketResult/>");
    }
    EXPECT_EQ(Header(request, "If-Match"), "e");
    return {.code = 206,
            .headers = {{"content-range", absl::StrCat("bytes ", begin, "-",
                                                       end, "/", old.size())}},
            .body = old.substr(begin, end + 1 - begin)};
  });
  ASSERT_OK_AND_ASSIGN(const auto file,
                       gs_files_.NewAppendableFile("gs://b/k"));
  ASSERT_OK(file->Append("more"));
  ASSERT_OK(file->Close());
  EXPECT_TRUE(sent == old + "more");
  EXPECT_EQ(http_.Count("PUT", "partNumber"), 3);  // two with existing bytes
  EXPECT_EQ(NumCopies(""), 0);
}

constexpr char kNoSuchKeyXml[] =
    "<Error><Code>NoSuchKey</Code><Message>no key</Message></Error>";

// The 404 may come from a proxy, a wrong endpoint or a missing bucket. It must
// not become NOT_FOUND, because callers would then start from the beginning.
TEST_F(ObjectAnswersTest, Unexplained404IsNotNotFound) {
  constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;
  for (const std::string body :
       {"", "<html>nginx</html>", "404 page not found", "{}",
        "<Error><Code>NoSuchBucket</Code><Message>none</Message></Error>",
        "<Error><Code>NoSuchUpload</Code><Message>none</Message></Error>"}) {
    http_.set_script([&](const HttpRequest& request) {
      return HttpResponse{.code = 404,
                          .headers = {},
                          .body = request.method == "HEAD" ? "" : body};
    });
    EXPECT_THAT(s3_.Stat({"b", "k"}), StatusIs(kRefused, "404")) << body;
    EXPECT_THAT(s3_.Delete({"b", "k"}), StatusIs(kRefused, "404")) << body;
    EXPECT_THAT(s3_.DeleteLeftover({"b", "k"}), StatusIs(kRefused, "404"));
    EXPECT_THAT(files_.ReadFile("s3://b/k"), StatusIs(kRefused, "404")) << body;
    EXPECT_THAT(files_.FileExists("s3://b/k"), StatusIs(kRefused, "404"));
    EXPECT_THAT(files_.ListDirectory("s3://b/d"), StatusIs(kRefused, "404"));
    EXPECT_THAT(files_.GetMatchingPaths("s3://b/d/*"),
                StatusIs(kRefused, "404"));
    EXPECT_THAT(files_.CreateDirectories("s3://b/d"),
                StatusIs(kRefused, "404"));
  }
}

TEST_F(ObjectAnswersTest, S3ErrorDocumentMeansNotFound) {
  bool has_bucket_in_endpoint = false;
  http_.set_script([&](const HttpRequest& request) {
    const bool is_list = absl::StrContains(request.url, "list-type");
    if (is_list && !has_bucket_in_endpoint) return Xml("<ListBucketResult/>");
    const bool has_body = request.method != "HEAD";
    return HttpResponse{
        .code = 404, .headers = {}, .body = has_body ? kNoSuchKeyXml : ""};
  });
  constexpr auto kNotFound = absl::StatusCode::kNotFound;
  EXPECT_THAT(s3_.Stat({"b", "k"}), StatusIs(kNotFound, "s3://b/k"));
  EXPECT_THAT(files_.ReadFile("s3://b/k"), StatusIs(kNotFound, "s3://b/k"));
  EXPECT_THAT(files_.FileExists("s3://b/k"), StatusIs(kNotFound, "s3://b/k"));
  EXPECT_OK(s3_.Delete({"b", "k"}));
  EXPECT_TRUE(files_.GetMatchingPaths("s3://b/d/*").value().empty());
  // If the endpoint already contains the bucket, the service takes the bucket's
  // name as part of each key, and a listing also looks for objects.
  has_bucket_in_endpoint = true;
  EXPECT_THAT(
      files_.ReadFile("s3://b/k"),
      StatusIs(absl::StatusCode::kFailedPrecondition, "AWS_ENDPOINT_URL"));
}

// Google answers "No such object" also for a missing bucket. Only a listing of
// the bucket distinguishes the two cases.
TEST_F(ObjectAnswersTest, EmptyGcsListMeansNotFound) {
  HttpResponse list;
  http_.set_script([&](const HttpRequest& request) {
    if (absl::StrContains(request.url, "maxResults")) return list;
    return HttpResponse{
        .code = 404, .headers = {}, .body = "No such object: b/k"};
  });
  ObjectFileSystem files(gcs_, *scheduler_);
  const auto expect_each = [&](absl::StatusCode code, const std::string& text) {
    EXPECT_THAT(gcs_.Stat({"b", "k"}), StatusIs(code, text));
    EXPECT_THAT(files.ReadFile("gs://b/k"), StatusIs(code, text));
    EXPECT_THAT(files.FileExists("gs://b/k"), StatusIs(code, text));
    if (code != absl::StatusCode::kNotFound) {
      EXPECT_THAT(gcs_.Delete({"b", "k"}), StatusIs(code, text));
      EXPECT_THAT(gcs_.DeleteLeftover({"b", "k"}), StatusIs(code, text));
    }
  };
  list = {.code = 200, .headers = {}, .body = R"({"kind":"storage#objects"})"};
  expect_each(absl::StatusCode::kNotFound, "gs://b/k");
  EXPECT_OK(gcs_.Delete({"b", "k"}));
  EXPECT_OK(gcs_.DeleteLeftover({"b", "k"}));
  list.body = "<html>log in</html>";
  expect_each(kInternalError, "no list");
  list = {.code = 404,
          .headers = {},
          .body = R"({"error":{"message":"The bucket does not exist."}})"};
  expect_each(absl::StatusCode::kFailedPrecondition, "does not exist");
  list.body = "";
  expect_each(absl::StatusCode::kFailedPrecondition, "GS_ENDPOINT_URL");
  list = {.code = 200,
          .headers = {},
          .body = R"({"kind":"storage#objects","items":[{"name":"k"}]})"};
  EXPECT_THAT(gcs_.Stat({"b", "k"}),
              StatusIs(absl::StatusCode::kUnavailable, "lists the object"));
}

TEST_F(ObjectAnswersTest, ObjectMayAppearDuringOpen) {
  // With S3, the object was missing when it was opened, so the error is
  // NOT_FOUND although the object exists now.
  http_.set_script([&](const HttpRequest& request) -> HttpResponse {
    if (absl::StrContains(request.url, "list-type")) {
      return Xml("<ListBucketResult/>");
    }
    if (request.method == "GET") {
      return {.code = 404, .headers = {}, .body = kNoSuchKeyXml};
    }
    return {.code = 200, .headers = {{"content-length", "3"}}, .body = ""};
  });
  EXPECT_THAT(files_.ReadFile("s3://b/k"),
              StatusIs(absl::StatusCode::kNotFound, "s3://b/k"));
  // Google's 404 is not reliable. A listing then shows that the object exists,
  // so it is read again.
  int missed = 1;  // attempts that return 404
  http_.set_script([&](const HttpRequest& request) -> HttpResponse {
    if (!absl::StrContains(request.url, "alt=media")) {
      return {.code = 200, .headers = {}, .body = R"({"size":"3"})"};
    }
    if (missed-- > 0) return {.code = 404, .headers = {}, .body = ""};
    return {.code = 200, .headers = {}, .body = "new"};
  });
  ObjectFileSystem files(gcs_, *scheduler_);
  EXPECT_EQ(files.ReadFile("gs://b/k").value(), "new");
  missed = 1000;
  EXPECT_THAT(files.ReadFile("gs://b/k"),
              StatusIs(absl::StatusCode::kUnavailable, "gs://b/k"));
}

// The error is not NOT_FOUND, because this would mean that the file never
// existed.
TEST_F(ObjectAnswersTest, ObjectDeletedDuringReadIsNotNotFound) {
  const size_t begin = ObjectFileSystem::kReadAheadBytes;
  for (const size_t rest : {size_t{10}, 2 * begin}) {
    http_.set_script([&](const HttpRequest& request) -> HttpResponse {
      const bool is_first = testing::Value(
          request.headers,
          testing::Contains(testing::Pair("Range", "bytes=0-262143")));
      if (!is_first) return {.code = 404, .headers = {}, .body = kNoSuchKeyXml};
      return {.code = 206,
              .headers = {{"content-range", absl::StrCat("bytes 0-", begin - 1,
                                                         "/", begin + rest)}},
              .body = std::string(begin, 'x')};
    });
    ASSERT_OK_AND_ASSIGN(const auto file,
                         files_.NewRandomAccessFile("s3://b/k"));
    std::string buffer(rest, '\0');
    EXPECT_THAT(file->Read(begin, rest, buffer.data()),
                StatusIs(absl::StatusCode::kFailedPrecondition, "deleted"))
        << rest;
  }
}

// The source may be deleted only when the body of the response confirms the
// copy. The start of a response is not sufficient.
TEST_F(ObjectAnswersTest, SourceIsDeletedOnlyAfterCopy) {
  for (const std::string body : {"", "\n\n", "<html/>", "<Error/>"}) {
    http_.set_script([&](const HttpRequest& request) -> HttpResponse {
      if (request.method == "HEAD") {
        const bool is_old = absl::EndsWith(request.url, "/old");
        return {.code = is_old ? 200 : 404,
                .headers = {{"content-length", "5"}, {"etag", "e"}},
                .body = ""};
      }
      if (request.method == "GET") return Xml("<ListBucketResult/>");
      return {.code = 200, .headers = {}, .body = body};
    });
    EXPECT_FALSE(s3_.Copy({"b", "old"}, {"b", "new"}).ok()) << body;
    EXPECT_FALSE(files_.RenameFile("s3://b/old", "s3://b/new").ok()) << body;
    EXPECT_FALSE(s3_.CompleteUpload({{"b", "new"}, "id"}, {{1, 5, "tag"}}).ok())
        << body;
  }
  EXPECT_EQ(http_.Count("DELETE", ""), 0);
}

TEST_F(ObjectAnswersTest, TransientErrorInOkReplyIsRetried) {
  int asked = 0;
  http_.set_script([&](const HttpRequest&) {
    return Xml(++asked == 1 ? "<Error><Code>SlowDown</Code></Error>"
                            : "<CompleteMultipartUploadResult><ETag>e</ETag>"
                              "</CompleteMultipartUploadResult>");
  });
  EXPECT_OK(s3_.CompleteUpload({{"b", "new"}, "id"}, {{1, 5, "tag"}}));
  EXPECT_EQ(asked, 2);
}

TEST_F(ObjectAnswersTest, UnexpectedRangeErrorIsInternal) {
  http_.set_script(
      [](const HttpRequest&) { return HttpResponse{.code = 416}; });
  EXPECT_THAT(s3_.Put({"b", "k"}, "bytes"), StatusIs(kInternalError, "416"));
  EXPECT_THAT(s3_.Delete({"b", "k"}), StatusIs(kInternalError, "416"));
  EXPECT_THAT(gcs_.Put({"b", "k"}, "bytes"), StatusIs(kInternalError, "416"));
}

TEST_F(ObjectAnswersTest, RangeReplyMustMatchRequest) {
  const auto piece = [](const std::string& range, const std::string& body) {
    HttpResponse response{.code = 206, .headers = {}, .body = body};
    if (!range.empty()) response.headers["content-range"] = range;
    return ToObjectRange(response, 100, 10);
  };
  ASSERT_OK_AND_ASSIGN(const ObjectRange whole,
                       piece("bytes 100-109/1000", "0123456789"));
  EXPECT_EQ(whole.object.size, 1000u);
  EXPECT_EQ(whole.bytes, "0123456789");
  ASSERT_OK_AND_ASSIGN(const ObjectRange last,
                       piece("bytes 100-102/103", "012"));
  EXPECT_EQ(last.object.size, 103u);
  // Some emulators send this header for an empty object.
  ASSERT_OK_AND_ASSIGN(const ObjectRange empty, piece("bytes 0--1/0", ""));
  EXPECT_EQ(empty.object.size, 0u);
  EXPECT_THAT(piece("", ""), StatusIs(kInternalError));
  for (const char* range :
       {"", "bytes 100-109/*", "bytes 99-108/1000", "bytes 0-9/1000", "100-109",
        "bytes 100-109", "bytes -/", "bytes x-y/z", "bytes 100-109/50"}) {
    EXPECT_THAT(piece(range, "0123456789"), StatusIs(kInternalError)) << range;
  }
  EXPECT_THAT(piece("bytes 100-109/1000", "012"),
              StatusIs(kInternalError, "3 bytes of 10"));
  EXPECT_THAT(piece("bytes 100-109/1000", "0123456789a"),
              StatusIs(kInternalError, "11 bytes of 10"));
}

TEST_F(ObjectAnswersTest, DeclaredSizeIsNotTrusted) {
  http_.set_script([](const HttpRequest& request) -> HttpResponse {
    if (request.method == "HEAD") {
      return {.code = 200,
              .headers = {{"content-length", "4611686018427387904"}},
              .body = ""};
    }
    return {.code = 200, .headers = {}, .body = "short"};
  });
  ASSERT_OK_AND_ASSIGN(const std::string read, files_.ReadFile("s3://b/k"));
  EXPECT_EQ(read, "short");
}

// If an open file is replaced, its rest must not be read from the new object.
// The reader gets an error and must reopen the file.
TEST_F(ObjectAnswersTest, ReadOfReplacedObjectFails) {
  const std::string old(2 * ObjectFileSystem::kReadAheadBytes, 'x');
  http_.set_script([&](const HttpRequest& request) -> HttpResponse {
    const bool is_first = http_.requests().size() == 1;
    const auto asked = testing::Contains(testing::Pair("If-Match", "e"));
    EXPECT_THAT(request.headers,
                testing::Conditional(is_first, testing::Not(asked), asked));
    if (!is_first) return {.code = 412, .headers = {}, .body = ""};
    return {.code = 206,
            .headers = {{"content-range",
                         absl::StrCat("bytes 0-", old.size() / 2 - 1, "/",
                                      old.size())},
                        {"etag", "e"}},
            .body = old.substr(0, old.size() / 2)};
  });
  ASSERT_OK_AND_ASSIGN(const auto file,
                       files_.NewRandomAccessFile("s3://b/index"));
  EXPECT_EQ(file->version(), "e");
  char end[8];
  EXPECT_THAT(file->Read(old.size() - sizeof(end), sizeof(end), end),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "s3://b/index: the service answers 412"));
}

// The size is also rejected when an object is renamed, appended to or read,
// even if a size computed from it would be valid.
TEST_F(ObjectAnswersTest, ImpossibleSizeIsRejected) {
  for (const char* size : {"18446744073709551615", "18446744073709551614",
                           "9223372036854775808", "4611686018427387904"}) {
    http_.set_script([&](const HttpRequest& request) -> HttpResponse {
      if (request.method == "HEAD") {
        const bool is_new = absl::EndsWith(request.url, "/new");
        return {.code = is_new ? 404 : 200,
                .headers = {{"content-length", size}, {"etag", "e"}},
                .body = ""};
      }
      if (request.method == "POST") {
        return Xml(
            "<InitiateMultipartUploadResult><UploadId>id</UploadId>"
            "</InitiateMultipartUploadResult>");
      }
      if (request.method == "GET" && absl::StrContains(request.url, "list")) {
        return Xml("<ListBucketResult/>");
      }
      return {.code = 200, .headers = {}, .body = "short"};
    });
    EXPECT_THAT(s3_.Copy({"b", "old"}, {"b", "new"}),
                StatusIs(kInternalError, "s3://b/old"))
        << size;
    EXPECT_THAT(files_.RenameFile("s3://b/old", "s3://b/new"),
                StatusIs(kInternalError, size));
    EXPECT_EQ(http_.Count("PUT", "partNumber"), 0) << size;
    const auto file = files_.NewAppendableFile("s3://b/old");
    if (file.ok()) {
      EXPECT_OK((*file)->Append("more"));
      EXPECT_FALSE((*file)->Close().ok()) << size;
    }
    EXPECT_EQ(files_.ReadFile("s3://b/old").value_or(""), "short") << size;
    EXPECT_OK(files_.GetFileSize("s3://b/old").status());
  }
}

// This is S3's answer to HEAD: it has no body, but the header with the region
// of the bucket.
TEST_F(ObjectAnswersTest, BucketInOtherRegionIsReported) {
  std::string region = "eu-west-1";
  http_.set_script([&](const HttpRequest&) {
    return HttpResponse{
        .code = 400, .headers = {{"x-amz-bucket-region", region}}, .body = ""};
  });
  EXPECT_THAT(files_.GetFileSize("s3://bucket/f").status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "the bucket is in eu-west-1: set AWS_REGION"));
  region = "us-east-1";  // our region, so the cause is another
  EXPECT_THAT(files_.GetFileSize("s3://bucket/f").status(),
              StatusIs(kInternalError, "answers 400"));
}

TEST_F(ObjectAnswersTest, BucketNameCannotInjectHost) {
  for (const char* path : {"s3://localhost:8443#/k", "s3://[::1]#/k",
                           "s3://b?x=/k", "s3://a@b/k"}) {
    EXPECT_THAT(files_.ReadFile(path),
                StatusIs(absl::StatusCode::kInvalidArgument, "bucket's name"))
        << path;
  }
  EXPECT_TRUE(http_.requests().empty());
}

// If the reply to a request is lost, the request may still have taken effect,
// so a retry must not append a second time.
TEST_F(ObjectAnswersTest, RetriedAppendIsAppliedOnce) {
  std::map<std::string, std::string> objects = {{"k", "old"}};
  std::set<std::string> lost;
  http_.set_script(
      [&](const HttpRequest& request) -> absl::StatusOr<HttpResponse> {
        if (!absl::EndsWith(request.url, "/compose")) {
          return HttpResponse{.code = 200, .headers = {}, .body = "{}"};
        }
        std::string composed;
        for (const char* key : {"k", "part"}) {
          if (absl::StrContains(*request.body,
                                absl::StrCat("\"name\":\"", key, "\""))) {
            composed += objects[key];
          }
        }
        if (absl::StrContains(*request.body, "level1-0")) {
          composed = objects["level"];
        }
        const bool is_last = absl::StrContains(request.url, "/o/k/compose");
        objects[is_last ? "k" : "level"] = composed;
        if (lost.insert(request.url).second) {
          return absl::UnavailableError("cut off");
        }
        return HttpResponse{.code = 200, .headers = {}, .body = "{}"};
      });
  objects["part"] = "+new";
  EXPECT_OK(
      gcs_.CompleteUpload({{"b", "k"}, "id"}, {{1, 3, "k"}, {2, 4, "part"}}));
  EXPECT_EQ(objects["k"], "old+new");
}

TEST_F(ObjectAnswersTest, CopyWithoutProgressFails) {
  for (const char* body :
       {R"({"done":false,"rewriteToken":"x","totalBytesRewritten":"5"})",
        R"({"done":"true","rewriteToken":"x"})", R"({"done":true})"}) {
    http_.set_script([&](const HttpRequest&) {
      return HttpResponse{.code = 200, .headers = {}, .body = body};
    });
    const absl::Status copied = gcs_.Copy({"b", "x"}, {"b", "y"});
    if (absl::StrContains(body, ":true")) {
      EXPECT_OK(copied);
    } else {
      EXPECT_THAT(copied, StatusIs(kInternalError, "neither copies")) << body;
    }
  }
}

TEST_F(ObjectAnswersTest, NonUtf8NameIsAnError) {
  http_.set_script([&](const HttpRequest&) {
    return HttpResponse{.code = 404, .headers = {}, .body = "{}"};
  });
  EXPECT_THAT(gcs_.CompleteUpload({{"b", "\xff"}, "id"}, {{1, 3, "\xff"}}),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

// All threads of the blocking pool may wait for responses before the first
// response has arrived.
TEST(CurlHttpClientTest, RequestNeedsNoThreadOfTheBlockingPool) {
  SystemClock clock;
  const auto scheduler = NewThreadScheduler(clock, {.max_blocking_threads = 1});
  // `release` is shared, because the waiting thread may still use it when this
  // test's variables are destroyed.
  const std::shared_ptr<Event> release = scheduler->NewEvent();
  scheduler->Schedule(Pool::kBlocking, [release] { release->Wait(); });
  CurlHttpClient http({.scheduler = scheduler.get()});
  const auto answered = scheduler->NewEvent();
  absl::Status status;
  HttpRequest request;
  request.url = "http://127.0.0.1:1/";  // no server listens here
  http.Start(std::move(request), [&](const auto& answer) {
    status = answer.status();
    answered->Set();
  });
  EXPECT_TRUE(answered->WaitUntil(clock.Now() + absl::Seconds(30)));
  release->Set();
  answered->Wait();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable));
}

// CurlMemory replaces libcurl's allocation functions. It can make allocations
// on one thread fail.
class CurlMemory {
 public:
  CurlMemory() {
    curl_global_init_mem(CURL_GLOBAL_DEFAULT, std::malloc, std::free,
                         std::realloc, strdup, &CurlMemory::Calloc);
  }
  ~CurlMemory() { curl_global_cleanup(); }
  static thread_local bool is_out;

 private:
  static void* Calloc(size_t count, size_t size) {
    return is_out ? nullptr : std::calloc(count, size);
  }
};
thread_local bool CurlMemory::is_out = false;

TEST(CurlHttpClientTest, RequestFailsAtOnceIfOutOfMemory) {
  const CurlMemory memory;
  SystemClock clock;
  const auto scheduler = NewThreadScheduler(clock, {.compute_threads = 1});
  const auto ended = scheduler->NewEvent();
  absl::Status status;
  CurlHttpClient http({.scheduler = scheduler.get()});
  HttpRequest request;
  request.url = "http://127.0.0.1:1/";
  CurlMemory::is_out = true;
  http.Start(std::move(request), [&](const auto& answer) {
    status = answer.status();
    ended->Set();
  });
  CurlMemory::is_out = false;
  ASSERT_TRUE(ended->WaitUntil(clock.Now() + absl::Seconds(30)));
  EXPECT_THAT(
      status,
      StatusIs(absl::StatusCode::kResourceExhausted,
               "http://127.0.0.1:1/: libcurl does not have enough memory"));
}

// SilentServer accepts connections and never answers.
class SilentServer {
 public:
  SilentServer() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(socket_, any, size), 0);
    EXPECT_EQ(::listen(socket_, 8), 0);
    EXPECT_EQ(::getsockname(socket_, any, &size), 0);
    port_ = ntohs(address.sin_port);
  }
  ~SilentServer() { ::close(socket_); }
  std::string url() const { return absl::StrCat("http://127.0.0.1:", port_); }

 private:
  const int socket_;
  int port_ = 0;
};

TEST(CurlHttpClientTest, CancelledRequestEndsPromptly) {
  SystemClock clock;
  const auto scheduler = NewThreadScheduler(clock, {.compute_threads = 1});
  const SilentServer server;
  const auto given_up = std::make_shared<std::atomic<bool>>(false);
  const auto ended = scheduler->NewEvent();
  absl::Status status;
  CurlHttpClient http(
      {.scheduler = scheduler.get(), .stall_timeout = absl::Hours(1)});
  HttpRequest request;
  request.url = server.url();
  request.given_up = given_up;
  http.Start(std::move(request), [&](const auto& answer) {
    status = answer.status();
    ended->Set();
  });
  given_up->store(true);
  ASSERT_TRUE(ended->WaitUntil(clock.Now() + absl::Seconds(30)));
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kCancelled, "no longer needs"));
}

// While a renewal of keys fails, the old keys are used until they expire.
TEST(CredentialsTest, ValidKeysSurviveFailedRenewal) {
  ManualClock clock;
  SimulatedScheduler scheduler(clock);
  MemoryFileSystem home;
  ScriptedHttp http;
  bool is_away = false;
  const absl::Time end = clock.Now() + absl::Hours(1);
  http.set_script([&](const HttpRequest& request)
                      -> absl::StatusOr<HttpResponse> {
    if (is_away) return absl::UnavailableError("away");
    if (absl::EndsWith(request.url, "/role")) {
      return HttpResponse{
          .code = 200,
          .headers = {},
          .body = absl::StrCat(
              R"({"AccessKeyId":"a","SecretAccessKey":"s","Token":"t",)",
              R"("Expiration":")",
              absl::FormatTime(absl::RFC3339_full, end, absl::UTCTimeZone()),
              R"("})")};
    }
    return HttpResponse{.code = 200, .headers = {}, .body = "role"};
  });
  AwsCredentials credentials({.environment = [](const char*) { return ""; },
                              .files = &home,
                              .http = &http,
                              .scheduler = &scheduler,
                              .use_instance_metadata = true});
  ASSERT_OK(credentials.Get());
  is_away = true;
  clock.Advance(absl::Minutes(56));
  ASSERT_OK_AND_ASSIGN(const AwsKeys keys, credentials.Get());
  EXPECT_EQ(keys.access_key_id, "a");
  // After a failure, requests do not call the unavailable service again at
  // once.
  const size_t asked = http.requests().size();
  EXPECT_OK(credentials.Get());
  EXPECT_EQ(http.requests().size(), asked);
  clock.Advance(absl::Seconds(31));
  EXPECT_OK(credentials.Get());
  EXPECT_GT(http.requests().size(), asked);
  clock.Advance(absl::Minutes(5));
  EXPECT_THAT(credentials.Get(), StatusIs(absl::StatusCode::kUnavailable));
}

TEST(CredentialsTest, ValidTokenSurvivesFailedRenewal) {
  ManualClock clock;
  SimulatedScheduler scheduler(clock);
  MemoryFileSystem home;
  ScriptedHttp http;
  bool is_away = false;
  http.set_script([&](const HttpRequest&) -> absl::StatusOr<HttpResponse> {
    if (is_away) return absl::UnavailableError("away");
    return HttpResponse{.code = 200,
                        .headers = {},
                        .body = R"({"access_token":"t","expires_in":3600})"};
  });
  GoogleCredentials credentials({.environment = [](const char*) { return ""; },
                                 .files = &home,
                                 .http = &http,
                                 .scheduler = &scheduler,
                                 .use_instance_metadata = true});
  EXPECT_EQ(credentials.Token().value_or(""), "t");
  is_away = true;
  clock.Advance(absl::Minutes(56));
  for (const size_t asked : {2u, 2u, 3u}) {
    if (asked == 3) clock.Advance(absl::Seconds(31));
    EXPECT_EQ(credentials.Token().value_or(""), "t");
    EXPECT_EQ(http.requests().size(), asked);
  }
  clock.Advance(absl::Minutes(5));
  EXPECT_THAT(credentials.Token(), StatusIs(absl::StatusCode::kUnavailable));
}

// NOT_FOUND would refer to the requested object and not to the credentials.
TEST(CredentialsTest, MissingCredentialsAreNotNotFound) {
  constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;
  ManualClock clock;
  SimulatedScheduler scheduler(clock);
  MemoryFileSystem home;
  ScriptedHttp http;
  int code = 404;
  http.set_script([&](const HttpRequest&) {
    return HttpResponse{.code = code, .headers = {}, .body = ""};
  });
  const auto environment = [](absl::string_view set, std::string value) {
    return [set, value = std::move(value)](const char* name) -> std::string {
      return name == set ? value : "";
    };
  };
  const auto aws = [&](Environment variables) {
    return AwsCredentials({.environment = std::move(variables),
                           .files = &home,
                           .http = &http,
                           .scheduler = &scheduler,
                           .use_instance_metadata = true})
        .Get()
        .status();
  };
  EXPECT_THAT(aws(environment("AWS_PROFILE", "job")),
              StatusIs(kRefused, "AWS_PROFILE is job"));
  EXPECT_THAT(aws(environment("", "")), StatusIs(kRefused, "404"));
  code = 503;
  EXPECT_THAT(aws(environment("", "")),
              StatusIs(absl::StatusCode::kUnavailable, "503"));
  GoogleCredentials google(
      {.environment = environment("GOOGLE_APPLICATION_CREDENTIALS", "/a.json"),
       .files = &home,
       .http = &http,
       .scheduler = &scheduler});
  EXPECT_THAT(google.Token(), StatusIs(kRefused, "/a.json"));
}

// SetClock is a clock whose time of day can be set.
class SetClock : public ManualClock {
 public:
  absl::Time WallTime() const override { return Now() + ahead; }
  absl::Duration ahead = absl::ZeroDuration();
};

// Another program may write or replace the key file later.
TEST(CredentialsTest, MissingKeyFileIsCheckedAgain) {
  for (const char* session : {"", "aws_session_token = t\n"}) {
    SetClock clock;
    SimulatedScheduler scheduler(clock);
    MemoryFileSystem home;
    ScriptedHttp http;
    const auto write = [&](const std::string& key) {
      ASSERT_OK(home.CreateDirectories("/home/.aws"));
      ASSERT_OK(home.WriteFileAtomically(
          "/home/.aws/credentials",
          absl::StrCat("[default]\naws_access_key_id = ", key,
                       "\naws_secret_access_key = s\n", session)));
    };
    AwsCredentials credentials(
        {.environment = [](const char* name) -> std::string {
           return absl::string_view(name) == "HOME" ? "/home" : "";
         },
         .files = &home,
         .http = &http,
         .scheduler = &scheduler});
    EXPECT_EQ(credentials.Get()->access_key_id, "");
    write("first");
    EXPECT_EQ(credentials.Get()->access_key_id, "");
    clock.Advance(absl::Minutes(6));
    EXPECT_EQ(credentials.Get()->access_key_id, "first");
    write("second");
    EXPECT_EQ(credentials.Get()->access_key_id, "first");
    clock.Advance(absl::Minutes(6));
    EXPECT_EQ(credentials.Get()->access_key_id, "second");
    // The file is also read again if the machine's clock is set back.
    write("third");
    clock.ahead = absl::Hours(-3);
    EXPECT_EQ(credentials.Get()->access_key_id, "second");
    clock.Advance(absl::Minutes(6));
    EXPECT_EQ(credentials.Get()->access_key_id, "third");
    // A program that rewrites the file truncates it first, so the file is
    // briefly empty.
    ASSERT_OK(home.WriteFileAtomically("/home/.aws/credentials", ""));
    clock.Advance(absl::Minutes(6));
    EXPECT_EQ(credentials.Get()->access_key_id, "third");
    write("fourth");
    clock.Advance(absl::Seconds(31));
    EXPECT_EQ(credentials.Get()->access_key_id, "fourth");
    // If the file is deleted for good, its keys are dropped half a minute
    // later.
    ASSERT_OK(home.DeleteFile("/home/.aws/credentials"));
    clock.Advance(absl::Minutes(6));
    EXPECT_EQ(credentials.Get()->access_key_id, "fourth");
    clock.Advance(absl::Seconds(31));
    EXPECT_EQ(credentials.Get()->access_key_id, "");
  }
}

// The fixture has a home directory with keys and a region, and a service that
// accepts only some of them.
class RefusedKeysTest : public testing::Test {
 protected:
  RefusedKeysTest() {
    EXPECT_OK(home_.CreateDirectories("/home/.aws"));
    http_.set_script([this](const HttpRequest& request) -> HttpResponse {
      std::string authorization;
      for (const auto& [name, value] : request.headers) {
        if (name == "Authorization") authorization = value;
      }
      if (absl::StrContains(authorization, accepted_)) {
        return {.code = 200, .headers = {{"content-length", "3"}}, .body = ""};
      }
      if (on_refusal_) std::exchange(on_refusal_, nullptr)();
      return refusal_;
    });
  }
  void Write(const std::string& file, const std::string& text) {
    ASSERT_OK(home_.WriteFileAtomically("/home/.aws/" + file, text));
  }
  void WriteKey(const std::string& key) {
    Write("credentials", absl::StrCat("[default]\naws_access_key_id = ", key,
                                      "\naws_secret_access_key = s\n"));
  }
  absl::Status Ask() { return store_.Stat({"bucket", "key"}).status(); }

  ManualClock clock_;
  SimulatedScheduler scheduler_{clock_};
  MemoryFileSystem home_;
  ScriptedHttp http_;
  std::string accepted_;              // accepted requests contain this
  HttpResponse refusal_;              // the response to others
  std::function<void()> on_refusal_;  // called before the next refusal
  AwsCredentials credentials_{
      {.environment = [](const char* name) -> std::string {
         return absl::string_view(name) == "HOME" ? "/home" : "";
       },
       .files = &home_,
       .http = &http_,
       .scheduler = &scheduler_}};
  S3ObjectStore store_{{.http = &http_,
                        .scheduler = &scheduler_,
                        .credentials = &credentials_,
                        .endpoint = "http://s3"}};
};

TEST_F(RefusedKeysTest, RefusedKeysAreReadAgain) {
  const std::vector<HttpResponse> refusals = {
      {.code = 401, .headers = {}, .body = ""},
      {.code = 403, .headers = {}, .body = ""},
      {.code = 400, .headers = {}, .body = ""},
      {.code = 400,
       .headers = {},
       .body = "<Error><Code>ExpiredToken</Code></Error>"}};
  int number = 0;
  WriteKey("key0");
  for (const HttpResponse& refusal : refusals) {
    refusal_ = refusal;
    accepted_ = absl::StrCat("Credential=key", number, "/");
    EXPECT_OK(Ask());
    WriteKey(absl::StrCat("key", ++number));
    accepted_ = absl::StrCat("Credential=key", number, "/");
    EXPECT_OK(Ask()) << refusal.code << refusal.body;
    clock_.Advance(absl::Seconds(10));
  }
}

// The file is empty when it is read first, because a tool is just writing it.
TEST_F(RefusedKeysTest, AnonymousRequestIsRetriedWithKeys) {
  Write("credentials", "");
  refusal_ = {.code = 403, .headers = {}, .body = ""};
  accepted_ = "Credential=key/";
  on_refusal_ = [this] { WriteKey("key"); };
  EXPECT_OK(Ask());
}

TEST_F(RefusedKeysTest, RefusedRegionIsReadAgain) {
  WriteKey("key");
  for (const int code : {301, 400}) {
    const std::string region = absl::StrCat("eu-west-", code);
    refusal_ = {
        .code = code, .headers = {{"x-amz-bucket-region", region}}, .body = ""};
    accepted_ = absl::StrCat("/", region, "/s3/");
    on_refusal_ = [&] {
      Write("config", absl::StrCat("[default]\nregion = ", region, "\n"));
    };
    EXPECT_OK(Ask()) << code;
    clock_.Advance(absl::Seconds(10));
  }
}

TEST_F(RefusedKeysTest, UnchangedKeysAreNotRetried) {
  WriteKey("key");
  refusal_ = {.code = 403, .headers = {}, .body = ""};
  accepted_ = "Credential=another/";
  for (const size_t asked : {1u, 2u}) {
    EXPECT_THAT(Ask(), StatusIs(absl::StatusCode::kPermissionDenied, "403"));
    EXPECT_EQ(http_.requests().size(), asked);
  }
}

// Several requests are refused at the same time, as when parts of a file are
// read concurrently.
TEST_F(RefusedKeysTest, ConcurrentRefusedRequestsAreAllRetried) {
  WriteKey("old");
  ASSERT_OK_AND_ASSIGN(const AwsKeys old, credentials_.Get());
  WriteKey("new");
  for (int request = 0; request < 4; ++request) {
    EXPECT_TRUE(credentials_.Refuse(old)) << request;
  }
  ASSERT_OK_AND_ASSIGN(const AwsKeys found, credentials_.Get());
  EXPECT_EQ(found.access_key_id, "new");
  EXPECT_TRUE(credentials_.Refuse(old));
  EXPECT_FALSE(credentials_.Refuse(found));
}

TEST(CredentialsTest, RefusedTokenIsRenewed) {
  ManualClock clock;
  SimulatedScheduler scheduler(clock);
  MemoryFileSystem home;
  ScriptedHttp http;
  int granted = 0;
  int accepted = 1;
  http.set_script([&](const HttpRequest& request) -> HttpResponse {
    if (absl::StrContains(request.url, "service-accounts")) {
      return {.code = 200,
              .headers = {},
              .body = absl::StrCat(R"({"access_token":"t)", ++granted,
                                   R"(","expires_in":3600})")};
    }
    const auto is_accepted = testing::Contains(
        testing::Pair("Authorization", absl::StrCat("Bearer t", accepted)));
    if (!testing::Value(request.headers, is_accepted)) {
      return {.code = 401, .headers = {}, .body = ""};
    }
    return {.code = 200, .headers = {}, .body = R"({"size":"3"})"};
  });
  const auto random = NewSeededRandom(1);
  GoogleCredentials credentials({.environment = [](const char*) { return ""; },
                                 .files = &home,
                                 .http = &http,
                                 .scheduler = &scheduler,
                                 .use_instance_metadata = true});
  GcsObjectStore store({.http = &http,
                        .scheduler = &scheduler,
                        .random = random.get(),
                        .credentials = &credentials,
                        .endpoint = "http://gcs"});
  EXPECT_OK(store.Stat({"b", "k"}).status());
  accepted = 2;
  EXPECT_OK(store.Stat({"b", "k"}).status());
  // A token that is granted and refused again and again must not cause endless
  // retries.
  accepted = 100;
  EXPECT_THAT(store.Stat({"b", "k"}),
              StatusIs(absl::StatusCode::kPermissionDenied, "401"));
  EXPECT_LE(granted, 3);
  // If several requests are refused at the same time, all of them are retried.
  clock.Advance(absl::Minutes(10));
  ASSERT_OK_AND_ASSIGN(const std::string token, credentials.Token());
  for (int request = 0; request < 4; ++request) {
    EXPECT_TRUE(credentials.Refuse(token)) << request;
  }
}

// The machine's clock is set right after the program began. The service
// compares the signature's time with its own clock, so the program must not use
// its monotonic clock.
TEST(CredentialsTest, RequestsAreSignedWithWallClock) {
  SetClock clock;
  clock.ahead = absl::Hours(30 * 24);
  SimulatedScheduler scheduler(clock);
  MemoryFileSystem home;
  ScriptedHttp http;
  AwsCredentials credentials({.environment = [](const char*) { return "key"; },
                              .files = &home,
                              .http = &http,
                              .scheduler = &scheduler});
  S3ObjectStore store({.http = &http,
                       .scheduler = &scheduler,
                       .credentials = &credentials,
                       .endpoint = "http://s3"});
  http.set_script([](const HttpRequest&) { return HttpResponse{.code = 409}; });
  EXPECT_FALSE(store.Stat({"bucket", "key"}).ok());
  ASSERT_EQ(http.requests().size(), 1);
  EXPECT_THAT(http.requests()[0].headers,
              testing::Contains(
                  testing::Pair(testing::_, testing::StartsWith("19700201T"))));
  EXPECT_EQ(http.requests()[0].deadline, clock.Now() + absl::Minutes(10));
}

// The account of the machine is used only if the option is set. Its token is
// requested again before it expires.
TEST(CredentialsTest, MetadataServerTokensAreUsed) {
  constexpr char kPath[] =
      "/computeMetadata/v1/instance/service-accounts/default/token";
  ManualClock clock;
  SimulatedScheduler scheduler(clock);
  MemoryFileSystem home;
  ScriptedHttp http;
  http.set_script([&](const HttpRequest&) {
    return HttpResponse{
        .code = 200,
        .headers = {},
        .body =
            absl::StrCat(R"({"access_token":"token )", http.requests().size(),
                         R"(","expires_in":3600,"token_type":"Bearer"})")};
  });
  for (const std::string host : {"", "other:80"}) {
    GoogleCredentialsOptions options = {
        .environment = [&](const char* name) -> std::string {
          return absl::string_view(name) == "GCE_METADATA_HOST" ? host : "";
        },
        .files = &home,
        .http = &http,
        .scheduler = &scheduler};
    const int before = http.requests().size();
    EXPECT_EQ(GoogleCredentials(options).Token().value(), "");
    EXPECT_EQ(http.requests().size(), before);
    options.use_instance_metadata = true;
    GoogleCredentials credentials(options);
    for (int i = 1; i <= 2; ++i) {
      const std::string token = absl::StrCat("token ", before + i);
      EXPECT_EQ(credentials.Token().value(), token);
      clock.Advance(absl::Minutes(54));
      EXPECT_EQ(credentials.Token().value(), token);
      clock.Advance(absl::Minutes(2));
    }
    ASSERT_EQ(http.requests().size(), before + 2);
    EXPECT_EQ(
        http.requests().back().url,
        absl::StrCat("http://",
                     host.empty() ? "metadata.google.internal" : host, kPath));
    EXPECT_THAT(http.requests().back().headers,
                testing::Contains(testing::Pair("Metadata-Flavor", "Google")));
  }
}

TEST(CredentialsTest, MissingGoogleFileIsCheckedAgain) {
  ManualClock clock;
  SimulatedScheduler scheduler(clock);
  MemoryFileSystem home;
  ScriptedHttp http;
  http.set_script([](const HttpRequest&) {
    return HttpResponse{
        .code = 200, .headers = {}, .body = R"({"access_token":"granted"})"};
  });
  GoogleCredentials credentials(
      {.environment = [](const char* name) -> std::string {
         return absl::string_view(name) == "HOME" ? "/home" : "";
       },
       .files = &home,
       .http = &http,
       .scheduler = &scheduler});
  EXPECT_EQ(credentials.Token().value(), "");
  ASSERT_OK(home.CreateDirectories("/home/.config/gcloud"));
  ASSERT_OK(home.WriteFileAtomically(
      "/home/.config/gcloud/application_default_credentials.json",
      R"({"type":"authorized_user"})"));
  clock.Advance(absl::Minutes(6));
  EXPECT_EQ(credentials.Token().value(), "granted");
}

// libcurl and AWS's own programs omit the default port in the header "Host".
TEST(SignRequestTest, DefaultPortIsNotSigned) {
  const auto signed_as = [](const std::string& url) {
    HttpRequest request;
    request.url = url;
    SignRequest({"key", "secret", ""}, "us-east-1", absl::UnixEpoch(),
                &request);
    return request.headers.back().second;
  };
  EXPECT_EQ(signed_as("https://h:443/b/k"), signed_as("https://h/b/k"));
  EXPECT_EQ(signed_as("http://[::1]:80/b"), signed_as("http://[::1]/b"));
  EXPECT_NE(signed_as("http://h:443/b"), signed_as("http://h/b"));
  EXPECT_NE(signed_as("https://h:80/b"), signed_as("https://h/b"));
  EXPECT_NE(signed_as("https://h:8443/b"), signed_as("https://h/b"));
}

// HungHome is a home directory on a hung mount: reads block until a gate opens.
class HungHome : public MemoryFileSystem {
 public:
  explicit HungHome(Scheduler& scheduler)
      : asked(scheduler.NewEvent()), gate(scheduler.NewEvent()) {}

  absl::StatusOr<std::unique_ptr<RandomAccessFile>> NewRandomAccessFile(
      absl::string_view path) override {
    asked->Set();
    gate->Wait();
    return MemoryFileSystem::NewRandomAccessFile(path);
  }

  const std::unique_ptr<Event> asked;
  const std::unique_ptr<Event> gate;
};

TEST(HungHomeTest, HungHomeDirectoryDoesNotBlockOthers) {
  SystemClock clock;
  const auto scheduler = NewThreadScheduler(clock, {.compute_threads = 1});
  const auto random = NewSeededRandom(1);
  HungHome home(*scheduler);
  ObjectStores files({.scheduler = scheduler.get(),
                      .random = random.get(),
                      .others = &home,
                      .environment = [](const char* name) -> std::string {
                        if (absl::string_view(name) == "AWS_PROFILE") {
                          return "missing";
                        }
                        return absl::string_view(name) == "HOME" ? "/home" : "";
                      }});
  // Starts a read that needs no keys and no service.
  const auto read = [&](const std::string& path, absl::StatusCode code,
                        Event& done) {
    scheduler->Schedule(Pool::kBlocking, [&files, path, code, &done] {
      EXPECT_THAT(files.ReadFile(path), StatusIs(code));
      done.Set();
    });
  };
  const auto read_s3 = scheduler->NewEvent();
  const auto read_gs = scheduler->NewEvent();
  read("s3://bucket/x", absl::StatusCode::kFailedPrecondition, *read_s3);
  home.asked->Wait();
  read("gs://bucket/../x", absl::StatusCode::kInvalidArgument, *read_gs);
  EXPECT_TRUE(read_gs->WaitUntil(clock.Now() + absl::Seconds(30)));
  home.gate->Set();
  read_s3->Wait();
  read_gs->Wait();
}

// SilentHttp is a service that does not answer after its first responses. A
// request ends with the error of a timeout, at its deadline, or when it is
// given up.
class SilentHttp : public HttpClient {
 public:
  explicit SilentHttp(Scheduler& scheduler) : scheduler_(scheduler) {}

  void Start(HttpRequest request, Done done) override {
    if (absl::EndsWith(request.url, "?uploads=")) {
      return done(
          Xml("<InitiateMultipartUploadResult><UploadId>id</UploadId>"
              "</InitiateMultipartUploadResult>"));
    }
    const absl::Time stalled = Now() + absl::Minutes(1);
    Poll(std::move(request), stalled, std::move(done));
  }

 private:
  absl::Time Now() const { return scheduler_.clock().Now(); }
  void Poll(HttpRequest request, absl::Time stalled, Done done) {
    if (request.given_up != nullptr && request.given_up->load()) {
      return done(absl::CancelledError("it was given up"));
    }
    if (Now() >= request.deadline) {
      return done(absl::DeadlineExceededError("late"));
    }
    if (Now() >= stalled) return done(absl::UnavailableError("no answer"));
    scheduler_.ScheduleAt(Now() + absl::Seconds(1),
                          [this, request = std::move(request), stalled,
                           done = std::move(done)]() mutable {
                            Poll(std::move(request), stalled, std::move(done));
                          });
  }

  Scheduler& scheduler_;
};

TEST(SilentStoreTest, AbandonDoesNotWaitForSilentStore) {
  ManualClock clock;
  SimulatedScheduler scheduler(clock);
  const auto random = NewSeededRandom(1);
  MemoryFileSystem home;
  SilentHttp silent(scheduler);
  RetryingHttpClient http(silent, scheduler, *random);
  AwsCredentials aws({.environment = [](const char*) { return ""; },
                      .files = &home,
                      .http = &http,
                      .scheduler = &scheduler});
  S3ObjectStore store({.http = &http,
                       .scheduler = &scheduler,
                       .credentials = &aws,
                       .endpoint = "http://s3"});
  const size_t part = size_t{5} << 20;
  ObjectFileSystem files(store, scheduler, {.part_bytes = part});
  auto written = std::make_unique<ObjectWritableFile>(
      store, scheduler, ObjectFileOptions{.part_bytes = part},
      ObjectName{"b", "k"}, "s3://b/k", ObjectStart());
  ASSERT_OK(written->Append(std::string(2 * part, 'x')));
  const absl::Time before = clock.Now();
  written->Abandon();
  written.reset();
  // The file waits once for its parts and once for the end of the upload.
  EXPECT_LE(clock.Now() - before, 2 * kLeftoverTimeout);
  const absl::Time later = clock.Now();
  EXPECT_FALSE(files.DeleteLeftover("s3://b/k").ok());
  EXPECT_LE(clock.Now() - later, kLeftoverTimeout);
}

}  // namespace
}  // namespace weft
