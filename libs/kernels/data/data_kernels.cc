#include "libs/kernels/data/data_kernels.h"

namespace weft {

void RegisterDataKernels(KernelRegistry&) {}

}  // namespace weft
