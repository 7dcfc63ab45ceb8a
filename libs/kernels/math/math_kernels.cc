#include "libs/kernels/math/math_kernels.h"

namespace weft {

void RegisterMathKernels(KernelRegistry& registry) {
  RegisterArgReductionKernels(registry);
  RegisterArithmeticKernels(registry);
  RegisterBitwiseKernels(registry);
  RegisterCastKernels(registry);
  RegisterComparisonKernels(registry);
  RegisterComplexKernels(registry);
  RegisterDivisionKernels(registry);
  RegisterEinsumKernels(registry);
  RegisterHalfSumKernel(registry);
  RegisterMatMulKernels(registry);
  RegisterPowerKernels(registry);
  RegisterReductionKernels(registry);
  RegisterScanKernels(registry);
  RegisterSelectKernels(registry);
  RegisterSequenceKernels(registry);
  RegisterShapeArithmeticKernels(registry);
  RegisterUnaryKernels(registry);
  RegisterZeroProductKernels(registry);
}

}  // namespace weft
