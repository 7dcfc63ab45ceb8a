#include "libs/kernels/control/control_kernels.h"

namespace weft {

void RegisterControlKernels(KernelRegistry& registry) {
  RegisterControlFlowKernels(registry);
  RegisterFunctionalKernels(registry);
  RegisterLoggingKernels(registry);
  RegisterSendRecvKernels(registry);
}

}  // namespace weft
