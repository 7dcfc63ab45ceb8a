// Loops that convert half and bfloat16 numbers to floats and back, and sum them
// as such, compiled for each instruction set (weft::v1, weft::v3, weft::v4).
//
// Threads: pure functions.
#ifndef WEFT_LIBS_KERNELS_ISA_NARROW_ISA_H_
#define WEFT_LIBS_KERNELS_ISA_NARROW_ISA_H_

#include <cstdint>

#include "libs/kernels/isa/per_instruction_set.h"
#include "libs/tensor/float16.h"

namespace weft {

template <typename T>
struct NarrowLoops {
  // out[i] = x[i] for i in [0, n); the second rounds to nearest even. `x` and
  // `out` do not overlap.
  void (*widen)(const T* x, float* out, int64_t n);
  void (*narrow)(const float* x, T* out, int64_t n);
  // sums[j] = sums[j] + x[i * stride + j], rounded each time, for i in [0,
  // rows) in order and j in [0, n).
  void (*add_rows)(const T* x, int64_t rows, int64_t stride, int64_t n,
                   T* sums);
};

WEFT_PER_INSTRUCTION_SET(void FillNarrowLoops(NarrowLoops<half>* loops);
                         void FillNarrowLoops(NarrowLoops<bfloat16>* loops);)

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ISA_NARROW_ISA_H_
