#include "libs/object_store/s3_object_store.h"

#include <algorithm>
#include <memory>
#include <pugixml.hpp>
#include <sstream>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "libs/base/async/sync_call.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/fs/file_system.h"
#include "libs/object_store/aws_signature.h"
#include "libs/object_store/object_answers.h"

namespace weft {
namespace {

// The minimum size of a part when appending to an object, if the service does
// not copy parts. For objects of up to 40 GB, parts are less than twice as
// large.
constexpr uint64_t kSentPartBytes = uint64_t{8} << 20;

// Codes in S3's error documents.
constexpr absl::string_view kNoSuchKey = "NoSuchKey";
constexpr absl::string_view kNoSuchUpload = "NoSuchUpload";

// Parses XML from a server. For other text the document has no root.
pugi::xml_document ParseXml(absl::string_view text) {
  pugi::xml_document document;
  document.load_buffer(text.data(), text.size());
  return document;
}

std::string NameFor(absl::string_view scheme, const ObjectName& name) {
  return absl::StrCat(scheme, "://", name.bucket, name.key.empty() ? "" : "/",
                      name.key);
}

// Returns advice for the user, or "" if the service's message is sufficient.
std::string Remedy(const HttpResponse& response, absl::string_view code,
                   absl::string_view region) {
  if (!region.empty()) {
    return absl::StrCat("; the bucket is in ", region, ": set AWS_REGION");
  }
  if (code == "NoSuchBucket") return "; create the bucket first";
  if (response.code == 404 && code != kNoSuchKey && code != kNoSuchUpload) {
    return "; this is not S3's reply for a missing object: check that the "
           "endpoint "
           "(AWS_ENDPOINT_URL, GS_ENDPOINT_URL) is that of the service, and "
           "that "
           "no proxy answers in its place";
  }
  if (response.code == 403 || response.code == 401) {
    return "; check AWS_ACCESS_KEY_ID and the permissions of that key";
  }
  return "";
}

// Refusal has the contents of an error response. It is empty if the response
// has no body.
struct Refusal {
  std::string code;  // such as "NoSuchKey"
  std::string message;
  std::string region;  // region of the bucket
};

Refusal ReadRefusal(const HttpResponse& response) {
  const pugi::xml_document document = ParseXml(response.body);
  const pugi::xml_node error = document.child("Error");
  std::string region(response.header("x-amz-bucket-region"));
  if (region.empty()) region = error.child_value("Region");
  return {error.child_value("Code"), error.child_value("Message"),
          std::move(region)};
}

// Returns whether the bucket is in `region` and not in `our_region`. A HEAD
// response has no body, but only the code 400 and the other region.
bool IsElsewhere(const HttpResponse& response, absl::string_view code,
                 absl::string_view region, absl::string_view our_region) {
  if (response.code == 301 || response.code == 307) return true;
  if (code == "AuthorizationHeaderMalformed") return true;
  return response.code == 400 && code.empty() && !region.empty() &&
         region != our_region;
}

// Returns the error for the response to a request for `our_region`. NOT_FOUND
// only if the service's error document says that the object is missing.
absl::Status ErrorOf(const HttpResponse& response,
                     absl::string_view our_region) {
  auto [code, message, region] = ReadRefusal(response);
  const bool is_elsewhere = IsElsewhere(response, code, region, our_region);
  if (!is_elsewhere) region.clear();
  absl::StatusCode status = is_elsewhere ? absl::StatusCode::kFailedPrecondition
                                         : CodeOfHttp(response.code);
  if (response.code == 404 && code == kNoSuchKey) {
    status = absl::StatusCode::kNotFound;
  }
  return absl::Status(
      status,
      absl::StrCat("the service answers ", response.code,
                   code.empty() ? "" : " ", code, code.empty() ? "" : ": ",
                   message, Remedy(response, code, region)));
}

absl::Status ErrorOfAnswer(const std::string& method, const ObjectName& name,
                           const HttpResponse& response,
                           absl::string_view our_region) {
  // The caller treats this NOT_FOUND as unconfirmed, until a response with a
  // body confirms it (Stat).
  if (method == "HEAD" && response.code == 404) {
    return absl::NotFoundError("the service answers 404");
  }
  absl::Status status = ErrorOf(response, our_region);
  if (!name.key.empty() || !absl::IsNotFound(status)) return status;
  // The endpoint seems to contain a bucket already: the service takes the
  // bucket's name as part of the key.
  return absl::FailedPreconditionError(
      absl::StrCat(status.message(),
                   "; does the endpoint (AWS_ENDPOINT_URL, "
                   "GS_ENDPOINT_URL) name the bucket? Leave it out there"));
}

// Returns whether the request might succeed with other keys or another region.
bool IsRefusal(const HttpResponse& response, absl::string_view our_region) {
  if (response.code == 401 || response.code == 403) return true;
  if (response.code != 400 && response.code != 301 && response.code != 307) {
    return false;
  }
  const Refusal refusal = ReadRefusal(response);
  return refusal.code.empty() || refusal.code == "ExpiredToken" ||
         refusal.code == "InvalidToken" ||
         refusal.code == "TokenRefreshRequired" ||
         IsElsewhere(response, refusal.code, refusal.region, our_region);
}

// Returns OK if the response contains an element with that name. Some
// operations start their response before they know the result, so its code is
// not sufficient.
absl::Status CheckSucceeded(const HttpResponse& response, const char* element) {
  const pugi::xml_document document = ParseXml(response.body);
  if (!document.child(element).empty()) return absl::OkStatus();
  if (!document.child("Error").empty()) return ErrorOf(response, "");
  return absl::InternalError(
      absl::StrCat("the service answers ", response.code, " and no ", element,
                   "; the answer was cut off, or it is not S3"));
}

// Returns a name in a list, decoded as the service states.
std::string NameInList(const char* text, bool is_encoded) {
  if (!is_encoded) return text;
  // The encoding is that of forms: a space is a plus, and a plus is %2B.
  return PercentDecode(absl::StrReplaceAll(text, {{"+", " "}}));
}

std::string PartsXml(const std::vector<UploadedPart>& parts) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("CompleteMultipartUpload");
  for (const UploadedPart& part : parts) {
    pugi::xml_node node = root.append_child("Part");
    node.append_child("PartNumber").text().set(part.number);
    node.append_child("ETag").text().set(part.tag.c_str());
  }
  std::ostringstream text;
  document.save(text, "", pugi::format_raw);
  return text.str();
}

absl::StatusOr<ObjectList> ToList(const pugi::xml_node& result) {
  const bool is_encoded =
      absl::string_view(result.child_value("EncodingType")) == "url";
  ObjectList list;
  for (const pugi::xml_node& object : result.children("Contents")) {
    list.keys.push_back(NameInList(object.child_value("Key"), is_encoded));
  }
  for (const pugi::xml_node& prefix : result.children("CommonPrefixes")) {
    list.prefixes.push_back(
        NameInList(prefix.child_value("Prefix"), is_encoded));
  }
  if (absl::string_view(result.child_value("IsTruncated")) != "true") {
    return list;
  }
  list.next = result.child_value("NextContinuationToken");
  if (!list.next.empty()) return list;
  return absl::InternalError(
      "the service sent a part of a list without a continuation token; does "
      "it support ListObjectsV2?");
}

}  // namespace

