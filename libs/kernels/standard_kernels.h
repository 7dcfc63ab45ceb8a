// StandardKernels: every kernel Weft has, family by family.
#ifndef WEFT_LIBS_KERNELS_STANDARD_KERNELS_H_
#define WEFT_LIBS_KERNELS_STANDARD_KERNELS_H_

#include <memory>

#include "libs/kernels/kernel_registry.h"
#include "libs/tensor/client_function.h"

namespace weft {

// All of them, for CPUs and for GPUs that the host plays. A constant, as
// StandardOps() is: it is made once and shared by all processes of a program.
std::shared_ptr<const KernelRegistry> StandardKernels();

// The same with these client functions; a registry of its own where there are
// any.
std::shared_ptr<const KernelRegistry> StandardKernels(
    const ClientFunctions& functions);

// Those for CPUs, without any client function, and with.
void RegisterStandardKernels(KernelRegistry& registry);
void RegisterCpuKernels(KernelRegistry& registry,
                        const ClientFunctions& functions);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_STANDARD_KERNELS_H_
