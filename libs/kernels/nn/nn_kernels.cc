#include "libs/kernels/nn/nn_kernels.h"

namespace weft {

void RegisterNnKernels(KernelRegistry& registry) {
  RegisterActivationKernels(registry);
  RegisterBiasKernels(registry);
  RegisterConvolutionKernels(registry);
  RegisterDepthwiseKernels(registry);
  RegisterFusedKernels(registry);
  RegisterBatchNormKernels(registry);
  RegisterNormalizationKernels(registry);
  RegisterPoolKernels(registry);
  RegisterSoftmaxKernels(registry);
  RegisterTopKKernels(registry);
}

}  // namespace weft
