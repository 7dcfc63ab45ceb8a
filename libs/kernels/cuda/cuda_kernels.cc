#include "libs/kernels/cuda/cuda_kernels.h"

namespace weft {

void RegisterCudaKernels([[maybe_unused]] KernelRegistry& registry) {
#ifdef WEFT_HAVE_CUDA
  RegisterCudaMathKernels(registry);
  RegisterCudaMoveKernels(registry);
  RegisterCudaReductionKernels(registry);
  RegisterCudaLinalgKernels(registry);
  RegisterCudaNnKernels(registry);
  RegisterCudaConvolutionKernels(registry);
  RegisterCudaPoolKernels(registry);
  RegisterCudaNormKernels(registry);
  RegisterCudaLineKernels(registry);
  RegisterCudaArrayKernels(registry);
  RegisterCudaSegmentKernels(registry);
  RegisterCudaTensorArrayKernels(registry);
  RegisterCudaTrainingKernels(registry);
  RegisterCudaStateKernels(registry);
  RegisterCudaRandomKernels(registry);
#endif
}

}  // namespace weft
