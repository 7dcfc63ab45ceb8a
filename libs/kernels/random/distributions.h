// Conversions of random bits to numbers of a distribution, bitwise as in
// TensorFlow (core/lib/random/random_distributions.h).
//
// A distribution makes kGroup values of type T from one Philox sample. A
// distribution with kVariable takes a varying number of samples.
#ifndef WEFT_LIBS_KERNELS_RANDOM_DISTRIBUTIONS_H_
#define WEFT_LIBS_KERNELS_RANDOM_DISTRIBUTIONS_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <type_traits>

#include "libs/kernels/common/philox.h"
#include "libs/tensor/float16.h"

namespace weft {

// Uniform over [0, 1): random mantissa bits under the exponent of 1, less 1.
inline float UniformFloat(uint32_t x) {
  return std::bit_cast<float>((127u << 23) | (x & 0x7fffffu)) - 1.0f;
}
inline double UniformDouble(uint32_t x0, uint32_t x1) {
  const uint64_t mantissa = (uint64_t{x0 & 0xfffffu} << 32) | x1;
  return std::bit_cast<double>((uint64_t{1023} << 52) | mantissa) - 1.0;
}
inline half UniformHalf(uint32_t x) {
  half result;
  result.bits = static_cast<uint16_t>((15u << 10) | (x & 0x3ffu));
  return half(static_cast<float>(result) - 1.0f);
}
inline bfloat16 UniformBfloat16(uint32_t x) {
  bfloat16 result;
  result.bits = static_cast<uint16_t>((127u << 7) | (x & 0x7fu));
  return bfloat16(static_cast<float>(result) - 1.0f);
}

// Two normal numbers from two uniform ones (Box and Muller, 1958).
inline void NormalFloats(uint32_t x0, uint32_t x1, float* out0, float* out1) {
  constexpr float kEpsilon = 1.0e-7f;  // log(0) is not finite
  float u1 = UniformFloat(x0);
  if (u1 < kEpsilon) u1 = kEpsilon;
  const auto angle =
      static_cast<float>(2.0f * std::numbers::pi * UniformFloat(x1));
  const float radius = std::sqrt(-2.0f * std::log(u1));
  *out0 = std::sin(angle) * radius;
  *out1 = std::cos(angle) * radius;
}
inline void NormalDoubles(const Philox::Sample& x, double* out0, double* out1) {
  constexpr double kEpsilon = 1.0e-7;
  double u1 = UniformDouble(x[0], x[1]);
  if (u1 < kEpsilon) u1 = kEpsilon;
  const double angle = 2 * std::numbers::pi * UniformDouble(x[2], x[3]);
  const double radius = std::sqrt(-2.0 * std::log(u1));
  *out0 = std::sin(angle) * radius;
  *out1 = std::cos(angle) * radius;
}

// Values from one sample; a double takes two numbers.
template <typename T>
inline constexpr int kValuesPerSample = sizeof(T) == 8 ? 2 : 4;

template <typename T>
struct UniformDistribution {
  static constexpr int kGroup = kValuesPerSample<T>;
  static constexpr bool kVariable = false;
  static void Make(const Philox::Sample& x, T* out) {
    if constexpr (std::is_same_v<T, double>) {
      out[0] = UniformDouble(x[0], x[1]);
      out[1] = UniformDouble(x[2], x[3]);
    } else {
      for (int i = 0; i < 4; ++i) out[i] = One(x[i]);
    }
  }

 private:
  static T One(uint32_t x) {
    if constexpr (std::is_same_v<T, half>) return UniformHalf(x);
    if constexpr (std::is_same_v<T, bfloat16>) return UniformBfloat16(x);
    if constexpr (std::is_same_v<T, float>) return UniformFloat(x);
  }
};

template <typename T>
struct NormalDistribution {
  static constexpr int kGroup = kValuesPerSample<T>;
  static constexpr bool kVariable = false;
  static void Make(const Philox::Sample& x, T* out) {
    if constexpr (std::is_same_v<T, double>) {
      NormalDoubles(x, &out[0], &out[1]);
    } else {
      for (int i = 0; i < 4; i += 2) {
        float value[2];
        NormalFloats(x[i], x[i + 1], &value[0], &value[1]);
        out[i] = static_cast<T>(value[0]);
        out[i + 1] = static_cast<T>(value[1]);
      }
    }
  }
};

// Normal numbers with an absolute value of 2 or more are redrawn.
template <typename T>
struct TruncatedNormalDistribution {
  static constexpr int kGroup = kValuesPerSample<T>;
  static constexpr bool kVariable = true;
  static void Make(PhiloxNumbers& numbers, T* out) {
    for (int made = 0; made < kGroup;) {
      std::conditional_t<std::is_same_v<T, double>, double, float> value[2];
      Pair(numbers, value);
      for (int i = 0; i < 2 && made < kGroup; ++i) {
        if (std::abs(value[i]) < 2) out[made++] = static_cast<T>(value[i]);
      }
    }
  }

 private:
  static void Pair(PhiloxNumbers& numbers, double* value) {
    Philox::Sample x;
    for (uint32_t& number : x) number = numbers.Next();
    NormalDoubles(x, &value[0], &value[1]);
  }
  static void Pair(PhiloxNumbers& numbers, float* value) {
    const uint32_t x0 = numbers.Next();
    const uint32_t x1 = numbers.Next();
    NormalFloats(x0, x1, &value[0], &value[1]);
  }
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_RANDOM_DISTRIBUTIONS_H_
