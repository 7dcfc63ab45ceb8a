// StandardKernels returns all kernels of Weft, registered by family.
#ifndef WEFT_LIBS_KERNELS_STANDARD_STANDARD_KERNELS_H_
#define WEFT_LIBS_KERNELS_STANDARD_STANDARD_KERNELS_H_

#include <memory>

#include "libs/kernels/kernel_registry.h"
#include "libs/tensor/client_function.h"

namespace weft {

// All kernels, for CPUs and for host GPUs. A constant, like StandardOps():
// it is created once and shared by all processes of a program.
std::shared_ptr<const KernelRegistry> StandardKernels();

// The same with these client functions; a separate registry if there are any.
std::shared_ptr<const KernelRegistry> StandardKernels(
    const ClientFunctions& functions);

// Registers the CPU kernels, without and with client functions.
void RegisterStandardKernels(KernelRegistry& registry);
void RegisterCpuKernels(KernelRegistry& registry,
                        const ClientFunctions& functions);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_STANDARD_STANDARD_KERNELS_H_
