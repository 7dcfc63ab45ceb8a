#include "libs/kernels/random/random_kernels.h"

namespace weft {

void RegisterRandomKernels(KernelRegistry& registry) {
  RegisterRandomFillKernels(registry);
  RegisterStatelessRandomKernels(registry);
  RegisterRandomChoiceKernels(registry);
  RegisterRandomCandidateKernels(registry);
}

}  // namespace weft
