// Checks of operands for CPU and GPU kernels. Errors are INVALID_ARGUMENT, with
// TensorFlow's texts.
#ifndef WEFT_LIBS_KERNELS_MATH_OPERAND_CHECKS_H_
#define WEFT_LIBS_KERNELS_MATH_OPERAND_CHECKS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "libs/kernels/isa/matmul_isa.h"
#include "libs/kernels/op_kernel.h"
#include "libs/tensor/shape.h"

namespace weft {

// MatMul takes matrices.
absl::Status CheckMatrices(const TensorShape& a, const TensorShape& b);

// All dimensions of BatchMatMul but the last two. REQUIRES: CheckBatches.
TensorShape BatchShape(const TensorShape& shape);
// BatchMatMulV2 broadcasts the batch dimensions.
absl::Status CheckBatches(const TensorShape& x, const TensorShape& y,
                          bool broadcasts);

// The product of the last two dimensions: [m, k] by [k, n].
struct ProductSizes {
  int64_t m, k, n;
};
// REQUIRES: ranks of 2 and more.
absl::StatusOr<ProductSizes> SizesOfProduct(const TensorShape& a,
                                            const TensorShape& b,
                                            bool transpose_a, bool transpose_b);

// Like SizesOfProduct, for the CPU's products (libs/kernels/math/gemm.h).
absl::StatusOr<MatMulArgs> ProductOf(const TensorShape& a, const TensorShape& b,
                                     bool transpose_a, bool transpose_b);

// The error for inputs `first` and `second` of a Select or an AddN that do not
// fit.
absl::Status SizesDiffer(const OpKernelContext& context, int first,
                         const TensorShape& a, int second,
                         const TensorShape& b);

// ClipByValue's bounds are scalars or of the shape of input 0.
absl::Status CheckClipBounds(const OpKernelContext& context);

// The number of mantissa bits that `to` lacks compared with float or double;
// attr Truncate of Cast sets them to zero first, so that nothing is rounded.
int LostBits(DataType from, DataType to);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_MATH_OPERAND_CHECKS_H_
