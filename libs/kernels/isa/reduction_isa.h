// Loops of reductions over float and double, compiled for each instruction set
// (weft::v1, weft::v3, weft::v4).
//
// Threads: pure functions. Any NaN makes the result NaN, also for Max and Min.
// The order in which elements are combined depends on the sizes alone.
#ifndef WEFT_LIBS_KERNELS_ISA_REDUCTION_ISA_H_
#define WEFT_LIBS_KERNELS_ISA_REDUCTION_ISA_H_

#include <cstdint>

#include "libs/kernels/isa/per_instruction_set.h"

namespace weft {

enum class ReductionOp { kSum, kProd, kMax, kMin };

template <typename T>
struct ReductionLoops {
  // Reduces contiguous elements to one; n > 0.
  T (*run)(const T* x, int64_t n);
  // Combines result[j] with each x[i * stride + j], for i in [0, rows) and j in
  // [0, n).
  void (*rows)(const T* x, int64_t rows, int64_t stride, int64_t n, T* result);
};

WEFT_PER_INSTRUCTION_SET(
    void FillReductionLoops(ReductionOp op, ReductionLoops<float>* loops);
    void FillReductionLoops(ReductionOp op, ReductionLoops<double>* loops);)

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ISA_REDUCTION_ISA_H_
