// Computations along one line of numbers for GPU kernels and for tests on the
// CPU: LRN and the order of TopK.
#ifndef WEFT_LIBS_KERNELS_CUDA_LINE_SCALAR_H_
#define WEFT_LIBS_KERNELS_CUDA_LINE_SCALAR_H_

#include <cmath>
#include <cstdint>
#include <cstring>

#include "libs/kernels/cuda/host_device.h"

namespace weft::cuda {

// Normalization over `radius` neighboring channels on each side.
struct LrnArgs {
  int64_t pixels = 0, channels = 0, radius = 0;
  float bias = 1, alpha = 1, beta = 0.5f;

  WEFT_HOST_DEVICE int64_t Begin(int64_t c) const {
    return c > radius ? c - radius : 0;
  }
  WEFT_HOST_DEVICE int64_t End(int64_t c) const {
    return channels - c > radius ? c + radius + 1 : channels;
  }

  // `get(c)` returns the element of channel c of the pixel, as float.
  template <typename Get>
  WEFT_HOST_DEVICE float Norm(Get get, int64_t c) const {
    float sum = 0;
    for (int64_t k = Begin(c); k < End(c); ++k) sum += get(k) * get(k);
    return bias + alpha * sum;
  }
  template <typename Get>
  WEFT_HOST_DEVICE float Value(Get get, int64_t c) const {
    return get(c) * powf(Norm(get, c), -beta);
  }
  // The gradient at channel k, from all channels in whose neighborhood it is.
  template <typename In, typename Result, typename Gradient>
  WEFT_HOST_DEVICE float Slope(In in, Result result, Gradient gradient,
                               int64_t k) const {
    float sum = 0;
    for (int64_t c = Begin(k); c < End(k); ++c) {
      const float norm = Norm(in, c);
      float slope = -2 * alpha * beta * in(k)*result(c) / norm;
      if (k == c) slope += powf(norm, -beta);
      sum += slope * gradient(c);
    }
    return sum;
  }
};

// Returns whether `a` at position i precedes `b` at position j in descending
// order: NaNs are last, and equal elements keep their order.
template <typename T>
WEFT_HOST_DEVICE inline bool Precedes(T a, int64_t i, T b, int64_t j) {
  if (a > b) return true;
  if (a < b) return false;
  const bool a_is_number = a == a, b_is_number = b == b;
  if (a_is_number != b_is_number) return a_is_number;
  return i < j;
}

// Keys whose ascending order is that of Precedes without positions: equal
// numbers have equal keys.
WEFT_HOST_DEVICE inline uint64_t PrecedenceKey(int64_t x) {
  return ~(static_cast<uint64_t>(x) ^ uint64_t{1} << 63);
}
WEFT_HOST_DEVICE inline uint64_t PrecedenceKey(double x) {
  if (x != x) return ~uint64_t{0};
  if (x == 0) x = 0;  // zeros of both signs
  uint64_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  constexpr uint64_t kSign = uint64_t{1} << 63;
  return (bits & kSign) != 0 ? bits : ~(bits ^ kSign);
}
// The key has 32 bits.
WEFT_HOST_DEVICE inline uint64_t PrecedenceKey(float x) {
  if (x != x) return ~uint32_t{0};
  if (x == 0) x = 0;
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  constexpr uint32_t kSign = uint32_t{1} << 31;
  return (bits & kSign) != 0 ? bits : ~(bits ^ kSign);
}

}  // namespace weft::cuda

#endif  // WEFT_LIBS_KERNELS_CUDA_LINE_SCALAR_H_
