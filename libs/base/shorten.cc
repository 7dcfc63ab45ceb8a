#include "libs/base/shorten.h"

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

// The maximum size of the note " [18446744073709551615 bytes left out] ".
constexpr size_t kNoteBytes = 40;
// The maximum number of continuation bytes of a UTF-8 sequence.
constexpr size_t kMostContinuations = 3;

// Returns whether the byte at `at` continues a UTF-8 sequence.
bool Continues(absl::string_view text, size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) >> 6) == 2;
}

}  // namespace

std::string ShortenText(absl::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  const size_t kept = max_bytes - kNoteBytes;
  size_t begin = kept / 4 * 3;  // end of the prefix that is kept
  // The beginning of the suffix that is kept.
  size_t end = text.size() - (kept - begin);
  for (size_t i = 0; i < kMostContinuations && Continues(text, begin); ++i) {
    --begin;
  }
  for (size_t i = 0; i < kMostContinuations && Continues(text, end); ++i) {
    ++end;
  }
  return absl::StrCat(text.substr(0, begin), " [", end - begin,
                      " bytes left out] ", text.substr(end));
}

}  // namespace weft
