#include "libs/object_store/object_answers.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace weft {
namespace {

// The object's size: of "bytes 0-9/100", else what the answer holds.
uint64_t SizeOfWhole(const HttpResponse& response) {
  const absl::string_view range = response.header("content-range");
  const size_t slash = range.rfind('/');
  uint64_t size = 0;
  const bool has_size = slash != absl::string_view::npos &&
                        absl::SimpleAtoi(range.substr(slash + 1), &size);
  return has_size ? size : response.body.size();
}

}  // namespace

absl::StatusCode CodeOfHttp(int code) {
  switch (code) {
    case 401:
    case 403:
      return absl::StatusCode::kPermissionDenied;
    case 404:
      return absl::StatusCode::kNotFound;
    case 301:
    case 307:
    case 409:
    case 412:
      return absl::StatusCode::kFailedPrecondition;
    case 408:
    case 429:
    case 500:
    case 502:
    case 503:
    case 504:
      return absl::StatusCode::kUnavailable;
    case 507:
      return absl::StatusCode::kResourceExhausted;
    default:
      return absl::StatusCode::kInternal;
  }
}

std::string RangeHeader(uint64_t offset, uint64_t size) {
  return absl::StrCat("bytes=", offset, "-", offset + size - 1);
}

absl::StatusOr<ObjectPiece> ToPiece(HttpResponse response, uint64_t offset,
                                    size_t size) {
  ObjectPiece piece;
  piece.object.size = SizeOfWhole(response);
  if (IsPastEnd(response)) {
    // The whole answer is about the range; an empty object has no other.
    if (response.header("content-range").empty()) piece.object.size = 0;
    return piece;
  }
  piece.bytes = std::move(response.body);
  if (response.code != 206) {  // all of it, by a server without ranges
    piece.bytes = offset < piece.bytes.size() ? piece.bytes.substr(offset, size)
                                              : std::string();
  }
  if (piece.bytes.size() <= size) return piece;
  return absl::InternalError(absl::StrCat("the service sent ",
                                          piece.bytes.size(), " bytes of ",
                                          size, " that were asked for"));
}

}  // namespace weft
