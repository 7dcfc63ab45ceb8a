// Launches of reductions, with their scratch memory.
#ifndef WEFT_LIBS_KERNELS_CUDA_REDUCE_H_
#define WEFT_LIBS_KERNELS_CUDA_REDUCE_H_

#include "absl/status/status.h"
#include "libs/kernels/cuda/math.cu.h"
#include "libs/kernels/op_kernel.h"

namespace weft {

// Adds an outermost dimension; UNIMPLEMENTED if there are too many.
absl::Status AddDim(cuda::Dims& dims, int64_t size, int64_t stride);

// REQUIRES: `out` has elements. The type is that of `x`.
absl::Status Reduce(OpKernelContext& context, cuda::ReductionArgs args,
                    const Tensor& x, Tensor& out);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_CUDA_REDUCE_H_
