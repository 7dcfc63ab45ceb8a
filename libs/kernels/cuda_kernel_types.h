// The ops and types for which Weft has its own CUDA kernels. The list repeats
// the registrations of libs/kernels/cuda, so that host GPUs support the
// same ops even if CUDA kernels were not built. cuda_platform_test compares it
// with the registry, and prints the right list if they differ.
#ifndef WEFT_LIBS_KERNELS_CUDA_KERNEL_TYPES_H_
#define WEFT_LIBS_KERNELS_CUDA_KERNEL_TYPES_H_

#include "absl/types/span.h"
#include "libs/kernels/tensorflow_gpu_kernels.h"

namespace weft {

// Returns the ops and types, in the format of AllTensorFlowGpuKernels.
absl::Span<const TensorFlowGpuKernels> AllCudaKernels();

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_CUDA_KERNEL_TYPES_H_
