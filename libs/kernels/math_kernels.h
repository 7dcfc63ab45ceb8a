// The kernels of the math family, one function for each noun, in the file of
// its name (math_NOUN_kernels.cc).
#ifndef WEFT_LIBS_KERNELS_MATH_KERNELS_H_
#define WEFT_LIBS_KERNELS_MATH_KERNELS_H_

#include "libs/kernels/kernel_registry.h"

namespace weft {

void RegisterArgReductionKernels(KernelRegistry& registry);
void RegisterArithmeticKernels(KernelRegistry& registry);
void RegisterCastKernels(KernelRegistry& registry);
void RegisterComparisonKernels(KernelRegistry& registry);
void RegisterDivisionKernels(KernelRegistry& registry);
void RegisterMatMulKernels(KernelRegistry& registry);
void RegisterPowerKernels(KernelRegistry& registry);
void RegisterReductionKernels(KernelRegistry& registry);
void RegisterScanKernels(KernelRegistry& registry);
void RegisterSelectKernels(KernelRegistry& registry);
void RegisterSequenceKernels(KernelRegistry& registry);
void RegisterShapeArithmeticKernels(KernelRegistry& registry);
void RegisterUnaryKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_MATH_KERNELS_H_
