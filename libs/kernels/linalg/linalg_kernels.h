// The kernels on matrices as a whole, each function in the file of its name
// (NOUN_kernels.cc). The work is Eigen's, as TensorFlow's on a processor is, so
// that signs agree.
#ifndef WEFT_LIBS_KERNELS_LINALG_LINALG_KERNELS_H_
#define WEFT_LIBS_KERNELS_LINALG_LINALG_KERNELS_H_

#include "libs/kernels/kernel_registry.h"

namespace weft {

// All of them.
void RegisterLinalgKernels(KernelRegistry& registry);

void RegisterQrKernels(KernelRegistry& registry);
void RegisterTriangularSolveKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_LINALG_LINALG_KERNELS_H_
