// half (IEEE 754 binary16) and bfloat16 as values: two bytes that convert to
// and from float, rounding to nearest even. Arithmetic is done in float.
#ifndef WEFT_LIBS_TENSOR_FLOAT16_H_
#define WEFT_LIBS_TENSOR_FLOAT16_H_

#include <bit>
#include <cstdint>

namespace weft {

namespace internal {
uint16_t FloatToHalfBits(float value);
float HalfBitsToFloat(uint16_t bits);

inline uint16_t FloatToBfloat16Bits(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fc0;  // NaN stays NaN
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}
inline float Bfloat16BitsToFloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}
}  // namespace internal

struct half {
  uint16_t bits = 0;

  half() = default;
  explicit half(float value) : bits(internal::FloatToHalfBits(value)) {}
  operator float() const { return internal::HalfBitsToFloat(bits); }
};

struct bfloat16 {
  uint16_t bits = 0;

  bfloat16() = default;
  explicit bfloat16(float value) : bits(internal::FloatToBfloat16Bits(value)) {}
  operator float() const { return internal::Bfloat16BitsToFloat(bits); }
};

}  // namespace weft

#endif  // WEFT_LIBS_TENSOR_FLOAT16_H_
