#include "libs/kernels/math_kernels.h"

#include "libs/kernels/linalg_kernels.h"
#include "libs/kernels/standard_kernels.h"

namespace weft {

void RegisterMathKernels(KernelRegistry& registry) {
  RegisterArgReductionKernels(registry);
  RegisterArithmeticKernels(registry);
  RegisterCastKernels(registry);
  RegisterComparisonKernels(registry);
  RegisterDivisionKernels(registry);
  RegisterMatMulKernels(registry);
  RegisterPowerKernels(registry);
  RegisterQrKernels(registry);
  RegisterReductionKernels(registry);
  RegisterScanKernels(registry);
  RegisterSelectKernels(registry);
  RegisterSequenceKernels(registry);
  RegisterShapeArithmeticKernels(registry);
  RegisterTriangularSolveKernels(registry);
  RegisterUnaryKernels(registry);
}

}  // namespace weft
