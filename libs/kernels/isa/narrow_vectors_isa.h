// Vectorized conversion of half and bfloat16 numbers to floats and back,
// rounded to nearest even. Only for the sources of
// weft_kernels_per_instruction_set, which name the set. Results depend on the
// number alone, and agree on each set with libs/tensor/float16.h (except that a
// signaling NaN of a half may be kept).
//
// Threads: pure functions.
#ifndef WEFT_LIBS_KERNELS_ISA_NARROW_VECTORS_ISA_H_
#define WEFT_LIBS_KERNELS_ISA_NARROW_VECTORS_ISA_H_

#include <stdint.h>
#include <string.h>

#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "libs/tensor/float16.h"

namespace weft::WEFT_ISA {

template <typename T>
inline constexpr bool kIsNarrow = false;
template <>
inline constexpr bool kIsNarrow<half> = true;
template <>
inline constexpr bool kIsNarrow<bfloat16> = true;

namespace narrow_vectors {

inline float OfBits(uint32_t bits) { return __builtin_bit_cast(float, bits); }
inline uint32_t BitsOf(float x) { return __builtin_bit_cast(uint32_t, x); }

inline float WidenOne(bfloat16 x) { return OfBits(uint32_t{x.bits} << 16); }

inline uint16_t NarrowBits(float x, bfloat16) {
  const uint32_t bits = BitsOf(x);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
  return static_cast<uint16_t>(is_nan ? 0x7fc0 : rounded);
}

#if !defined(__F16C__)

// Without branches, so that the compiler vectorizes it.
inline float WidenOne(half x) {
  const uint32_t magnitude = x.bits & 0x7fff;
  const uint32_t small =
      BitsOf(static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f);
  const uint32_t normal = (magnitude << 13) + (112u << 23);
  const uint32_t quiet = magnitude > 0x7c00 ? 0x400000 : 0;
  const uint32_t large = (magnitude << 13) | 0x7f800000 | quiet;
  const uint32_t finite = magnitude < 0x400 ? small : normal;
  const uint32_t sign = (uint32_t{x.bits} & 0x8000) << 16;
  return OfBits(sign | (magnitude >= 0x7c00 ? large : finite));
}

inline uint16_t NarrowBits(float x, half) {
  const uint32_t bits = BitsOf(x);
  const uint32_t magnitude = bits & 0x7fffffff;
  // Adding 0.5 aligns the bits with those of a number below 2^-14.
  const uint32_t small = BitsOf(OfBits(magnitude) + 0.5f) - 0x3f000000;
  const uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  const uint32_t normal = (rounded - (112u << 23)) >> 13;
  const uint32_t nan = 0x7e00 | ((magnitude >> 13) & 0x1ff);
  const uint32_t endless = magnitude > 0x7f800000 ? nan : 0x7c00;
  const uint32_t finite = magnitude < 0x38800000 ? small : normal;
  const uint32_t result = magnitude >= 0x47800000 ? endless : finite;
  return static_cast<uint16_t>(((bits >> 16) & 0x8000) | result);
}

#else

// CPU instructions that convert one vector of floats.
#if defined(__AVX512F__)
inline constexpr int64_t kHalves = 16;
inline void WidenVector(const half* x, float* out) {
  _mm512_storeu_ps(
      out,
      _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x))));
}
inline void NarrowVector(const float* x, half* out) {
  _mm256_storeu_si256(
      reinterpret_cast<__m256i*>(out),
      _mm512_cvtps_ph(_mm512_loadu_ps(x), _MM_FROUND_TO_NEAREST_INT));
}
#else
inline constexpr int64_t kHalves = 8;
inline void WidenVector(const half* x, float* out) {
  _mm256_storeu_ps(
      out,
      _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x))));
}
inline void NarrowVector(const float* x, half* out) {
  _mm_storeu_si128(
      reinterpret_cast<__m128i*>(out),
      _mm256_cvtps_ph(_mm256_loadu_ps(x), _MM_FROUND_TO_NEAREST_INT));
}
#endif

#endif  // __F16C__

}  // namespace narrow_vectors

// out[i] = x[i] for i in [0, n). They don't overlap.
inline void Widen(const bfloat16* x, float* out, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = narrow_vectors::WidenOne(x[i]);
}
inline void Narrow(const float* x, bfloat16* out, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    out[i].bits = narrow_vectors::NarrowBits(x[i], bfloat16());
  }
}

#if !defined(__F16C__)

inline void Widen(const half* x, float* out, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = narrow_vectors::WidenOne(x[i]);
}
inline void Narrow(const float* x, half* out, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    out[i].bits = narrow_vectors::NarrowBits(x[i], half());
  }
}

#else

inline void Widen(const half* x, float* out, int64_t n) {
  using namespace narrow_vectors;
  int64_t i = 0;
  for (; i + kHalves <= n; i += kHalves) WidenVector(x + i, out + i);
  if (i == n) return;
  const size_t rest = static_cast<size_t>(n - i);
  half from[kHalves] = {};
  float to[kHalves];
  memcpy(from, x + i, rest * sizeof(half));
  WidenVector(from, to);
  memcpy(out + i, to, rest * sizeof(float));
}
inline void Narrow(const float* x, half* out, int64_t n) {
  using namespace narrow_vectors;
  int64_t i = 0;
  for (; i + kHalves <= n; i += kHalves) NarrowVector(x + i, out + i);
  if (i == n) return;
  const size_t rest = static_cast<size_t>(n - i);
  float from[kHalves] = {};
  half to[kHalves];
  memcpy(from, x + i, rest * sizeof(float));
  NarrowVector(from, to);
  memcpy(out + i, to, rest * sizeof(half));
}

#endif  // __F16C__

}  // namespace weft::WEFT_ISA

#endif  // WEFT_LIBS_KERNELS_ISA_NARROW_VECTORS_ISA_H_