S3ObjectStore::S3ObjectStore(S3Options options)
    : options_(std::move(options)) {}

std::string S3ObjectStore::UrlOf(const Operation& operation,
                                 const std::string& region) const {
  const std::string& bucket = operation.name.bucket;
  std::string url;
  if (!options_.endpoint.empty()) {
    url = absl::StrCat(absl::StripSuffix(options_.endpoint, "/"), "/", bucket);
  } else if (absl::StrContains(bucket, ".")) {
    url = absl::StrCat("https://s3.", region, ".amazonaws.com/", bucket);
  } else {
    url = absl::StrCat("https://", bucket, ".s3.", region, ".amazonaws.com");
  }
  absl::StrAppend(&url, "/",
                  PercentEncode(operation.name.key, /*keep_slashes=*/true));
  char separator = '?';
  for (const auto& [name, value] : operation.query) {
    url.push_back(separator);
    absl::StrAppend(&url, PercentEncode(name), "=", PercentEncode(value));
    separator = '&';
  }
  return url;
}

HttpRequest S3ObjectStore::ToRequest(const Operation& operation,
                                     const AwsKeys& keys) const {
  HttpRequest request;
  request.method = operation.method;
  request.url = UrlOf(operation, RegionOf(keys));
  request.headers.assign(operation.headers.begin(), operation.headers.end());
  request.body = operation.body;
  request.max_response_bytes = operation.max_response_bytes;
  request.deadline = options_.scheduler->clock().Now() +
                     std::min(operation.at_most, options_.operation_timeout);
  request.may_be_silent = operation.may_be_silent;
  request.given_up = operation.given_up;
  if (operation.body != nullptr) {
    request.headers.emplace_back("Content-Type", "application/octet-stream");
  }
  if (keys.access_key_id.empty()) return request;
  SignRequest(keys, RegionOf(keys), options_.scheduler->clock().WallTime(),
              &request);
  return request;
}

