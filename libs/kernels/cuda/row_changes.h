// Launches changes of some rows of a tensor, with the scratch memory that they
// need. All REQUIRE that something changes. An index that is out of range
// changes nothing; what changes one row is done in the order of the indices, so
// each run gives the same bits.
#ifndef WEFT_LIBS_KERNELS_CUDA_ROW_CHANGES_H_
#define WEFT_LIBS_KERNELS_CUDA_ROW_CHANGES_H_

#include "absl/status/statusor.h"
#include "libs/kernels/cuda/training.cu.h"
#include "libs/kernels/op_kernel.h"

namespace weft {

// The order lies in `scratch`, which may be dropped when what uses it is
// launched. UNIMPLEMENTED for more rows times indices than 2^63.
absl::StatusOr<cuda::RowOrder> OrderRows(OpKernelContext& context,
                                         const cuda::Rows& rows,
                                         Tensor& scratch);

// Adds the rows of `by`, or subtracts them; or the scalar `by`. REQUIRES: both
// are of one of the types of LaunchRowSum.
absl::Status SumRows(OpKernelContext& context, cuda::Change change,
                     const cuda::Rows& rows, const Tensor& by, bool is_scalar,
                     Tensor& to);

// Takes in the rows of `by`, one after the other. Floats.
absl::Status ReduceRows(OpKernelContext& context, cuda::RowReduction op,
                        const cuda::Rows& rows, const Tensor& by, Tensor& to);

// The last row of `by` for a row replaces it.
absl::Status ReplaceRows(OpKernelContext& context, const cuda::Rows& rows,
                         const Tensor& by, bool is_scalar, Tensor& to);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_CUDA_ROW_CHANGES_H_
