#include "libs/kernels/standard_kernels.h"

namespace weft {

void RegisterMathKernels(KernelRegistry&) {}

}  // namespace weft
