// Kernels of device type "GPU" for CudaDevice (libs/device/cuda): they launch
// on the device's compute stream and never wait for it.
#ifndef WEFT_LIBS_KERNELS_CUDA_CUDA_KERNELS_H_
#define WEFT_LIBS_KERNELS_CUDA_CUDA_KERNELS_H_

#include "libs/kernels/kernel_registry.h"

namespace weft {

// Registers all of them; none if Weft was built without CUDA.
void RegisterCudaKernels(KernelRegistry& registry);

// One family each; only available in builds with CUDA.
void RegisterCudaMathKernels(KernelRegistry& registry);
// Cast, Select, Fill, AddN, logic.
void RegisterCudaMoveKernels(KernelRegistry& registry);
void RegisterCudaReductionKernels(KernelRegistry& registry);
void RegisterCudaLinalgKernels(KernelRegistry& registry);
void RegisterCudaNnKernels(KernelRegistry& registry);
void RegisterCudaArrayKernels(KernelRegistry& registry);
void RegisterCudaSegmentKernels(KernelRegistry& registry);
void RegisterCudaTensorArrayKernels(KernelRegistry& registry);
void RegisterCudaTrainingKernels(KernelRegistry& registry);
void RegisterCudaStateKernels(KernelRegistry& registry);
void RegisterCudaRandomKernels(KernelRegistry& registry);
// Convolutions, including depthwise ones, and pools.
void RegisterCudaConvolutionKernels(KernelRegistry& registry);
void RegisterCudaPoolKernels(KernelRegistry& registry);
void RegisterCudaNormKernels(KernelRegistry& registry);
void RegisterCudaLineKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_CUDA_CUDA_KERNELS_H_
