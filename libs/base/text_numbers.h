// Numbers parsed from text, as in TensorFlow: surrounding white space, a sign,
// decimal digits; floating-point numbers with a point, an exponent, "inf",
// "nan", and in hexadecimal ("0x10", "0x1.8p3").
#ifndef WEFT_LIBS_BASE_TEXT_NUMBERS_H_
#define WEFT_LIBS_BASE_TEXT_NUMBERS_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <system_error>
#include <type_traits>

#include "absl/base/casts.h"
#include "absl/strings/ascii.h"
#include "absl/strings/charconv.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace weft {

// Powers of ten that a double holds exactly, as many as ParseDecimal needs.
inline constexpr double kPowersOfTen[] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
    1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};

// Parses a few digits with an optional point, as most numbers in files are,
// rounded once: digits below 2^53 and a power of ten are exact, and so is
// everything except one division (W. D. Clinger, "How to Read Floating Point
// Numbers Accurately", 1990). Returns false for other texts, and if a double is
// halfway between two floats.
template <typename T>
bool ParseDecimal(absl::string_view text, T& value) {
  const bool has_sign = !text.empty() && (text[0] == '-' || text[0] == '+');
  const bool is_negative = has_sign && text[0] == '-';
  if (has_sign) text.remove_prefix(1);
  // 19 digits fit into 64 bits.
  if (text.size() > std::size(kPowersOfTen)) return false;
  uint64_t digits = 0;
  size_t point = text.size();
  for (size_t i = 0; i < text.size(); ++i) {
    const unsigned digit = static_cast<unsigned char>(text[i]) - unsigned{'0'};
    if (digit <= 9) {
      digits = 10 * digits + digit;
    } else if (text[i] == '.' && point == text.size()) {
      point = i;
    } else {
      return false;
    }
  }
  const bool has_point = point < text.size();
  if (text.size() == (has_point ? 1 : 0)) return false;
  if (digits > uint64_t{1} << 53) return false;
  const size_t decimals = has_point ? text.size() - point - 1 : 0;
  const double number = static_cast<double>(digits) / kPowersOfTen[decimals];
  if constexpr (std::is_same_v<T, float>) {
    constexpr uint64_t kBelowFloat = (uint64_t{1} << 29) - 1;
    constexpr uint64_t kHalfway = uint64_t{1} << 28;
    if ((absl::bit_cast<uint64_t>(number) & kBelowFloat) == kHalfway) {
      return false;
    }
  }
  value = static_cast<T>(is_negative ? -number : number);
  return true;
}

// Returns false if the text is no such number.
template <typename T>
bool ParseHexadecimal(absl::string_view text, T& value) {
  text = absl::StripAsciiWhitespace(text);
  const bool is_negative = absl::ConsumePrefix(&text, "-");
  if (!is_negative) absl::ConsumePrefix(&text, "+");
  if (!absl::ConsumePrefix(&text, "0x") && !absl::ConsumePrefix(&text, "0X")) {
    return false;
  }
  // The remaining text must start with neither a sign nor a name.
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

// Returns false if the text is not a number, or if an integer does not fit into
// T.
inline bool ParseNumber(absl::string_view text, float& value) {
  return ParseDecimal(text, value) || absl::SimpleAtof(text, &value) ||
         ParseHexadecimal(text, value);
}
inline bool ParseNumber(absl::string_view text, double& value) {
  return ParseDecimal(text, value) || absl::SimpleAtod(text, &value) ||
         ParseHexadecimal(text, value);
}
template <typename T>
bool ParseNumber(absl::string_view text, T& value) {
  return absl::SimpleAtoi(text, &value);
}

}  // namespace weft

#endif  // WEFT_LIBS_BASE_TEXT_NUMBERS_H_
