#include "libs/kernels/control/control_kernels.h"

namespace weft {

void RegisterControlKernels(KernelRegistry& registry) {
  RegisterControlFlowKernels(registry);
  RegisterFunctionalKernels(registry);
  RegisterListKernels(registry);
  RegisterLoggingKernels(registry);
  RegisterSendRecvKernels(registry);
}

}  // namespace weft
