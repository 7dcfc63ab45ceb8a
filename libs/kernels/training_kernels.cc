#include "libs/kernels/standard_kernels.h"

namespace weft {

void RegisterTrainingKernels(KernelRegistry&) {}

}  // namespace weft
