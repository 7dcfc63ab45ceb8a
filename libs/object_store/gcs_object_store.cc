#include "libs/object_store/gcs_object_store.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "libs/base/async/sync_call.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/fs/file_system.h"
#include "libs/object_store/object_answers.h"
#include "nlohmann/json.hpp"

namespace weft {
namespace {

using GcsJson = nlohmann::json;

constexpr size_t kMaxComposed = 32;
constexpr size_t kDeletionsAtOnce = 16;
// The maximum number of consecutive calls of a copy without progress. Each call
// continues where the last call ended.
constexpr int kMostCallsInVain = 10;

std::string GcsUrl(const ObjectName& name) {
  return absl::StrCat("gs://", name.bucket, name.key.empty() ? "" : "/",
                      name.key);
}

std::string BucketPath(const std::string& bucket) {
  return absl::StrCat("/storage/v1/b/", PercentEncode(bucket), "/o");
}
std::string ObjectPath(const ObjectName& name) {
  return absl::StrCat(BucketPath(name.bucket), "/", PercentEncode(name.key));
}

std::string PartsFolder(const std::string& upload_id) {
  return absl::StrCat(".weft-uploads/", upload_id, "/");
}

// Parses a JSON object. Returns an empty object for any other text.
GcsJson ParseObject(const std::string& text) {
  GcsJson json = GcsJson::parse(text, nullptr, /*allow_exceptions=*/false);
  return json.is_object() ? json : GcsJson::object();
}
std::string TextOf(const GcsJson& json, const char* name) {
  const auto it = json.find(name);
  if (it == json.end() || !it->is_string()) return "";
  return it->get<std::string>();
}

std::string GcsRemedy(int code, bool has_error_document) {
  if (code == 401 || code == 403) {
    return "; check GOOGLE_APPLICATION_CREDENTIALS and the permissions of that "
           "account";
  }
  if (code != 404) return "";
  return has_error_document
             ? "; does the bucket exist?"
             : "; is the endpoint (GS_ENDPOINT_URL, STORAGE_EMULATOR_HOST) "
               "that of the service, and does a proxy answer in its place?";
}

absl::Status GcsError(const HttpResponse& response) {
  const GcsJson json = ParseObject(response.body);
  std::string message;
  if (const auto error = json.find("error");
      error != json.end() && error->is_object()) {
    message = TextOf(*error, "message");
  }
  return absl::Status(CodeOfHttp(response.code),
                      absl::StrCat("the service answers ", response.code,
                                   message.empty() ? "" : ": ", message,
                                   GcsRemedy(response.code, !message.empty())));
}

absl::StatusOr<ObjectInfo> ToGcsInfo(const HttpResponse& response,
                                     const std::string& url) {
  const GcsJson json = ParseObject(response.body);
  ObjectInfo info;
  info.version = TextOf(json, "generation");
  // The service encodes 64-bit numbers as text, but emulators may send numbers.
  const auto size = json.find("size");
  if (size != json.end() && size->is_number_unsigned()) {
    info.size = size->get<uint64_t>();
    return info;
  }
  if (absl::SimpleAtoi(TextOf(json, "size"), &info.size)) return info;
  return absl::InternalError(absl::StrCat(url, ": the service gives no size"));
}

bool IsTrue(const GcsJson& json, const char* name) {
  const auto it = json.find(name);
  return it != json.end() && it->is_boolean() && it->get<bool>();
}

// Returns a 64-bit number. The service encodes it as text, but emulators may
// send a number.
uint64_t NumberOf(const GcsJson& json, const char* name) {
  const auto it = json.find(name);
  if (it == json.end()) return 0;
  if (it->is_number_unsigned()) return it->get<uint64_t>();
  uint64_t number = 0;
  return absl::SimpleAtoi(TextOf(json, name), &number) ? number : 0;
}

absl::StatusOr<ObjectList> ToGcsList(const HttpResponse& response,
                                     const std::string& url) {
  const GcsJson json = ParseObject(response.body);
  if (TextOf(json, "kind") != "storage#objects") {
    return absl::InternalError(
        absl::StrCat(url,
                     ": the service answers with no list; is it Google "
                     "Cloud Storage?"));
  }
  ObjectList list;
  for (const GcsJson& item : json.value("items", GcsJson::array())) {
    if (item.is_object()) list.keys.push_back(TextOf(item, "name"));
  }
  for (const GcsJson& prefix : json.value("prefixes", GcsJson::array())) {
    if (prefix.is_string()) list.prefixes.push_back(prefix);
  }
  list.next = TextOf(json, "nextPageToken");
  return list;
}

}  // namespace

GcsObjectStore::GcsObjectStore(GcsOptions options)
    : options_(std::move(options)) {}

HttpRequest GcsObjectStore::ToRequest(const Operation& operation,
                                      const std::string& token) const {
  HttpRequest request;
  request.method = operation.method;
  request.url = absl::StrCat(options_.endpoint, operation.path);
  request.headers = operation.headers;
  request.body = operation.body;
  request.max_response_bytes = operation.max_response_bytes;
  request.deadline = options_.scheduler->clock().Now() +
                     std::min(operation.at_most, options_.operation_timeout);
  request.may_be_silent = operation.may_be_silent;
  request.given_up = operation.given_up;
  if (operation.body != nullptr) {
    request.headers.emplace_back("Content-Type", operation.body_type);
  }
  if (!token.empty()) {
    request.headers.emplace_back("Authorization",
                                 absl::StrCat("Bearer ", token));
  }
  return request;
}

absl::StatusOr<HttpResponse> GcsObjectStore::ToAnswer(
    const Operation& operation, absl::StatusOr<HttpResponse> response) {
  const bool is_past_end =
      response.ok() && operation.has_range && IsPastEnd(*response);
  if (response.ok() && !response->ok() && !is_past_end) {
    response = operation.is_confirmed && response->code == 404
                   ? absl::NotFoundError("the service answers 404")
                   : GcsError(*response);
  }
  if (response.ok()) return response;
  return Annotate(response.status(), operation.url);
}

void GcsObjectStore::Start(Operation operation, HttpClient::Done done) const {
  auto token = options_.credentials->Token();
  if (!token.ok()) return done(Annotate(token.status(), operation.url));
  Send(std::move(operation), *std::move(token), /*is_last=*/false,
       std::move(done));
}

void GcsObjectStore::Send(Operation operation, std::string token, bool is_last,
                          HttpClient::Done done) const {
  HttpRequest request = ToRequest(operation, token);
  options_.http->Start(
      std::move(request),
      [this, operation = std::move(operation), token = std::move(token),
       is_last,
       done = std::move(done)](absl::StatusOr<HttpResponse> response) mutable {
        const bool is_refusal =
            response.ok() && (response->code == 401 || response->code == 403);
        if (is_refusal && !is_last && options_.credentials->Refuse(token)) {
          return SendAgain(std::move(operation), std::move(token),
                           *std::move(response), std::move(done));
        }
        done(ToAnswer(operation, std::move(response)));
      });
}

void GcsObjectStore::SendAgain(Operation operation, std::string token,
                               HttpResponse refused,
                               HttpClient::Done done) const {
  // Retry on a thread of the unbounded pool. A new token may take time, and
  // must not block the thread that drives requests. The threads of the blocking
  // pool may all be waiting for this reply.
  options_.scheduler->Schedule(
      Pool::kUnbounded,
      [this, operation = std::move(operation), token = std::move(token),
       refused = std::move(refused), done = std::move(done)]() mutable {
        auto other = options_.credentials->Token();
        if (!other.ok() || *other == token) {
          return done(ToAnswer(operation, std::move(refused)));
        }
        Send(std::move(operation), *std::move(other), /*is_last=*/true,
             std::move(done));
      });
}

absl::StatusOr<HttpResponse> GcsObjectStore::Run(Operation operation) const {
  SyncCall<absl::StatusOr<HttpResponse>> call(*options_.scheduler);
  Start(std::move(operation), call.Done());
  return call.Wait();
}

absl::Status GcsObjectStore::ConfirmAbsence(const ObjectName& name,
                                            absl::Duration at_most) const {
  bool is_listed = false;
  RETURN_IF_ERROR(ForEachPage(
      GcsUrl(name),
      [&](const std::string& from) {
        return ListWithin(at_most, name.bucket, name.key, 1, from);
      },
      [&](const ObjectList& list) {
        is_listed = absl::c_linear_search(list.keys, name.key);
        // Stop at the first result: if the object exists, its name sorts before
        // all other names with this prefix.
        return list.keys.empty() && list.prefixes.empty();
      }));
  if (!is_listed) {
    return absl::NotFoundError(
        absl::StrCat(GcsUrl(name), ": the service has no such object"));
  }
  return absl::UnavailableError(absl::StrCat(
      GcsUrl(name), ": the service answers 404, and lists the object"));
}

absl::StatusOr<ObjectInfo> GcsObjectStore::Stat(const ObjectName& name) {
  const auto response = Run(
      {.path = ObjectPath(name), .url = GcsUrl(name), .is_confirmed = true});
  if (absl::IsNotFound(response.status())) {
    return ConfirmAbsence(name, absl::InfiniteDuration());
  }
  RETURN_IF_ERROR(response.status());
  return ToGcsInfo(*response, GcsUrl(name));
}

void GcsObjectStore::Read(const ObjectName& name, const std::string& version,
                          uint64_t offset, size_t size, RangeDone done) {
  Operation operation{.path = absl::StrCat(ObjectPath(name), "?alt=media"),
                      .url = GcsUrl(name)};
  // A 404 becomes FAILED_PRECONDITION here, because confirming it would block
  // this thread.
  if (!version.empty()) {
    absl::StrAppend(&operation.path, "&generation=", PercentEncode(version));
  }
  operation.headers = {{"Range", RangeHeader(offset, size)}};
  operation.has_range = true;
  // The response may be larger than the range, so that it can contain the text
  // of an error.
  operation.max_response_bytes = size + (size_t{64} << 10);
  Start(std::move(operation),
        [offset, size, url = GcsUrl(name),
         done = std::move(done)](absl::StatusOr<HttpResponse> answer) mutable {
          if (!answer.ok()) return done(answer.status());
          const std::string generation(answer->header("x-goog-generation"));
          auto piece = ToObjectRange(*std::move(answer), offset, size);
          if (!piece.ok()) return done(Annotate(piece.status(), url));
          piece->object.version = generation;
          done(std::move(piece));
        });
}

GcsObjectStore::Operation GcsObjectStore::InsertionOf(const ObjectName& name,
                                                      std::string bytes) const {
  Operation operation{.method = "POST", .url = GcsUrl(name)};
  operation.path =
      absl::StrCat("/upload", BucketPath(name.bucket),
                   "?uploadType=media&name=", PercentEncode(name.key));
  operation.body = std::make_shared<const std::string>(std::move(bytes));
  return operation;
}

absl::Status GcsObjectStore::Put(const ObjectName& name, std::string bytes) {
  return Run(InsertionOf(name, std::move(bytes))).status();
}

absl::Status GcsObjectStore::Copy(const ObjectName& from,
                                  const ObjectName& to) {
  std::string token;
  uint64_t copied = 0;
  // A large copy takes several calls. Continue while the calls make progress.
  for (int calls_in_vain = 0; calls_in_vain < kMostCallsInVain;
       ++calls_in_vain) {
    Operation operation{.method = "POST", .url = GcsUrl(to)};
    operation.path =
        absl::StrCat(ObjectPath(from), "/rewriteTo/b/",
                     PercentEncode(to.bucket), "/o/", PercentEncode(to.key));
    if (!token.empty()) {
      absl::StrAppend(&operation.path, "?rewriteToken=", PercentEncode(token));
    }
    operation.body = std::make_shared<const std::string>();
    operation.may_be_silent = true;
    ASSIGN_OR_RETURN(const HttpResponse response, Run(std::move(operation)));
    const GcsJson json = ParseObject(response.body);
    token = TextOf(json, "rewriteToken");
    if (IsTrue(json, "done")) return absl::OkStatus();
    if (token.empty()) break;
    const uint64_t now = NumberOf(json, "totalBytesRewritten");
    if (now > std::exchange(copied, now)) calls_in_vain = 0;
  }
  return absl::InternalError(absl::StrCat(
      GcsUrl(to), ": the service neither copies nor says how to go on"));
}

absl::Status GcsObjectStore::Delete(const ObjectName& name) {
  return DeleteWithin(absl::InfiniteDuration(), name);
}

absl::Status GcsObjectStore::DeleteLeftover(const ObjectName& name) {
  return DeleteWithin(kLeftoverTimeout, name);
}

absl::Status GcsObjectStore::DeleteWithin(absl::Duration at_most,
                                          const ObjectName& name) const {
  absl::Status status = Run({.method = "DELETE",
                             .path = ObjectPath(name),
                             .url = GcsUrl(name),
                             .is_confirmed = true,
                             .at_most = at_most})
                            .status();
  if (absl::IsNotFound(status)) status = ConfirmAbsence(name, at_most);
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

absl::StatusOr<ObjectList> GcsObjectStore::List(const std::string& bucket,
                                                const std::string& prefix,
                                                int max,
                                                const std::string& from) {
  return ListWithin(absl::InfiniteDuration(), bucket, prefix, max, from);
}

absl::StatusOr<ObjectList> GcsObjectStore::ListWithin(
    absl::Duration at_most, const std::string& bucket,
    const std::string& prefix, int max, const std::string& from) const {
  Operation operation{.at_most = at_most};
  const std::string url = absl::StrCat("gs://", bucket, "/", prefix);
  operation.url = url;
  operation.path =
      absl::StrCat(BucketPath(bucket), "?delimiter=%2F&maxResults=", max,
                   "&prefix=", PercentEncode(prefix));
  if (!from.empty()) {
    absl::StrAppend(&operation.path, "&pageToken=", PercentEncode(from));
  }
  ASSIGN_OR_RETURN(const HttpResponse response, Run(std::move(operation)));
  return ToGcsList(response, url);
}

absl::StatusOr<ObjectUpload> GcsObjectStore::BeginUpload(
    const ObjectName& name) {
  return ObjectUpload{name,
                      absl::StrFormat("%016x", options_.random->NextId())};
}

absl::StatusOr<std::vector<UploadedPart>> GcsObjectStore::CopyParts(
    const ObjectUpload& upload, const ObjectName& from) {
  if (from.bucket != upload.name.bucket) {
    return absl::InvalidArgumentError(absl::StrCat(
        GcsUrl(from), ": only objects of one bucket are composed"));
  }
  // The existing object needs no copy, because Compose can use it in its place.
  return std::vector<UploadedPart>{{.number = 1, .size = 0, .tag = from.key}};
}

void GcsObjectStore::UploadPart(const ObjectUpload& upload, int number,
                                std::string bytes, PartDone done) {
  UploadedPart part{.number = number, .size = bytes.size(), .tag = ""};
  part.tag = absl::StrCat(PartsFolder(upload.id), number);
  Operation operation =
      InsertionOf({upload.name.bucket, part.tag}, std::move(bytes));
  operation.given_up = upload.given_up;
  Start(std::move(operation),
        [part, done = std::move(done)](
            const absl::StatusOr<HttpResponse>& response) mutable {
          if (!response.ok()) return done(response.status());
          done(std::move(part));
        });
}

absl::Status GcsObjectStore::Compose(const std::vector<std::string>& keys,
                                     const ObjectName& to) const {
  GcsJson sources = GcsJson::array();
  for (const std::string& key : keys) sources.push_back({{"name", key}});
  const GcsJson request = {
      {"sourceObjects", sources},
      {"destination", {{"contentType", "application/octet-stream"}}}};
  Operation operation{.method = "POST", .url = GcsUrl(to)};
  operation.path = absl::StrCat(ObjectPath(to), "/compose");
  // Bytes that are not UTF-8 are replaced, so the resulting name does not exist
  // and the service returns an error.
  operation.body = std::make_shared<const std::string>(
      request.dump(-1, ' ', false, GcsJson::error_handler_t::replace));
  operation.may_be_silent = true;
  operation.body_type = "application/json";
  return Run(std::move(operation)).status();
}

absl::StatusOr<std::vector<std::string>> GcsObjectStore::ComposeLevel(
    const ObjectUpload& upload, int level,
    const std::vector<std::string>& keys) const {
  std::vector<std::string> composed;
  for (size_t begin = 0; begin < keys.size(); begin += kMaxComposed) {
    const size_t end = std::min(begin + kMaxComposed, keys.size());
    composed.push_back(absl::StrCat(PartsFolder(upload.id), "level", level, "-",
                                    composed.size()));
    RETURN_IF_ERROR(Compose({keys.begin() + static_cast<ptrdiff_t>(begin),
                             keys.begin() + static_cast<ptrdiff_t>(end)},
                            {upload.name.bucket, composed.back()}));
  }
  return composed;
}

absl::Status GcsObjectStore::CompleteUpload(
    const ObjectUpload& upload, const std::vector<UploadedPart>& parts) {
  std::vector<std::string> keys;
  for (const UploadedPart& part : parts) keys.push_back(part.tag);
  // Composing into the final name may be retried only if the object itself is
  // not among the sources, because a retry would then append the parts a second
  // time.
  int level = 1;
  const bool has_itself = absl::c_linear_search(keys, upload.name.key);
  while (keys.size() > kMaxComposed || (has_itself && level == 1)) {
    ASSIGN_OR_RETURN(keys, ComposeLevel(upload, level++, keys));
  }
  RETURN_IF_ERROR(Compose(keys, upload.name));
  // The object is complete. Errors are ignored, because remaining parts only
  // cost space.
  AbortUpload(upload).IgnoreError();
  return absl::OkStatus();
}

absl::Status GcsObjectStore::AbortUpload(const ObjectUpload& upload) {
  const std::string& bucket = upload.name.bucket;
  std::vector<std::string> keys;
  const std::string folder = PartsFolder(upload.id);
  RETURN_IF_ERROR(ForEachPage(
      GcsUrl({bucket, folder}),
      [&](const std::string& from) {
        return ListWithin(kLeftoverTimeout, bucket, folder, 1000, from);
      },
      [&](const ObjectList& list) {
        keys.insert(keys.end(), list.keys.begin(), list.keys.end());
        return true;
      }));
  absl::Status status;
  std::deque<SyncCall<absl::StatusOr<HttpResponse>>> calls;
  const auto wait_for_one = [&] {
    const absl::Status ended = calls.front().Wait().status();
    if (status.ok() && !absl::IsNotFound(ended)) status = ended;
    calls.pop_front();
  };
  for (const std::string& key : keys) {
    if (calls.size() == kDeletionsAtOnce) wait_for_one();
    if (absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status)) break;
    const ObjectName name{bucket, key};
    Start({.method = "DELETE",
           .path = ObjectPath(name),
           .url = GcsUrl(name),
           .is_confirmed = true,  // listed above, so it was deleted
           .at_most = kLeftoverTimeout},
          calls.emplace_back(*options_.scheduler).Done());
  }
  while (!calls.empty()) wait_for_one();
  return status;
}

}  // namespace weft
