#include "libs/kernels/resource/resource_kernels.h"

namespace weft {

void RegisterResourceKernels(KernelRegistry& registry) {
  RegisterAccumulatorKernels(registry);
  RegisterBarrierKernels(registry);
  RegisterLookupKernels(registry);
  RegisterQueueKernels(registry);
  RegisterStackKernels(registry);
  RegisterStagingKernels(registry);
  RegisterTensorArrayKernels(registry);
}

}  // namespace weft
