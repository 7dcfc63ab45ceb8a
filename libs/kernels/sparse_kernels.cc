#include "libs/kernels/sparse_registration.h"
#include "libs/kernels/standard_kernels.h"

namespace weft {

void RegisterSparseKernels(KernelRegistry& registry) {
  RegisterSparseCrossKernels(registry);
  RegisterSparseDenseKernels(registry);
  RegisterSparseRowKernels(registry);
  RegisterSparseShapeKernels(registry);
}

}  // namespace weft
