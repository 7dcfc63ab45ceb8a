// NarrowSum sums half or bfloat16 numbers with the same bits as TensorFlow's
// Eigen on a CPU: each addition is rounded, and the lanes of a vector are
// summed in parallel. The result depends on the alignment of the numbers in
// vectors.
#ifndef WEFT_LIBS_KERNELS_COMMON_NARROW_SUM_H_
#define WEFT_LIBS_KERNELS_COMMON_NARROW_SUM_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "libs/kernels/isa/narrow_loops.h"
#include "libs/tensor/float16.h"

namespace weft {

template <typename T>
class NarrowSum {
 public:
  // Returns the sum of `n` numbers, the first of which has index `first` in its
  // tensor.
  static T Of(const T* x, int64_t n, int64_t first) {
    if (n <= kLanes * kMostVectors) return OfVectors(x, n);
    const int64_t middle = RoundUp(first + (n + 1) / 2);
    const int64_t left = std::min(middle - first, n);
    const T sum = Add(T(0.0f), Of(x, left, first));
    return left == n ? sum : Add(sum, Of(x + left, n - left, middle));
  }

  // Sets sums[i] to the sum of the `n` numbers of vector lane i, which are
  // `stride` apart, for each of `lanes` lanes.
  static void OfLanes(const T* x, int64_t n, int64_t stride, int64_t lanes,
                      T* sums) {
    const auto add_rows = BestNarrowLoops<T>().add_rows;
    std::fill(sums, sums + lanes, T(0.0f));
    if (n < kUnrolledFrom) return add_rows(x, n, stride, lanes, sums);
    const int64_t fourth = n / kUnrolled;
    add_rows(x, fourth, kUnrolled * stride, lanes, sums);
    std::vector<T> part(lanes);
    for (int64_t k = 1; k < kUnrolled; ++k) {
      std::fill(part.begin(), part.end(), T(0.0f));
      add_rows(x + k * stride, fourth, kUnrolled * stride, lanes, part.data());
      add_rows(part.data(), 1, lanes, lanes, sums);
    }
    const int64_t done = fourth * kUnrolled;
    add_rows(x + done * stride, n - done, stride, lanes, sums);
  }

  // Adds the numbers to `sum`, one after another.
  static T Continue(T sum, const T* x, int64_t n, int64_t stride) {
    for (int64_t i = 0; i < n; ++i) sum = Add(sum, x[i * stride]);
    return sum;
  }

  static constexpr int64_t kLanes = 8;

 private:
  // The maximum number of vectors that are summed at once. Longer sums are
  // split into two halves.
  static constexpr int64_t kMostVectors = std::is_same_v<T, half> ? 200 : 128;
  // From this length on, a lane is summed as kUnrolled lanes.
  static constexpr int64_t kUnrolledFrom = 16;
  // The number of vectors that are summed in parallel.
  static constexpr int64_t kUnrolled = 4;

  static T Add(T a, T b) {
    return T(static_cast<float>(a) + static_cast<float>(b));
  }
  static int64_t RoundUp(int64_t n) {
    return (n + kLanes - 1) / kLanes * kLanes;
  }

  static T OfVectors(const T* x, int64_t n) {
    constexpr int64_t kStep = kUnrolled * kLanes;
    const auto add_rows = BestNarrowLoops<T>().add_rows;
    T sums[kStep] = {};
    int64_t i = n / kStep * kStep;
    add_rows(x, n / kStep, kStep, kStep, sums);
    add_rows(sums + kLanes, kUnrolled - 1, kLanes, kLanes, sums);
    add_rows(x + i, (n - i) / kLanes, kLanes, kLanes, sums);
    i += (n - i) / kLanes * kLanes;
    T rest = T(0.0f);
    for (; i < n; ++i) rest = Add(rest, x[i]);
    return Add(OfVector(sums), rest);
  }

  // Returns the sum of the lanes of a vector, rounded once.
  static T OfVector(const T* lanes) {
    float sums[kLanes];
    std::copy_n(lanes, kLanes, sums);
    for (int64_t size = kLanes / 2; size > 0; size /= 2) {
      for (int64_t i = 0; i < size; ++i) sums[i] += sums[i + size];
    }
    return T(sums[0]);
  }
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_COMMON_NARROW_SUM_H_
