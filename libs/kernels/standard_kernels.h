// StandardKernels: every kernel Weft has, family by family.
#ifndef WEFT_LIBS_KERNELS_STANDARD_KERNELS_H_
#define WEFT_LIBS_KERNELS_STANDARD_KERNELS_H_

#include <memory>

#include "libs/kernels/kernel_registry.h"

namespace weft {

// All of them, for CPUs and for GPUs that the host plays. A constant, as
// StandardOps() is: it is made once and shared by all processes of a program.
std::shared_ptr<const KernelRegistry> StandardKernels();

// Those for CPUs.
void RegisterStandardKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_STANDARD_KERNELS_H_
