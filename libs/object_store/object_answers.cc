#include "libs/object_store/object_answers.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace weft {
namespace {

// The start offset and the total size in a header such as "bytes 0-9/100".
struct ContentRange {
  uint64_t begin = 0;
  uint64_t whole = 0;
};

std::optional<ContentRange> ParseContentRange(absl::string_view text) {
  ContentRange range;
  const size_t dash = text.find('-');
  const size_t slash = text.rfind('/');
  if (!absl::ConsumePrefix(&text, "bytes ") ||
      dash == absl::string_view::npos || slash == absl::string_view::npos ||
      slash < dash) {
    return std::nullopt;
  }
  constexpr size_t kUnit = 6;  // size of "bytes "
  if (dash < kUnit ||
      !absl::SimpleAtoi(text.substr(0, dash - kUnit), &range.begin) ||
      !absl::SimpleAtoi(text.substr(slash + 1 - kUnit), &range.whole)) {
    return std::nullopt;
  }
  return range;
}

// Returns the total size in a header such as "bytes */100", which a response
// has if the range is past the end.
std::optional<uint64_t> SizeOfWhole(absl::string_view content_range) {
  const size_t slash = content_range.rfind('/');
  uint64_t size = 0;
  const bool has_size =
      slash != absl::string_view::npos &&
      absl::SimpleAtoi(content_range.substr(slash + 1), &size);
  return has_size ? std::optional(size) : std::nullopt;
}

// Returns the requested range of a whole object, for a server that ignores
// ranges.
ObjectRange PieceOfWhole(std::string whole, uint64_t offset, size_t size) {
  ObjectRange piece;
  piece.object.size = whole.size();
  if (offset < whole.size()) piece.bytes = whole.substr(offset, size);
  return piece;
}

}  // namespace

absl::StatusCode CodeOfHttp(int code) {
  switch (code) {
    case 401:
    case 403:
      return absl::StatusCode::kPermissionDenied;
    case 301:
    case 307:
    case 404:
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

absl::StatusOr<ObjectRange> ToObjectRange(HttpResponse response,
                                          uint64_t offset, size_t size) {
  const absl::string_view text = response.header("content-range");
  const auto whole = SizeOfWhole(text);
  // For an empty object, some servers return an error for the range and others
  // an empty body.
  if (IsPastEnd(response) ||
      (response.body.empty() && whole.has_value() && *whole <= offset)) {
    ObjectRange nothing;
    nothing.object.size = whole.value_or(0);
    return nothing;
  }
  if (response.code != 206) {
    return PieceOfWhole(std::move(response.body), offset, size);
  }
  const auto range = ParseContentRange(text);
  if (!range.has_value() || range->begin != offset || range->whole <= offset) {
    return absl::InternalError(absl::StrCat("the service was asked for ", size,
                                            " bytes from byte ", offset,
                                            ", and answers with '", text, "'"));
  }
  const uint64_t expected = std::min<uint64_t>(size, range->whole - offset);
  if (response.body.size() != expected) {
    return absl::InternalError(absl::StrCat(
        "the service sent ", response.body.size(), " bytes of ", expected,
        " that were asked for, from byte ", offset, " of ", range->whole));
  }
  ObjectRange piece;
  piece.object.size = range->whole;
  piece.bytes = std::move(response.body);
  return piece;
}

}  // namespace weft
