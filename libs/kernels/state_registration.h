// The parts of the state family of kernels, each in the file of its name.
#ifndef WEFT_LIBS_KERNELS_STATE_REGISTRATION_H_
#define WEFT_LIBS_KERNELS_STATE_REGISTRATION_H_

#include "libs/kernels/kernel_registry.h"

namespace weft {

void RegisterReferenceKernels(KernelRegistry& registry);
void RegisterResourceKernels(KernelRegistry& registry);
// Adding and counting, in both families.
void RegisterStateUpdateKernels(KernelRegistry& registry);
// Scatter and gather, in both families.
void RegisterStateRowKernels(KernelRegistry& registry);
// ScatterNd, in both families.
void RegisterStateScatterNdKernels(KernelRegistry& registry);
// Variables that live as long as a step.
void RegisterTemporaryVariableKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_STATE_REGISTRATION_H_