absl::StatusOr<HttpResponse> S3ObjectStore::ToAnswer(
    const Operation& operation, const AwsKeys& keys,
    absl::StatusOr<HttpResponse> response) const {
  const bool is_past_end = response.ok() && IsPastEnd(*response) &&
                           operation.headers.contains("Range");
  if (response.ok() && !response->ok() && !is_past_end) {
    response = ErrorOfAnswer(operation.method, operation.name, *response,
                             RegionOf(keys));
  }
  if (response.ok()) return response;
  return Annotate(response.status(), NameFor(options_.scheme, operation.name));
}

void S3ObjectStore::Start(Operation operation, HttpClient::Done done) const {
  auto keys = options_.credentials->Get();
  if (keys.ok()) {
    return Send(std::move(operation), *std::move(keys), /*is_last=*/false,
                std::move(done));
  }
  done(Annotate(keys.status(), NameFor(options_.scheme, operation.name)));
}

void S3ObjectStore::Send(Operation operation, AwsKeys keys, bool is_last,
                         HttpClient::Done done) const {
  HttpRequest request = ToRequest(operation, keys);
  options_.http->Start(
      std::move(request),
      [this, operation = std::move(operation), keys = std::move(keys), is_last,
       done = std::move(done)](absl::StatusOr<HttpResponse> response) mutable {
        if (!is_last && response.ok() && IsRefusal(*response, RegionOf(keys)) &&
            options_.credentials->Refuse(keys)) {
          return SendAgain(std::move(operation), std::move(keys),
                           *std::move(response), std::move(done));
        }
        done(ToAnswer(operation, keys, std::move(response)));
      });
}

void S3ObjectStore::SendAgain(Operation operation, AwsKeys keys,
                              HttpResponse refused,
                              HttpClient::Done done) const {
  // Read the keys on a thread of the unbounded pool. The file system may hang,
  // and must not block the thread that drives requests. The threads of the
  // blocking pool may all be waiting for this reply.
  options_.scheduler->Schedule(
      Pool::kUnbounded,
      [this, operation = std::move(operation), keys = std::move(keys),
       refused = std::move(refused), done = std::move(done)]() mutable {
        auto others = options_.credentials->Get();
        if (!others.ok() || SignAlike(*others, keys)) {
          return done(ToAnswer(operation, keys, std::move(refused)));
        }
        Send(std::move(operation), *std::move(others), /*is_last=*/true,
             std::move(done));
      });
}

absl::StatusOr<HttpResponse> S3ObjectStore::Run(Operation operation) const {
  SyncCall<absl::StatusOr<HttpResponse>> call(*options_.scheduler);
  Start(std::move(operation), call.Done());
  return call.Wait();
}

