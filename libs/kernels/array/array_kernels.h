// Registration of the array kernels; groups are in files of their names
// (NOUN_kernels.cc).
#ifndef WEFT_LIBS_KERNELS_ARRAY_ARRAY_KERNELS_H_
#define WEFT_LIBS_KERNELS_ARRAY_ARRAY_KERNELS_H_

#include "libs/kernels/kernel_registry.h"

namespace weft {

// Registers all array kernels.
void RegisterArrayKernels(KernelRegistry& registry);

void RegisterArrayConstantKernels(KernelRegistry& registry);
void RegisterArrayIdentityKernels(KernelRegistry& registry);
void RegisterArrayShapeKernels(KernelRegistry& registry);
void RegisterArrayConcatKernels(KernelRegistry& registry);
void RegisterArraySplitKernels(KernelRegistry& registry);
void RegisterArrayTileKernels(KernelRegistry& registry);
void RegisterArraySliceKernels(KernelRegistry& registry);
void RegisterArrayGatherKernels(KernelRegistry& registry);
void RegisterArrayScatterKernels(KernelRegistry& registry);
void RegisterArrayTransposeKernels(KernelRegistry& registry);
void RegisterArrayReverseKernels(KernelRegistry& registry);
void RegisterArrayPadKernels(KernelRegistry& registry);
void RegisterArrayPartitionKernels(KernelRegistry& registry);
void RegisterArrayOneHotKernels(KernelRegistry& registry);
void RegisterArrayUniqueKernels(KernelRegistry& registry);
void RegisterArrayWhereKernels(KernelRegistry& registry);
void RegisterArrayDiagonalKernels(KernelRegistry& registry);
void RegisterArrayDiagonalBandKernels(KernelRegistry& registry);
void RegisterArraySearchKernels(KernelRegistry& registry);
void RegisterArraySegmentKernels(KernelRegistry& registry);
void RegisterArraySpaceKernels(KernelRegistry& registry);
void RegisterArrayPartedRowKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ARRAY_ARRAY_KERNELS_H_
