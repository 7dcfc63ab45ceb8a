// Launches that change rows of a tensor, with their scratch memory. All REQUIRE
// that at least one row changes. An index out of range is ignored. Changes of
// one row are made in the order of the indices, so that all runs give the same
// bits.
#ifndef WEFT_LIBS_KERNELS_CUDA_ROW_CHANGES_H_
#define WEFT_LIBS_KERNELS_CUDA_ROW_CHANGES_H_

#include "absl/status/statusor.h"
#include "libs/kernels/cuda/training.cu.h"
#include "libs/kernels/op_kernel.h"

namespace weft {

// The order is in `scratch`, which may be dropped once its users are launched.
// UNIMPLEMENTED if rows times indices exceeds 2^63.
absl::StatusOr<cuda::RowOrder> OrderRows(OpKernelContext& context,
                                         const cuda::Rows& rows,
                                         Tensor& scratch);

// Adds or subtracts the rows of `by`, or the scalar `by`. REQUIRES: both have a
// type of LaunchRowSum.
absl::Status SumRows(OpKernelContext& context, cuda::Change change,
                     const cuda::Rows& rows, const Tensor& by, bool is_scalar,
                     Tensor& to);

// Combines with the rows of `by`, in order. Floats.
absl::Status ReduceRows(OpKernelContext& context, cuda::RowReduction op,
                        const cuda::Rows& rows, const Tensor& by, Tensor& to);

// Replaces each row by the last row of `by` for it.
absl::Status ReplaceRows(OpKernelContext& context, const cuda::Rows& rows,
                         const Tensor& by, bool is_scalar, Tensor& to);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_CUDA_ROW_CHANGES_H_
