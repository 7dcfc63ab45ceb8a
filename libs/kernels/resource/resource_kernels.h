// Registration of the kernels of resources other than variables; groups are in
// files of their names (NOUN_kernels.cc).
#ifndef WEFT_LIBS_KERNELS_RESOURCE_RESOURCE_KERNELS_H_
#define WEFT_LIBS_KERNELS_RESOURCE_RESOURCE_KERNELS_H_

#include "libs/kernels/kernel_registry.h"

namespace weft {

// Registers all resource kernels.
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
