#include "libs/kernels/resource/resource_kernels.h"

namespace weft {

void RegisterResourceKernels(KernelRegistry& registry) {
  RegisterAccumulatorKernels(registry);
  RegisterLookupKernels(registry);
  RegisterQueueKernels(registry);
  RegisterStackKernels(registry);
  RegisterTensorArrayKernels(registry);
}

}  // namespace weft
