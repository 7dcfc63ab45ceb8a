// Registration of the math kernels; groups are in files of their names
// (NOUN_kernels.cc).
#ifndef WEFT_LIBS_KERNELS_MATH_MATH_KERNELS_H_
#define WEFT_LIBS_KERNELS_MATH_MATH_KERNELS_H_

#include "libs/kernels/kernel_registry.h"

namespace weft {

// Registers all math kernels.
void RegisterMathKernels(KernelRegistry& registry);

void RegisterArgReductionKernels(KernelRegistry& registry);
void RegisterArithmeticKernels(KernelRegistry& registry);
void RegisterBitwiseKernels(KernelRegistry& registry);
void RegisterCastKernels(KernelRegistry& registry);
void RegisterComparisonKernels(KernelRegistry& registry);
void RegisterComplexKernels(KernelRegistry& registry);
void RegisterDivisionKernels(KernelRegistry& registry);
void RegisterEinsumKernels(KernelRegistry& registry);
void RegisterHalfSumKernel(KernelRegistry& registry);
void RegisterMatMulKernels(KernelRegistry& registry);
void RegisterPowerKernels(KernelRegistry& registry);
void RegisterReductionKernels(KernelRegistry& registry);
void RegisterScanKernels(KernelRegistry& registry);
void RegisterSelectKernels(KernelRegistry& registry);
void RegisterSequenceKernels(KernelRegistry& registry);
void RegisterShapeArithmeticKernels(KernelRegistry& registry);
void RegisterUnaryKernels(KernelRegistry& registry);
void RegisterZeroProductKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_MATH_MATH_KERNELS_H_
