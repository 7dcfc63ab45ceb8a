// Numbers from text, as TensorFlow reads them: white space around, a sign,
// decimal digits; floating-point ones with a point, an exponent, "inf", "nan",
// and in hexadecimal ("0x10", "0x1.8p3").
#ifndef WEFT_LIBS_KERNELS_TEXT_NUMBERS_H_
#define WEFT_LIBS_KERNELS_TEXT_NUMBERS_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
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

// A number of up to 19 characters: digits, and perhaps a point among them.
struct Decimal {
  uint64_t digits = 0;  // without the point
  size_t decimals = 0;  // behind it
};

// Character by character. False where the text is anything else.
inline bool ReadDecimal(absl::string_view text, Decimal& decimal) {
  // 19 digits fit into 64 bits.
  if (text.size() > std::size(kPowersOfTen)) return false;
  size_t point = text.size();
  for (size_t i = 0; i < text.size(); ++i) {
    const unsigned digit = static_cast<unsigned char>(text[i]) - unsigned{'0'};
    if (digit <= 9) {
      decimal.digits = 10 * decimal.digits + digit;
    } else if (text[i] == '.' && point == text.size()) {
      point = i;
    } else {
      return false;
    }
  }
  const bool has_point = point < text.size();
  decimal.decimals = has_point ? text.size() - point - 1 : 0;
  return text.size() > (has_point ? 1 : 0);
}

// Eight characters at a time, the first in the lowest byte.
static_assert(std::endian::native == std::endian::little);
class EightCharacters {
 public:
  static constexpr size_t kSize = 8;

  EightCharacters() = default;  // zeros, as texts have them
  static EightCharacters Load(const char* from) {
    EightCharacters result;
    std::memcpy(&result.word_, from, kSize);
    return result;
  }

  // The high bit of each byte that is a point, and no other bit.
  uint64_t Points() const {
    const uint64_t word = word_ ^ kOnes * '.';
    return ~(((word & kLowBits) + kLowBits) | word | kLowBits);
  }
  // So many characters go out at the end, and zeros come in. REQUIRES: 0 to 8.
  void MoveBack(size_t count) {
    const size_t bits = 4 * count;  // a shift by all 64 would be none
    word_ = word_ << bits << bits | kZeros >> (32 - bits) >> (32 - bits);
  }
  // Character `index` goes out, those before it move up, and `first` comes in.
  void Remove(size_t index, char first) {
    const uint64_t before = (uint64_t{1} << (8 * index)) - 1;
    word_ = (word_ & ~(before << 8 | 0xff)) | (word_ & before) << 8 |
            static_cast<unsigned char>(first);
  }
  char last() const { return static_cast<char>(word_ >> 56); }

  bool AreDigits() const {
    // 0x30 to 0x39 alone have that high half, and with 6 more as well.
    const uint64_t high = 0xf0 * kOnes;
    return (word_ & high) == kZeros && ((word_ + 6 * kOnes) & high) == kZeros;
  }
  // REQUIRES: digits. Neighbours are joined to twos, fours and all eight.
  uint64_t Number() const {
    uint64_t word = word_ & 0x0f * kOnes;
    word = ((word * ((10u << 8) | 1)) >> 8) & 0x00ff00ff00ff00ff;
    word = ((word * ((100u << 16) | 1)) >> 16) & 0x0000ffff0000ffff;
    return (word * ((uint64_t{10000} << 32) | 1)) >> 32;
  }

 private:
  static constexpr uint64_t kOnes = 0x0101010101010101;
  static constexpr uint64_t kLowBits = 0x7f * kOnes;
  static constexpr uint64_t kZeros = '0' * kOnes;

  uint64_t word_ = kZeros;
};

// As ReadDecimal. REQUIRES: 8 to 16 characters, as most numbers with a point
// have. A call would cost about as much as this.
[[gnu::always_inline]] inline bool ReadLongDecimal(absl::string_view text,
                                                   Decimal& decimal) {
  constexpr size_t kSize = EightCharacters::kSize;
  // All are read as 16, of which what comes before the text is zeros.
  auto last = EightCharacters::Load(text.data() + text.size() - kSize);
  auto first = EightCharacters::Load(text.data());
  first.MoveBack(2 * kSize - text.size());
  if (const uint64_t points = last.Points(); points != 0) {
    const auto point = static_cast<size_t>(std::countr_zero(points)) / 8;
    last.Remove(point, first.last());
    first.Remove(kSize - 1, '0');
    decimal.decimals = kSize - 1 - point;
  } else if (const uint64_t earlier = first.Points(); earlier != 0) {
    const auto point = static_cast<size_t>(std::countr_zero(earlier)) / 8;
    first.Remove(point, '0');
    decimal.decimals = 2 * kSize - 1 - point;
  }
  decimal.digits = first.Number() * 100'000'000 + last.Number();
  return first.AreDigits() && last.AreDigits();
}

// The number nearest to a few digits with a point among them, as most numbers
// in files are; without rounding twice: digits below 2^53 and a power of ten
// are exact, and so is all but one division (W. D. Clinger, "How to Read
// Floating Point Numbers Accurately", 1990). False where the text is anything
// else, or where a double lies halfway between two floats.
template <typename T>
bool ParseDecimal(absl::string_view text, T& value) {
  if (text.empty()) return false;
  // Half of all numbers are negative: branches would be foreseen half the time.
  const unsigned is_negative = text[0] == '-' ? 1 : 0;
  const unsigned is_positive = text[0] == '+' ? 1 : 0;
  text.remove_prefix(is_negative + is_positive);
  Decimal decimal;
  const bool is_long = text.size() >= EightCharacters::kSize &&
                       text.size() <= 2 * EightCharacters::kSize;
  if (!(is_long ? ReadLongDecimal(text, decimal)
                : ReadDecimal(text, decimal))) {
    return false;
  }
  if (decimal.digits > uint64_t{1} << 53) return false;
  const double number =
      static_cast<double>(decimal.digits) / kPowersOfTen[decimal.decimals];
  const auto bits = absl::bit_cast<uint64_t>(number);
  if constexpr (std::is_same_v<T, float>) {
    constexpr uint64_t kBelowFloat = (uint64_t{1} << 29) - 1;
    constexpr uint64_t kHalfway = uint64_t{1} << 28;
    if ((bits & kBelowFloat) == kHalfway) return false;
  }
  value = static_cast<T>(
      absl::bit_cast<double>(bits | uint64_t{is_negative} << 63));
  return true;
}

// False where the text is no such number.
template <typename T>
bool ParseHexadecimal(absl::string_view text, T& value) {
  text = absl::StripAsciiWhitespace(text);
  const bool is_negative = absl::ConsumePrefix(&text, "-");
  if (!is_negative) absl::ConsumePrefix(&text, "+");
  if (!absl::ConsumePrefix(&text, "0x") && !absl::ConsumePrefix(&text, "0X")) {
    return false;
  }
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

#endif  // WEFT_LIBS_KERNELS_TEXT_NUMBERS_H_
