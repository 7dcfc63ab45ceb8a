// Matrix products on plain pointers, compiled once for each instruction set
// (weft::v1, weft::v3, weft::v4). Called through libs/kernels/math/gemm.h only.
//
// Threads: pure functions.
#ifndef WEFT_LIBS_KERNELS_ISA_MATMUL_ISA_H_
#define WEFT_LIBS_KERNELS_ISA_MATMUL_ISA_H_

#include <cstdint>

#include "libs/kernels/isa/per_instruction_set.h"

namespace weft {

// c[m, n] = op(a)[m, k] * op(b)[k, n]; all row-major. A stride is the distance
// between rows in memory; a transposed `a` is stored as [k, m].
struct MatMulArgs {
  int64_t m, n, k;
  bool transpose_a, transpose_b;
  int64_t a_stride, b_stride, c_stride;
  // Set for a part of a product, with the size of the whole. The choice of the
  // loop depends on the whole, so that all parts use the same loop. If
  // MatMulFunctions::is_by_element returns true, an element has the same bits
  // in parts of any size. Otherwise a loop may sum an element in an order that
  // depends on its position in the part; the number of parts depends on the
  // number of threads, and equal numbers of threads give the same bits.
  bool is_part = false;
  int64_t all_rows = 0, all_columns = 0;

  // Always inlined, so that code for one instruction set is not shared.
  [[gnu::always_inline]] int64_t rows_of_whole() const {
    return is_part ? all_rows : m;
  }
  [[gnu::always_inline]] int64_t columns_of_whole() const {
    return is_part ? all_columns : n;
  }
};

struct MatMulFunctions {
  void (*float_product)(const MatMulArgs& args, const float* a, const float* b,
                        float* c);
  void (*double_product)(const MatMulArgs& args, const double* a,
                         const double* b, double* c);
  // Returns whether each element of that float product has the same bits
  // (except for the choice between two NaNs) whichever other elements are
  // computed with it, so that any part may be computed alone. Null: unknown.
  bool (*is_by_element)(const MatMulArgs& args) = nullptr;
};

WEFT_PER_INSTRUCTION_SET(MatMulFunctions MatMul();)

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ISA_MATMUL_ISA_H_
