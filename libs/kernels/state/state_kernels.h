// The state family of kernels, each function in the file of its name
// (NOUN_kernels.cc).
#ifndef WEFT_LIBS_KERNELS_STATE_STATE_KERNELS_H_
#define WEFT_LIBS_KERNELS_STATE_STATE_KERNELS_H_

#include "libs/kernels/kernel_registry.h"

namespace weft {

// All of them.
void RegisterStateKernels(KernelRegistry& registry);

void RegisterReferenceVariableKernels(KernelRegistry& registry);
void RegisterResourceVariableKernels(KernelRegistry& registry);
// Adding and counting, in both families.
void RegisterStateUpdateKernels(KernelRegistry& registry);
// Scatter and gather, in both families.
void RegisterStateRowKernels(KernelRegistry& registry);
// ScatterNd, in both families.
void RegisterStateScatterNdKernels(KernelRegistry& registry);
// Parts that are slices, in both families.
void RegisterStateSliceAssignKernels(KernelRegistry& registry);
// What waits for values, in both families.
void RegisterStateWaitKernels(KernelRegistry& registry);
// Variables that live as long as a step.
void RegisterTemporaryVariableKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_STATE_STATE_KERNELS_H_
