// Kernels of host GPUs: the CPU kernels of the ops and types that TensorFlow or
// Weft runs on GPUs, so that placement matches real hardware.
#ifndef WEFT_LIBS_KERNELS_HOST_GPU_KERNELS_H_
#define WEFT_LIBS_KERNELS_HOST_GPU_KERNELS_H_

#include "libs/kernels/kernel_registry.h"

namespace weft {

// Registers CPU kernels of `registry` for "GPU", for the ops that TensorFlow
// (tensorflow_gpu_kernels.h) or Weft (cuda_kernel_types.h) runs on GPUs.
void RegisterHostGpuKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_HOST_GPU_KERNELS_H_
