// NarrowSum: the sum of half or bfloat16 numbers as TensorFlow's Eigen makes it
// on a CPU, to the bit: each addition is rounded, and lanes of a vector are
// added up side by side. How they lie in vectors shows in the result.
#ifndef WEFT_LIBS_KERNELS_NARROW_SUM_H_
#define WEFT_LIBS_KERNELS_NARROW_SUM_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "libs/tensor/float16.h"

namespace weft {

template <typename T>
class NarrowSum {
 public:
  // Of `n` numbers, the first of which is number `first` of its tensor.
  static T Of(const T* x, int64_t n, int64_t first) {
    if (n <= kLanes * kMostVectors) return OfVectors(x, n);
    const int64_t middle = RoundUp(first + (n + 1) / 2);
    const int64_t left = std::min(middle - first, n);
    const T sum = Add(T(0.0f), Of(x, left, first));
    return left == n ? sum : Add(sum, Of(x + left, n - left, middle));
  }

  // The numbers in one lane of a vector, `stride` apart.
  static T OfLane(const T* x, int64_t n, int64_t stride) {
    if (n < kUnrolledFrom) return Continue(T(0.0f), x, n, stride);
    const int64_t unrolled = n / kUnrolled * kUnrolled;
    T sum = EveryFourth(x, unrolled, stride);
    for (int64_t k = 1; k < kUnrolled; ++k) {
      sum = Add(sum, EveryFourth(x + k * stride, unrolled, stride));
    }
    return Continue(sum, x + unrolled * stride, n - unrolled, stride);
  }

  // `sum` and the numbers, one after the other.
  static T Continue(T sum, const T* x, int64_t n, int64_t stride) {
    for (int64_t i = 0; i < n; ++i) sum = Add(sum, x[i * stride]);
    return sum;
  }

  static constexpr int64_t kLanes = 8;

 private:
  // A longer sum is that of two halves.
  static constexpr int64_t kMostVectors = std::is_same_v<T, half> ? 200 : 128;
  // So many numbers of a lane are summed as those of kUnrolled lanes.
  static constexpr int64_t kUnrolledFrom = 16;
  // Vectors that are summed side by side.
  static constexpr int64_t kUnrolled = 4;

  struct Vector {
    T lanes[kLanes] = {};
    void Add(const T* x) {
      for (int64_t i = 0; i < kLanes; ++i) {
        lanes[i] = NarrowSum::Add(lanes[i], x[i]);
      }
    }
  };

  static T Add(T a, T b) {
    return T(static_cast<float>(a) + static_cast<float>(b));
  }
  static T EveryFourth(const T* x, int64_t n, int64_t stride) {
    return Continue(T(0.0f), x, n / kUnrolled, kUnrolled * stride);
  }
  static int64_t RoundUp(int64_t n) {
    return (n + kLanes - 1) / kLanes * kLanes;
  }

  static T OfVectors(const T* x, int64_t n) {
    constexpr int64_t kStep = kUnrolled * kLanes;
    Vector sums[kUnrolled];
    int64_t i = 0;
    for (; i + kStep <= n; i += kStep) {
      for (int64_t k = 0; k < kUnrolled; ++k) sums[k].Add(x + i + k * kLanes);
    }
    for (int64_t k = 1; k < kUnrolled; ++k) sums[0].Add(sums[k].lanes);
    for (; i + kLanes <= n; i += kLanes) sums[0].Add(x + i);
    T rest = T(0.0f);
    for (; i < n; ++i) rest = Add(rest, x[i]);
    return Add(OfLanes(sums[0].lanes), rest);
  }

  // Rounded once.
  static T OfLanes(const T* lanes) {
    float sums[kLanes];
    std::copy_n(lanes, kLanes, sums);
    for (int64_t size = kLanes / 2; size > 0; size /= 2) {
      for (int64_t i = 0; i < size; ++i) sums[i] += sums[i + size];
    }
    return T(sums[0]);
  }
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_NARROW_SUM_H_
