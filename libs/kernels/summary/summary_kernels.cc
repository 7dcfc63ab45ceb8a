#include "libs/kernels/summary/summary_kernels.h"

namespace weft {

void RegisterSummaryKernels(KernelRegistry& registry) {
  RegisterAudioSummaryKernels(registry);
  RegisterImageSummaryKernels(registry);
  RegisterNumberSummaryKernels(registry);
  RegisterTensorSummaryKernels(registry);
}

}  // namespace weft
