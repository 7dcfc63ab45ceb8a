#include "libs/kernels/standard_kernels.h"

namespace weft {

void RegisterStateKernels(KernelRegistry&) {}

}  // namespace weft
