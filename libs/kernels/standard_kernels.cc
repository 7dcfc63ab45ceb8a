#include "libs/kernels/standard_kernels.h"

#include <memory>

#include "libs/kernels/host_gpu_kernels.h"

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

std::shared_ptr<const KernelRegistry> StandardKernels() {
  static const auto& kernels = *new std::shared_ptr<const KernelRegistry>([] {
    auto registry = std::make_shared<KernelRegistry>();
    RegisterStandardKernels(*registry);
    RegisterHostGpuKernels(*registry);
    return registry;
  }());
  return kernels;
}

}  // namespace weft
