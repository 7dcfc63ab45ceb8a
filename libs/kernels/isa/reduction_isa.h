// Loops of reductions over float and double that are worth their own code for
// each instruction set (weft::v1, weft::v3, weft::v4).
//
// Threads: pure functions. A NaN anywhere is the result, also of Max and Min.
// The order in which elements are combined depends on the sizes alone.
#ifndef WEFT_LIBS_KERNELS_ISA_REDUCTION_ISA_H_
#define WEFT_LIBS_KERNELS_ISA_REDUCTION_ISA_H_

#include <cstdint>

#include "libs/kernels/isa/per_instruction_set.h"

namespace weft {

enum class ReductionOp { kSum, kProd, kMax, kMin };

template <typename T>
struct ReductionLoops {
  // Elements next to each other, to one; n > 0.
  T (*run)(const T* x, int64_t n);
  // result[j] is combined with each x[i * stride + j], for i in [0, rows) and j
  // in [0, n).
  void (*rows)(const T* x, int64_t rows, int64_t stride, int64_t n, T* result);
};

WEFT_PER_INSTRUCTION_SET(
    void FillReductionLoops(ReductionOp op, ReductionLoops<float>* loops);
    void FillReductionLoops(ReductionOp op, ReductionLoops<double>* loops);)

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ISA_REDUCTION_ISA_H_