absl::StatusOr<ObjectInfo> S3ObjectStore::Stat(const ObjectName& name) {
  const auto response = Run({.method = "HEAD", .name = name});
  // A HEAD response has no body, so NOT_FOUND may also mean a missing bucket. A
  // read returns a body.
  if (absl::IsNotFound(response.status())) return StatByReading(name);
  RETURN_IF_ERROR(response.status());
  ObjectInfo info;
  info.version = std::string(response->header("etag"));
  if (absl::SimpleAtoi(response->header("content-length"), &info.size)) {
    return info;
  }
  return absl::InternalError(absl::StrCat(NameFor(options_.scheme, name),
                                          ": the service gives no size"));
}

absl::StatusOr<ObjectInfo> S3ObjectStore::StatByReading(
    const ObjectName& name) {
  SyncCall<absl::StatusOr<ObjectRange>> read(*options_.scheduler);
  Read(name, "", 0, 1, read.Done());
  ASSIGN_OR_RETURN(ObjectRange piece, read.Wait());
  return std::move(piece.object);
}

void S3ObjectStore::Read(const ObjectName& name, const std::string& version,
                         uint64_t offset, size_t size, RangeDone done) {
  Operation operation{.name = name};
  operation.headers = {{"Range", RangeHeader(offset, size)}};
  if (!version.empty()) operation.headers["If-Match"] = version;
  // The response may be larger than the range, so that it can contain the text
  // of an error.
  operation.max_response_bytes = size + (size_t{64} << 10);
  Start(std::move(operation),
        [offset, size, url = NameFor(options_.scheme, name),
         done = std::move(done)](absl::StatusOr<HttpResponse> answer) mutable {
          if (!answer.ok()) return done(answer.status());
          const std::string etag(answer->header("etag"));
          auto piece = ToObjectRange(*std::move(answer), offset, size);
          if (!piece.ok()) return done(Annotate(piece.status(), url));
          piece->object.version = etag;
          done(std::move(piece));
        });
}

absl::Status S3ObjectStore::Put(const ObjectName& name, std::string bytes) {
  Operation operation{.method = "PUT", .name = name};
  operation.body = std::make_shared<const std::string>(std::move(bytes));
  return Run(std::move(operation)).status();
}

absl::Status S3ObjectStore::Copy(const ObjectName& from, const ObjectName& to) {
  ASSIGN_OR_RETURN(const ObjectInfo info, Stat(from));
  if (options_.copies_parts && info.size > options_.max_copied_bytes) {
    return CopyInParts(from, to);
  }
  Operation operation{.method = "PUT", .name = to};
  operation.headers = {
      {"x-amz-copy-source",
       PercentEncode(absl::StrCat("/", from.bucket, "/", from.key), true)}};
  operation.body = std::make_shared<const std::string>();
  operation.may_be_silent = true;
  ASSIGN_OR_RETURN(const HttpResponse response, Run(std::move(operation)));
  return Annotate(CheckSucceeded(response, "CopyObjectResult"),
                  NameFor(options_.scheme, to));
}

absl::StatusOr<uint64_t> S3ObjectStore::CountParts(const ObjectName& name,
                                                   uint64_t size) const {
  const uint64_t most = options_.max_copied_bytes;
  const uint64_t count = size / most + (size % most != 0 ? 1 : 0);
  const auto max = static_cast<uint64_t>(max_parts());
  if (count > max) {
    return absl::InternalError(absl::StrCat(
        NameFor(options_.scheme, name), ": the service says that it has ", size,
        " bytes, which no object can have: ", max_parts(), " parts of ", most,
        " bytes are the most"));
  }
  if (options_.copies_parts) return count;
  // At most half of the possible parts are used, so that the rest is available
  // for later data.
  const uint64_t sent = std::max(kSentPartBytes, size / (max / 2) + 1);
  return std::max<uint64_t>(size / sent, 1);
}

