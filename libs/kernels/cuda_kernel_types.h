// Which ops Weft has kernels of its own of for CUDA's GPUs, and for which
// types: what libs/kernels/cuda registers, written down so that GPUs which the
// host plays take the same, also where it was not built. cuda_platform_test
// holds it against the registry, and prints it when it is another.
#ifndef WEFT_LIBS_KERNELS_CUDA_KERNEL_TYPES_H_
#define WEFT_LIBS_KERNELS_CUDA_KERNEL_TYPES_H_

#include "absl/types/span.h"
#include "libs/kernels/tensorflow_gpu_kernels.h"

namespace weft {

// As AllTensorFlowGpuKernels.
absl::Span<const TensorFlowGpuKernels> AllCudaKernels();

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_CUDA_KERNEL_TYPES_H_
