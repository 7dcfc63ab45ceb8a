// Registration of the linear algebra kernels; groups are in files of their
// names (NOUN_kernels.cc). They use Eigen, like TensorFlow's CPU kernels, so
// that signs agree.
#ifndef WEFT_LIBS_KERNELS_LINALG_LINALG_KERNELS_H_
#define WEFT_LIBS_KERNELS_LINALG_LINALG_KERNELS_H_

#include "libs/kernels/kernel_registry.h"

namespace weft {

// Registers all linear algebra kernels.
void RegisterLinalgKernels(KernelRegistry& registry);

void RegisterQrKernels(KernelRegistry& registry);
void RegisterTriangularSolveKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_LINALG_LINALG_KERNELS_H_
