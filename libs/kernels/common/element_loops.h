// ElementKernel is a kernel that processes its operands element by element, and
// exposes its loop. A fused kernel can then apply several such loops to a block
// of elements while it is in the cache, with bitwise equal results.
#ifndef WEFT_LIBS_KERNELS_COMMON_ELEMENT_LOOPS_H_
#define WEFT_LIBS_KERNELS_COMMON_ELEMENT_LOOPS_H_

#include <cstdint>

#include "libs/kernels/isa/elementwise_isa.h"
#include "libs/kernels/op_kernel.h"

namespace weft {

// out[i] = f(x[i], y[i]) for i in [0, n).
using PairLoop = void (*)(const void* x, const void* y, void* out, int64_t n);
// out[r][c] = f(x[r][c], row[c])
using RowsLoop = void (*)(const void* x, const void* row, void* out,
                          int64_t rows, int64_t columns);

// The loops of a kernel, of which at most one is set. `out` may be the memory
// of an operand.
struct ElementLoops {
  UnaryLoop unary = nullptr;
  BinaryLoop binary = nullptr;  // operands of different shapes broadcast
  PairLoop pair = nullptr;      // operands have the same shape
  RowsLoop rows = nullptr;      // y has one element for each of x's last dim

  // Returns whether the kernel has a loop for its attrs.
  bool any() const { return unary || binary || pair || rows; }
  int num_operands() const { return unary ? 1 : 2; }
};

class ElementKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  virtual ElementLoops loops() const = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_COMMON_ELEMENT_LOOPS_H_
