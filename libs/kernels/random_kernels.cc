#include "libs/kernels/random_registration.h"
#include "libs/kernels/standard_kernels.h"

namespace weft {

void RegisterRandomKernels(KernelRegistry& registry) {
  RegisterRandomFillKernels(registry);
  RegisterRandomChoiceKernels(registry);
  RegisterRandomCandidateKernels(registry);
}

}  // namespace weft
