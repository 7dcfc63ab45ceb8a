#include "libs/kernels/sparse/sparse_kernels.h"

namespace weft {

void RegisterSparseKernels(KernelRegistry& registry) {
  RegisterRaggedKernels(registry);
  RegisterRaggedPartsKernels(registry);
  RegisterRaggedTensorKernels(registry);
  RegisterSparseArithmeticKernels(registry);
  RegisterSparseCrossKernels(registry);
  RegisterSparseCwiseKernels(registry);
  RegisterSparseDenseKernels(registry);
  RegisterSparseLookupKernels(registry);
  RegisterSparseReductionKernels(registry);
  RegisterSparseRowKernels(registry);
  RegisterSparseSerializeKernels(registry);
  RegisterSparseShapeKernels(registry);
}

}  // namespace weft
