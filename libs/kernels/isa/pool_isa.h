// Loops of pools over float and double that are worth their own code for each
// instruction set (weft::v1, weft::v3, weft::v4).
//
// Threads: pure functions.
#ifndef WEFT_LIBS_KERNELS_ISA_POOL_ISA_H_
#define WEFT_LIBS_KERNELS_ISA_POOL_ISA_H_

#include <cstdint>

#include "libs/kernels/isa/per_instruction_set.h"

namespace weft {

// The part of a window that is inside its image: pixels of `channels` elements,
// those of a row next to each other.
struct PoolWindow {
  int64_t rows, columns;  // neither is 0
  int64_t row_stride;     // in elements
  int64_t channels;
};

template <typename T>
struct PoolLoops {
  // out[c] = the largest of the window's elements of channel c, the first of
  // equal ones; the lowest finite number where there is nothing above it, for a
  // NaN is larger than nothing.
  void (*max)(const PoolWindow& window, const T* x, T* out);
  // out[c] = their mean.
  void (*mean)(const PoolWindow& window, const T* x, T* out);
  // out[p][c] += gradient[c], where p is the place of the first of the largest
  // elements of channel c, as `out` is laid out like `x`; nothing is larger
  // than a NaN in the first place.
  // REQUIRES: rows * row_stride fits 31 bits.
  void (*add_max_gradient)(const PoolWindow& window, const T* x,
                           const T* gradient, T* out);
  // The same where all of the window's elements of `out` are 0, which they need
  // not be yet.
  void (*write_max_gradient)(const PoolWindow& window, const T* x,
                             const T* gradient, T* out);
};

WEFT_PER_INSTRUCTION_SET(void FillPoolLoops(PoolLoops<float>* loops);
                         void FillPoolLoops(PoolLoops<double>* loops);)

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ISA_POOL_ISA_H_
