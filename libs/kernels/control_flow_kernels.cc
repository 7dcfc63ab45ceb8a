#include "libs/kernels/standard_kernels.h"

namespace weft {

void RegisterControlFlowKernels(KernelRegistry&) {}

}  // namespace weft
