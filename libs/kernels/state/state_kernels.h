// Registration of the kernels of variables; groups are in files of their names
// (NOUN_kernels.cc).
#ifndef WEFT_LIBS_KERNELS_STATE_STATE_KERNELS_H_
#define WEFT_LIBS_KERNELS_STATE_STATE_KERNELS_H_

#include "libs/kernels/kernel_registry.h"

namespace weft {

// Registers all state kernels.
void RegisterStateKernels(KernelRegistry& registry);

void RegisterReferenceVariableKernels(KernelRegistry& registry);
void RegisterResourceVariableKernels(KernelRegistry& registry);
// Addition and counting, for both kinds of variables.
void RegisterStateUpdateKernels(KernelRegistry& registry);
// Scatter and gather, for both kinds of variables.
void RegisterStateRowKernels(KernelRegistry& registry);
// ScatterNd, for both kinds of variables.
void RegisterStateScatterNdKernels(KernelRegistry& registry);
// Assignment to slices, for both kinds of variables.
void RegisterStateSliceAssignKernels(KernelRegistry& registry);
// Waits for values, for both kinds of variables.
void RegisterStateWaitKernels(KernelRegistry& registry);
// Variables that live as long as a step.
void RegisterTemporaryVariableKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_STATE_STATE_KERNELS_H_
