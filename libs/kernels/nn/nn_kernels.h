// The nn family of kernels, each function in the file of its name
// (NOUN_kernels.cc).
#ifndef WEFT_LIBS_KERNELS_NN_NN_KERNELS_H_
#define WEFT_LIBS_KERNELS_NN_NN_KERNELS_H_

#include "libs/kernels/kernel_registry.h"

namespace weft {

// All of them.
void RegisterNnKernels(KernelRegistry& registry);

void RegisterActivationKernels(KernelRegistry& registry);
void RegisterBiasKernels(KernelRegistry& registry);
void RegisterConvolutionKernels(KernelRegistry& registry);
void RegisterDepthwiseKernels(KernelRegistry& registry);
// They make kernels of other nodes as they run: the registry outlives them, and
// stays where it is.
void RegisterFusedKernels(KernelRegistry& registry);
// LRN and batch normalization.
void RegisterBatchNormKernels(KernelRegistry& registry);
void RegisterNormalizationKernels(KernelRegistry& registry);
void RegisterPoolKernels(KernelRegistry& registry);
void RegisterSoftmaxKernels(KernelRegistry& registry);
void RegisterTopKKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_NN_NN_KERNELS_H_
