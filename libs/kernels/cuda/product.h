// Launches of matrix products: by cuBLAS, or by Weft's own kernel without it.
#ifndef WEFT_LIBS_KERNELS_CUDA_PRODUCT_H_
#define WEFT_LIBS_KERNELS_CUDA_PRODUCT_H_

#include "absl/status/status.h"
#include "libs/device/cuda/cuda_blas.h"
#include "libs/kernels/op_kernel.h"

namespace weft {

// REQUIRES: the result is not empty. k may be 0.
absl::Status MultiplyMatrices(const OpKernelContext& context,
                              const CudaProduct& product, const void* a,
                              const void* b, void* c);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_CUDA_PRODUCT_H_
