// Loops of pools over float and double, compiled for each instruction set
// (weft::v1, weft::v3, weft::v4).
//
// Threads: pure functions.
#ifndef WEFT_LIBS_KERNELS_ISA_POOL_ISA_H_
#define WEFT_LIBS_KERNELS_ISA_POOL_ISA_H_

#include <cstdint>

#include "libs/kernels/isa/per_instruction_set.h"

namespace weft {

// The part of a window inside its image: pixels of `channels` elements; the
// pixels of a row are contiguous.
struct PoolWindow {
  int64_t rows, columns;  // neither is 0
  int64_t row_stride;     // in elements
  int64_t channels;
};

template <typename T>
struct PoolLoops {
  // out[c] = the maximum of channel c in the window, the first of equal ones.
  // If no element is larger than the lowest finite number, the result is that
  // number, because NaN does not compare larger.
  void (*max)(const PoolWindow& window, const T* x, T* out);
  // out[c] = the mean of channel c in the window.
  void (*mean)(const PoolWindow& window, const T* x, T* out);
  // out[p][c] += gradient[c], where p is the position of the first maximum of
  // channel c; `out` has the layout of `x`. No element replaces a NaN in the
  // first position. REQUIRES: rows * row_stride fits 31 bits.
  void (*add_max_gradient)(const PoolWindow& window, const T* x,
                           const T* gradient, T* out);
  // Like add_max_gradient as if all elements of `out` in the window were 0;
  // they need not be initialized.
  void (*write_max_gradient)(const PoolWindow& window, const T* x,
                             const T* gradient, T* out);
};

WEFT_PER_INSTRUCTION_SET(void FillPoolLoops(PoolLoops<float>* loops);
                         void FillPoolLoops(PoolLoops<double>* loops);)

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ISA_POOL_ISA_H_
