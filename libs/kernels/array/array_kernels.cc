#include "libs/kernels/array/array_kernels.h"

namespace weft {

void RegisterArrayKernels(KernelRegistry& registry) {
  RegisterArrayConstantKernels(registry);
  RegisterArrayIdentityKernels(registry);
  RegisterArrayShapeKernels(registry);
  RegisterArrayConcatKernels(registry);
  RegisterArraySplitKernels(registry);
  RegisterArrayTileKernels(registry);
  RegisterArraySliceKernels(registry);
  RegisterArrayGatherKernels(registry);
  RegisterArrayScatterKernels(registry);
  RegisterArrayTransposeKernels(registry);
  RegisterArrayReverseKernels(registry);
  RegisterArrayPadKernels(registry);
  RegisterArrayPartitionKernels(registry);
  RegisterArrayOneHotKernels(registry);
  RegisterArrayUniqueKernels(registry);
  RegisterArrayWhereKernels(registry);
  RegisterArrayDiagonalKernels(registry);
  RegisterArrayDiagonalBandKernels(registry);
  RegisterArraySearchKernels(registry);
  RegisterArraySegmentKernels(registry);
  RegisterArraySpaceKernels(registry);
  RegisterArrayPartedRowKernels(registry);
}

}  // namespace weft
