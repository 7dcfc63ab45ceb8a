#include "libs/kernels/standard_kernels.h"

namespace weft {

void RegisterNnKernels(KernelRegistry&) {}

}  // namespace weft
