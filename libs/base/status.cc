#include "libs/base/status.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace weft {
namespace {

constexpr absl::string_view kDerivedPayload = "weft/derived";

absl::Status WithMessage(const absl::Status& status,
                         absl::string_view message) {
  absl::Status result(status.code(), message);
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
    result.SetPayload(url, payload);
  });
  return result;
}

}  // namespace

absl::Status Annotate(const absl::Status& status, absl::string_view prefix) {
  if (status.ok()) return status;
  return WithMessage(status, absl::StrCat(prefix, ": ", status.message()));
}

absl::Status Append(const absl::Status& status, absl::string_view suffix) {
  if (status.ok()) return status;
  return WithMessage(status, absl::StrCat(status.message(), " ", suffix));
}

absl::Status MarkDerived(absl::Status status) {
  if (!status.ok()) status.SetPayload(kDerivedPayload, absl::Cord("1"));
  return status;
}

bool IsDerived(const absl::Status& status) {
  return status.GetPayload(kDerivedPayload).has_value();
}

absl::string_view StatusCodeName(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
      return "OK";
    case absl::StatusCode::kCancelled:
      return "CANCELLED";
    case absl::StatusCode::kUnknown:
      return "UNKNOWN";
    case absl::StatusCode::kInvalidArgument:
      return "INVALID_ARGUMENT";
    case absl::StatusCode::kDeadlineExceeded:
      return "DEADLINE_EXCEEDED";
    case absl::StatusCode::kNotFound:
      return "NOT_FOUND";
    case absl::StatusCode::kAlreadyExists:
      return "ALREADY_EXISTS";
    case absl::StatusCode::kPermissionDenied:
      return "PERMISSION_DENIED";
    case absl::StatusCode::kResourceExhausted:
      return "RESOURCE_EXHAUSTED";
    case absl::StatusCode::kFailedPrecondition:
      return "FAILED_PRECONDITION";
    case absl::StatusCode::kAborted:
      return "ABORTED";
    case absl::StatusCode::kOutOfRange:
      return "OUT_OF_RANGE";
    case absl::StatusCode::kUnimplemented:
      return "UNIMPLEMENTED";
    case absl::StatusCode::kInternal:
      return "INTERNAL";
    case absl::StatusCode::kUnavailable:
      return "UNAVAILABLE";
    case absl::StatusCode::kDataLoss:
      return "DATA_LOSS";
    case absl::StatusCode::kUnauthenticated:
      return "UNAUTHENTICATED";
    default:
      return "UNKNOWN";
  }
}

}  // namespace weft
