#include "libs/tensor/float16.h"

#include <bit>

namespace weft::internal {

uint16_t FloatToHalfBits(float value) {
  constexpr uint32_t kInfinity = 0x7f800000;
  constexpr uint32_t kTooLarge = 0x47800000;        // 65536.0f
  constexpr uint32_t kSmallestNormal = 0x38800000;  // 2^-14
  constexpr uint32_t kHalf = 0x3f000000;            // 0.5f
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000;
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > kInfinity) {  // NaN: quiet, its upper payload kept
    return static_cast<uint16_t>(sign | 0x7e00 | ((magnitude >> 13) & 0x1ff));
  }
  if (magnitude >= kTooLarge) return static_cast<uint16_t>(sign | 0x7c00);
  if (magnitude < kSmallestNormal) {
    // Adding 0.5 lines the bits up with a subnormal's and rounds them.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign |
                                 (std::bit_cast<uint32_t>(shifted) - kHalf));
  }
  magnitude += 0xfff + ((magnitude >> 13) & 1);  // nearest even
  magnitude -= 112u << 23;  // the difference of the exponents' biases
  return static_cast<uint16_t>(sign | (magnitude >> 13));
}

float HalfBitsToFloat(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t magnitude = bits & 0x7fff;
  uint32_t result = 0;
  if (magnitude >= 0x7c00) {
    result = 0x7f800000 | ((magnitude & 0x3ff) << 13);
  } else if (magnitude >= 0x400) {
    result = (magnitude << 13) + (112u << 23);
  } else {
    result = std::bit_cast<uint32_t>(static_cast<float>(magnitude) * 0x1p-24f);
  }
  return std::bit_cast<float>(sign | result);
}

}  // namespace weft::internal
