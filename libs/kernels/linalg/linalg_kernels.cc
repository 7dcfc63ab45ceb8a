#include "libs/kernels/linalg/linalg_kernels.h"

namespace weft {

void RegisterLinalgKernels(KernelRegistry& registry) {
  RegisterQrKernels(registry);
  RegisterTriangularSolveKernels(registry);
}

}  // namespace weft
