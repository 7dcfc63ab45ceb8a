// ShortenText shortens texts of unbounded length, so that a message stays
// within its size limit.
//
// Threads: functions without state.
#ifndef WEFT_LIBS_BASE_SHORTEN_H_
#define WEFT_LIBS_BASE_SHORTEN_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace weft {

// The maximum length of an error text in a message, in bytes.
inline constexpr size_t kMaxErrorText = size_t{64} << 10;

// Returns `text` if it has at most `max_bytes`. Otherwise returns its beginning
// and its end, with the number of omitted bytes between them. An error text
// usually begins with the node and ends with the remedy. No UTF-8 sequence is
// cut. REQUIRES: max_bytes >= 100.
std::string ShortenText(absl::string_view text, size_t max_bytes);

}  // namespace weft

#endif  // WEFT_LIBS_BASE_SHORTEN_H_