absl::StatusOr<std::vector<UploadedPart>> S3ObjectStore::CopyParts(
    const ObjectUpload& upload, const ObjectName& from) {
  ASSIGN_OR_RETURN(const ObjectInfo info, Stat(from));
  ASSIGN_OR_RETURN(const uint64_t count, CountParts(from, info.size));
  std::vector<UploadedPart> parts;
  // All parts have the same size, so that the last part is not too small.
  for (uint64_t offset = 0; offset < info.size;) {
    const uint64_t size =
        std::min((info.size - 1) / count + 1, info.size - offset);
    const int number = static_cast<int>(parts.size()) + 1;
    auto part =
        options_.copies_parts
            ? CopyPart(upload, number, from, offset, size)
            : ReadAndSendPart(upload, number, from, info.version, offset, size);
    RETURN_IF_ERROR(part.status());
    parts.push_back(*std::move(part));
    offset += size;
  }
  return parts;
}

absl::Status S3ObjectStore::CopyInParts(const ObjectName& from,
                                        const ObjectName& to) {
  ASSIGN_OR_RETURN(const ObjectUpload upload, BeginUpload(to));
  const auto parts = CopyParts(upload, from);
  const absl::Status status =
      parts.ok() ? CompleteUpload(upload, *parts) : parts.status();
  if (!status.ok()) AbortUpload(upload).IgnoreError();  // the first counts
  return status;
}

