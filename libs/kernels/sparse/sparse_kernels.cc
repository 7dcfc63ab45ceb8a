#include "libs/kernels/sparse/sparse_kernels.h"

namespace weft {

void RegisterSparseKernels(KernelRegistry& registry) {
  RegisterRaggedKernels(registry);
  RegisterRaggedPartsKernels(registry);
  RegisterSparseArithmeticKernels(registry);
  RegisterSparseCrossKernels(registry);
  RegisterSparseDenseKernels(registry);
  RegisterSparseLookupKernels(registry);
  RegisterSparseRowKernels(registry);
  RegisterSparseSerializeKernels(registry);
  RegisterSparseShapeKernels(registry);
}

}  // namespace weft
