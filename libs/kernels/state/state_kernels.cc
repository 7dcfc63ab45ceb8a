#include "libs/kernels/state/state_kernels.h"

namespace weft {

void RegisterStateKernels(KernelRegistry& registry) {
  RegisterReferenceVariableKernels(registry);
  RegisterResourceVariableKernels(registry);
  RegisterStateUpdateKernels(registry);
  RegisterStateRowKernels(registry);
  RegisterStateScatterNdKernels(registry);
  RegisterStateSliceAssignKernels(registry);
  RegisterStateWaitKernels(registry);
  RegisterTemporaryVariableKernels(registry);
}

}  // namespace weft
