#include "libs/kernels/standard_kernels.h"

namespace weft {

void RegisterStandardKernels(KernelRegistry& registry) {
  RegisterAccumulatorKernels(registry);
  RegisterArrayKernels(registry);
  RegisterControlFlowKernels(registry);
  RegisterLoggingKernels(registry);
  RegisterLookupKernels(registry);
  RegisterMathKernels(registry);
  RegisterNnKernels(registry);
  RegisterQueueKernels(registry);
  RegisterRandomKernels(registry);
  RegisterSendRecvKernels(registry);
  RegisterSparseKernels(registry);
  RegisterStackKernels(registry);
  RegisterStateKernels(registry);
  RegisterStringKernels(registry);
  RegisterTensorArrayKernels(registry);
  RegisterTrainingKernels(registry);
}

}  // namespace weft