absl::Status S3ObjectStore::Delete(const ObjectName& name) {
  const absl::Status status = Run({.method = "DELETE", .name = name}).status();
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

absl::Status S3ObjectStore::DeleteLeftover(const ObjectName& name) {
  const absl::Status status =
      Run({.method = "DELETE", .name = name, .at_most = kLeftoverTimeout})
          .status();
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

absl::StatusOr<ObjectList> S3ObjectStore::List(const std::string& bucket,
                                               const std::string& prefix,
                                               int max,
                                               const std::string& from) {
  Operation operation{.name = {.bucket = bucket, .key = ""}};
  operation.query = {{"delimiter", "/"},
                     {"encoding-type", "url"},
                     {"list-type", "2"},
                     {"max-keys", absl::StrCat(max)},
                     {"prefix", prefix}};
  if (!from.empty()) operation.query["continuation-token"] = from;
  ASSIGN_OR_RETURN(const HttpResponse response, Run(std::move(operation)));
  const pugi::xml_document document = ParseXml(response.body);
  const pugi::xml_node result = document.child("ListBucketResult");
  if (!result.empty()) {
    auto list = ToList(result);
    if (list.ok()) return list;
    return Annotate(list.status(),
                    absl::StrCat(options_.scheme, "://", bucket, "/", prefix));
  }
  return absl::InternalError(
      absl::StrCat(options_.scheme, "://", bucket,
                   ": the service answers with no list; is it S3?"));
}

absl::StatusOr<ObjectUpload> S3ObjectStore::BeginUpload(
    const ObjectName& name) {
  Operation operation{.method = "POST", .name = name};
  operation.query = {{"uploads", ""}};
  operation.body = std::make_shared<const std::string>();
  ASSIGN_OR_RETURN(const HttpResponse response, Run(std::move(operation)));
  const pugi::xml_document document = ParseXml(response.body);
  ObjectUpload upload;
  upload.name = name;
  upload.id =
      document.child("InitiateMultipartUploadResult").child_value("UploadId");
  if (!upload.id.empty()) return upload;
  return absl::InternalError(absl::StrCat(NameFor(options_.scheme, name),
                                          ": the service begins no upload"));
}

void S3ObjectStore::UploadPart(const ObjectUpload& upload, int number,
                               std::string bytes, PartDone done) {
  UploadedPart part{.number = number, .size = bytes.size(), .tag = ""};
  Operation operation{.method = "PUT", .name = upload.name};
  operation.query = {{"partNumber", absl::StrCat(number)},
                     {"uploadId", upload.id}};
  operation.body = std::make_shared<const std::string>(std::move(bytes));
  operation.given_up = upload.given_up;
  Start(std::move(operation),
        [part = std::move(part), done = std::move(done)](
            absl::StatusOr<HttpResponse> response) mutable {
          if (!response.ok()) return done(response.status());
          part.tag = std::string(response->header("etag"));
          done(std::move(part));
        });
}

absl::StatusOr<UploadedPart> S3ObjectStore::CopyPart(const ObjectUpload& upload,
                                                     int number,
                                                     const ObjectName& from,
                                                     uint64_t offset,
                                                     uint64_t size) {
  Operation operation{.method = "PUT", .name = upload.name};
  operation.query = {{"partNumber", absl::StrCat(number)},
                     {"uploadId", upload.id}};
  operation.headers = {
      {"x-amz-copy-source",
       PercentEncode(absl::StrCat("/", from.bucket, "/", from.key), true)},
      {"x-amz-copy-source-range", RangeHeader(offset, size)}};
  operation.body = std::make_shared<const std::string>();
  operation.may_be_silent = true;
  ASSIGN_OR_RETURN(const HttpResponse response, Run(std::move(operation)));
  RETURN_IF_ERROR(Annotate(CheckSucceeded(response, "CopyPartResult"),
                           NameFor(options_.scheme, upload.name)));
  const pugi::xml_document document = ParseXml(response.body);
  return UploadedPart{
      .number = number,
      .size = size,
      .tag = document.child("CopyPartResult").child_value("ETag")};
}

absl::StatusOr<UploadedPart> S3ObjectStore::ReadAndSendPart(
    const ObjectUpload& upload, int number, const ObjectName& from,
    const std::string& version, uint64_t offset, uint64_t size) {
  SyncCall<absl::StatusOr<ObjectRange>> read(*options_.scheduler);
  Read(from, version, offset, static_cast<size_t>(size), read.Done());
  ASSIGN_OR_RETURN(ObjectRange piece, read.Wait());
  if (piece.bytes.size() != size) {
    return absl::InternalError(absl::StrCat(
        NameFor(options_.scheme, from), ": the service sent ",
        piece.bytes.size(), " bytes of ", size, " from byte ", offset));
  }
  SyncCall<absl::StatusOr<UploadedPart>> sent(*options_.scheduler);
  UploadPart(upload, number, std::move(piece.bytes), sent.Done());
  return sent.Wait();
}

bool S3ObjectStore::IsCompleted(const ObjectUpload& upload,
                                const std::vector<UploadedPart>& parts) {
  const auto info = Stat(upload.name);
  if (!info.ok()) return false;
  std::string digests;
  for (const UploadedPart& part : parts) {
    digests += absl::HexStringToBytes(absl::StripSuffix(
        absl::StripPrefix(absl::string_view(part.tag), "\""), "\""));
  }
  return info->version == absl::StrCat("\"",
                                       absl::BytesToHexString(Md5(digests)),
                                       "-", parts.size(), "\"");
}

absl::Status S3ObjectStore::CompleteUpload(
    const ObjectUpload& upload, const std::vector<UploadedPart>& parts) {
  Operation operation{.method = "POST", .name = upload.name};
  operation.query = {{"uploadId", upload.id}};
  operation.body = std::make_shared<const std::string>(PartsXml(parts));
  operation.may_be_silent = true;
  const auto response = Run(std::move(operation));
  if (response.ok()) {
    return Annotate(CheckSucceeded(*response, "CompleteMultipartUploadResult"),
                    NameFor(options_.scheme, upload.name));
  }
  // If the reply to an earlier attempt was lost, that attempt may have
  // completed the upload. The upload then does not exist any more (404,
  // NoSuchUpload).
  const bool is_done = absl::IsFailedPrecondition(response.status()) &&
                       IsCompleted(upload, parts);
  return is_done ? absl::OkStatus() : response.status();
}

absl::Status S3ObjectStore::AbortUpload(const ObjectUpload& upload) {
  Operation operation{.method = "DELETE", .name = upload.name};
  operation.query = {{"uploadId", upload.id}};
  operation.at_most = kLeftoverTimeout;
  return Run(std::move(operation)).status();
}

}  // namespace weft
