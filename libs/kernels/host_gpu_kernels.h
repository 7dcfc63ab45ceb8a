// Kernels of GPUs that are backed by host memory: those of the CPU, for the ops
// and types that TensorFlow, or Weft, runs on a GPU, so that placement comes
// out as it would with the hardware.
#ifndef WEFT_LIBS_KERNELS_HOST_GPU_KERNELS_H_
#define WEFT_LIBS_KERNELS_HOST_GPU_KERNELS_H_

#include "libs/kernels/kernel_registry.h"

namespace weft {

// Registers for "GPU" what `registry` has for "CPU" by now, as far as
// TensorFlow has it for GPUs (tensorflow_gpu_kernels.h) or Weft has
// (cuda_kernel_types.h).
void RegisterHostGpuKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_HOST_GPU_KERNELS_H_
