#include "libs/kernels/standard_kernels.h"

namespace weft {

void RegisterSendRecvKernels(KernelRegistry&) {}

}  // namespace weft
