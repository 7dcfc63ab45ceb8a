#include "libs/kernels/standard_kernels.h"

namespace weft {

void RegisterRandomKernels(KernelRegistry&) {}

}  // namespace weft
