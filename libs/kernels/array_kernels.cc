#include "libs/kernels/array_registration.h"
#include "libs/kernels/standard_kernels.h"

namespace weft {

void RegisterArrayKernels(KernelRegistry& registry) {
  RegisterArrayConstantKernels(registry);
  RegisterArrayIdentityKernels(registry);
  RegisterArrayShapeKernels(registry);
  RegisterArrayConcatKernels(registry);
  RegisterArraySplitKernels(registry);
  RegisterArrayTileKernels(registry);
}

}  // namespace weft
