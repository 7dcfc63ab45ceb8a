#include "libs/kernels/standard_kernels.h"

namespace weft {

void RegisterStandardKernels(KernelRegistry& registry) {
  RegisterArrayKernels(registry);
  RegisterControlFlowKernels(registry);
  RegisterMathKernels(registry);
  RegisterNnKernels(registry);
  RegisterRandomKernels(registry);
  RegisterSendRecvKernels(registry);
  RegisterStateKernels(registry);
  RegisterTrainingKernels(registry);
}

}  // namespace weft
