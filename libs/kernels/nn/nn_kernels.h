// Registration of the nn kernels; groups are in files of their names
// (NOUN_kernels.cc).
#ifndef WEFT_LIBS_KERNELS_NN_NN_KERNELS_H_
#define WEFT_LIBS_KERNELS_NN_NN_KERNELS_H_

#include "libs/kernels/kernel_registry.h"

namespace weft {

// Registers all nn kernels.
void RegisterNnKernels(KernelRegistry& registry);

void RegisterActivationKernels(KernelRegistry& registry);
void RegisterBiasKernels(KernelRegistry& registry);
void RegisterConvolutionKernels(KernelRegistry& registry);
void RegisterDepthwiseKernels(KernelRegistry& registry);
// Fused kernels create kernels of other nodes at run time: the registry must
// outlive them, and must not move.
void RegisterFusedKernels(KernelRegistry& registry);
// LRN and batch normalization.
void RegisterBatchNormKernels(KernelRegistry& registry);
void RegisterNormalizationKernels(KernelRegistry& registry);
void RegisterPoolKernels(KernelRegistry& registry);
void RegisterSoftmaxKernels(KernelRegistry& registry);
void RegisterTopKKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_NN_NN_KERNELS_H_
