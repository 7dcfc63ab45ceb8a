// ElementKernel: a kernel that goes through its operands element by element,
// and shows the loop that it does so by: another kernel can then take a block
// of elements through several such loops while it is in the cache, and gives
// the same bits.
#ifndef WEFT_LIBS_KERNELS_ELEMENT_LOOPS_H_
#define WEFT_LIBS_KERNELS_ELEMENT_LOOPS_H_

#include <cstdint>

#include "libs/kernels/isa/elementwise_isa.h"
#include "libs/kernels/op_kernel.h"

namespace weft {

// out[i] = f(x[i], y[i]) for i in [0, n).
using PairLoop = void (*)(const void* x, const void* y, void* out, int64_t n);
// out[r][c] = f(x[r][c], row[c])
using RowsLoop = void (*)(const void* x, const void* row, void* out,
                          int64_t rows, int64_t columns);

// One of them. `out` may be an operand.
struct ElementLoops {
  UnaryLoop unary = nullptr;
  BinaryLoop binary = nullptr;  // operands that differ in shape broadcast
  PairLoop pair = nullptr;      // these may not differ
  RowsLoop rows = nullptr;      // y has one element for each of x's last dim

  // Of a kernel that can do it with its attrs.
  bool any() const { return unary || binary || pair || rows; }
  int num_operands() const { return unary ? 1 : 2; }
};

class ElementKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  virtual ElementLoops loops() const = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ELEMENT_LOOPS_H_
