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
// between rows as they lie in memory; a transposed `a` lies there as [k, m].
struct MatMulArgs {
  int64_t m, n, k;
  bool transpose_a, transpose_b;
  int64_t a_stride, b_stride, c_stride;
  // Of a part of a product: the size of the whole, on which it depends by which
  // of the loops a product is computed, so that all its parts are computed by
  // the same. To the bit an element is the same in parts of any size where
  // MatMulFunctions::is_by_element says so. Elsewhere a loop may add up an
  // element in another order by where it lies in its part, and how many parts
  // there are depends on the number of threads; one number of them always gives
  // the same bits.
  bool is_part = false;
  int64_t all_rows = 0, all_columns = 0;

  // Inlined always: a copy for one instruction set may be nobody else's.
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
  // Whether each element of that product of floats is the same to the bit (but
  // for which of two NaNs it is) whichever others are computed with it: so any
  // part may be computed alone.
  // Null: nobody knows.
  bool (*is_by_element)(const MatMulArgs& args) = nullptr;
};

WEFT_PER_INSTRUCTION_SET(MatMulFunctions MatMul();)

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ISA_MATMUL_ISA_H_
