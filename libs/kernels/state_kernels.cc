#include "libs/kernels/standard_kernels.h"
#include "libs/kernels/state_registration.h"

namespace weft {

void RegisterStateKernels(KernelRegistry& registry) {
  RegisterReferenceKernels(registry);
  RegisterResourceKernels(registry);
  RegisterStateUpdateKernels(registry);
  RegisterStateRowKernels(registry);
  RegisterStateScatterNdKernels(registry);
  RegisterTemporaryVariableKernels(registry);
}

}  // namespace weft
