#include "libs/kernels/standard_kernels.h"

namespace weft {

void RegisterArrayKernels(KernelRegistry&) {}

}  // namespace weft
