// The resource family of kernels: what outlives a kernel and is no variable.
// Each function is in the file of its name (NOUN_kernels.cc).
#ifndef WEFT_LIBS_KERNELS_RESOURCE_RESOURCE_KERNELS_H_
#define WEFT_LIBS_KERNELS_RESOURCE_RESOURCE_KERNELS_H_

#include "libs/kernels/kernel_registry.h"

namespace weft {

// All of them.
void RegisterResourceKernels(KernelRegistry& registry);

void RegisterAccumulatorKernels(KernelRegistry& registry);
void RegisterBarrierKernels(KernelRegistry& registry);
// Lookup tables.
void RegisterLookupKernels(KernelRegistry& registry);
void RegisterQueueKernels(KernelRegistry& registry);
void RegisterStackKernels(KernelRegistry& registry);
void RegisterStagingKernels(KernelRegistry& registry);
void RegisterTensorArrayKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_RESOURCE_RESOURCE_KERNELS_H_
