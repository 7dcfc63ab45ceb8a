// Numbers from text, as TensorFlow reads them: white space around, a sign,
// decimal digits; floating-point ones with a point, an exponent, "inf", "nan",
// and in hexadecimal ("0x10", "0x1.8p3").
#ifndef WEFT_LIBS_KERNELS_TEXT_NUMBERS_H_
#define WEFT_LIBS_KERNELS_TEXT_NUMBERS_H_

#include <limits>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/charconv.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"

namespace weft {

// False where the text is no such number.
template <typename T>
bool ParseHexadecimal(absl::string_view text, T& value) {
  text = absl::StripAsciiWhitespace(text);
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  if (!text.starts_with("0x") && !text.starts_with("0X")) return false;
  text.remove_prefix(2);
  // What follows may begin with neither a sign nor a name.
  if (text.empty() || !(absl::ascii_isxdigit(text[0]) || text[0] == '.')) {
    return false;
  }
  const char* const end = text.data() + text.size();
  const auto result =
      absl::from_chars(text.data(), end, value, absl::chars_format::hex);
  if (result.ptr != end || result.ec == std::errc::invalid_argument) {
    return false;
  }
  if (result.ec == std::errc::result_out_of_range && value > 1) {
    value = std::numeric_limits<T>::infinity();
  }
  if (is_negative) value = -value;
  return true;
}

// False where the text is no number, and where an integer does not fit into T.
inline bool ParseNumber(absl::string_view text, float& value) {
  return absl::SimpleAtof(text, &value) || ParseHexadecimal(text, value);
}
inline bool ParseNumber(absl::string_view text, double& value) {
  return absl::SimpleAtod(text, &value) || ParseHexadecimal(text, value);
}
template <typename T>
bool ParseNumber(absl::string_view text, T& value) {
  return absl::SimpleAtoi(text, &value);
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_TEXT_NUMBERS_H_
