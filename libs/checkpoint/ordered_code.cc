#include "libs/checkpoint/ordered_code.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "absl/numeric/bits.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace weft::checkpoint {
namespace {

constexpr char kEscape0 = '\x00';  // followed by kZero or kEnd
constexpr char kEnd = '\x01';
constexpr char kZero = '\xff';
constexpr char kEscape255 = '\xff';  // followed by k255
constexpr char k255 = '\x00';

// The maximum size of a signed number: ten groups of seven bits hold any int64
// and its sign.
constexpr int kMostSigned = 10;
using SignedBytes = std::array<uint8_t, kMostSigned>;

absl::Status NotACode(absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("not an ordered code: ", what));
}

// Returns the number of bytes, with seven bits each, that hold the value and
// its sign.
int SignedLength(int64_t value) {
  const auto magnitude = static_cast<uint64_t>(value < 0 ? ~value : value);
  const int bits = 64 - absl::countl_zero(magnitude) + 1;  // with the sign
  return (bits + 6) / 7;
}

// Inverts the first `size` bits of `bytes`. These bits encode the number of
// bytes: as ones, or as zeros for a negative number.
void FlipLength(int size, uint8_t* bytes) {
  for (int byte = 0, left = size; left > 0; ++byte, left -= 8) {
    bytes[byte] ^= static_cast<uint8_t>(left >= 8 ? 0xff : 0xff << (8 - left));
  }
}

// Returns how many leading bits of the number are equal. This is the number of
// its bytes.
int LengthOf(absl::string_view bytes) {
  const auto first = static_cast<uint8_t>(bytes[0]);
  const uint8_t flip = (first & 0x80) != 0 ? 0 : 0xff;
  const int ones = absl::countl_one(static_cast<uint8_t>(first ^ flip));
  if (ones < 8 || bytes.size() == 1) return ones;
  const auto second = static_cast<uint8_t>(bytes[1]);
  return 8 + absl::countl_one(static_cast<uint8_t>(second ^ flip));
}

}  // namespace

void AppendNumIncreasing(uint64_t value, std::string* bytes) {
  const int size = (64 - absl::countl_zero(value) + 7) / 8;
  bytes->push_back(static_cast<char>(size));
  for (int i = size - 1; i >= 0; --i) {
    bytes->push_back(static_cast<char>(value >> (8 * i)));
  }
}

absl::StatusOr<uint64_t> ReadNumIncreasing(absl::string_view* bytes) {
  if (bytes->empty()) return NotACode("a number is missing");
  const auto size = static_cast<size_t>(static_cast<uint8_t>((*bytes)[0]));
  if (size > 8) return NotACode("a number of more than eight bytes");
  if (bytes->size() < 1 + size) return NotACode("a number is cut off");
  if (size > 0 && (*bytes)[1] == 0) return NotACode("a zero before a number");
  uint64_t value = 0;
  for (size_t i = 1; i <= size; ++i) {
    value = value << 8 | static_cast<uint8_t>((*bytes)[i]);
  }
  bytes->remove_prefix(1 + size);
  return value;
}

void AppendStringIncreasing(absl::string_view value, std::string* bytes) {
  for (const char c : value) {
    bytes->push_back(c);
    if (c == kEscape0) bytes->push_back(kZero);
    if (c == kEscape255) bytes->push_back(k255);
  }
  bytes->push_back(kEscape0);
  bytes->push_back(kEnd);
}

absl::StatusOr<std::string> ReadStringIncreasing(absl::string_view* bytes) {
  std::string value;
  for (size_t i = 0; i + 1 < bytes->size(); ++i) {
    const char c = (*bytes)[i];
    if (c == kEscape0 || c == kEscape255) {
      const char next = (*bytes)[++i];
      if (c == kEscape0 && next == kEnd) {
        bytes->remove_prefix(i + 1);
        return value;
      }
      if (next != (c == kEscape0 ? kZero : k255)) {
        return NotACode("a byte that escapes nothing");
      }
    }
    value.push_back(c);
  }
  return NotACode("a string does not end");
}

void AppendSignedNumIncreasing(int64_t value, std::string* bytes) {
  SignedBytes all;
  for (int i = 0; i < kMostSigned; ++i) {
    const int shift = 8 * (kMostSigned - 1 - i);
    all[i] = static_cast<uint8_t>(value >> std::min(shift, 63));
  }
  const int size = SignedLength(value);
  uint8_t* first = all.data() + (kMostSigned - size);
  FlipLength(size, first);
  bytes->append(reinterpret_cast<const char*>(first), size);
}

absl::StatusOr<int64_t> ReadSignedNumIncreasing(absl::string_view* bytes) {
  if (bytes->empty()) return NotACode("a number is missing");
  const int size = LengthOf(*bytes);
  if (size > kMostSigned || bytes->size() < static_cast<size_t>(size)) {
    return NotACode("a number is cut off or too long");
  }
  SignedBytes all;
  std::copy_n(bytes->data(), size, all.begin());
  FlipLength(size, all.data());
  uint64_t value = (all[0] & 0x80) != 0 ? ~uint64_t{0} : 0;
  for (int i = 0; i < size; ++i) value = value << 8 | all[i];
  const auto result = static_cast<int64_t>(value);
  // Each number must have only one encoding, because otherwise different keys
  // would denote the same slice.
  std::string again;
  AppendSignedNumIncreasing(result, &again);
  if (again != bytes->substr(0, size)) {
    return NotACode("a number in more bytes than it takes");
  }
  bytes->remove_prefix(size);
  return result;
}

}  // namespace weft::checkpoint
