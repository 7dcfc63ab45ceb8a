// Shortens texts that others determine the length of, so that a message that
// carries them has a bound.
//
// Threads: functions without state.
#ifndef WEFT_LIBS_BASE_SHORTEN_H_
#define WEFT_LIBS_BASE_SHORTEN_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace weft {

// What tasks send of the text of an error.
inline constexpr size_t kMaxErrorText = size_t{64} << 10;

// `text` if it has at most `max_bytes`. Else its beginning and its end, for
// errors begin with the node and end with the remedy, and between them how many
// bytes were left out. No UTF-8 sequence is cut. REQUIRES: max_bytes >= 100.
std::string ShortenText(absl::string_view text, size_t max_bytes);

}  // namespace weft

#endif  // WEFT_LIBS_BASE_SHORTEN_H_
