// Helpers of SparseSegmentSum, Mean and SqrtN, their gradients, and fused
// lookups (libs/kernels/sparse/lookup_kernels.cc), so that all give the same
// bits; and the positions of elements.
//
// Threads: pure functions.
#ifndef WEFT_LIBS_KERNELS_ARRAY_CHOSEN_ROWS_H_
#define WEFT_LIBS_KERNELS_ARRAY_CHOSEN_ROWS_H_

#include <cmath>
#include <cstdint>

#include "libs/kernels/isa/reduction_loops.h"

namespace weft {

// The divisor of the sum of a segment's rows.
enum class SparseReduction { kSum, kMean, kSqrtN };

inline double Divisor(SparseReduction reduction, int64_t count) {
  switch (reduction) {
    case SparseReduction::kMean:
      return static_cast<double>(count);
    case SparseReduction::kSqrtN:
      return std::sqrt(static_cast<double>(count));
    case SparseReduction::kSum:
      break;
  }
  return 1;
}

// out[i] = out[i] + in[i] for floats or doubles; short runs are added without a
// call.
template <typename T>
void AddRowOfFloats(const T* in, int64_t length, T* out) {
  constexpr int64_t kFew = 16;
  if (length > kFew) {
    static const ReductionLoops<T> loops =
        BestReductionLoops<T>(ReductionOp::kSum);
    loops.rows(in, /*rows=*/1, length, length, out);
    return;
  }
  for (int64_t i = 0; i < length; ++i) out[i] = out[i] + in[i];
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ARRAY_CHOSEN_ROWS_H_
