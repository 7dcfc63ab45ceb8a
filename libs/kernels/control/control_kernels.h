// Registration of the control kernels; groups are in files of their names
// (NOUN_kernels.cc).
#ifndef WEFT_LIBS_KERNELS_CONTROL_CONTROL_KERNELS_H_
#define WEFT_LIBS_KERNELS_CONTROL_CONTROL_KERNELS_H_

#include <memory>

#include "libs/kernels/kernel_registry.h"
#include "libs/tensor/client_function.h"

namespace weft {

// Registers all control kernels except client functions.
void RegisterControlKernels(KernelRegistry& registry);

// Calls of client functions. Constructing a kernel for a missing function fails
// with NOT_FOUND. `functions` must not be null.
void RegisterClientFunctionKernels(
    KernelRegistry& registry, std::shared_ptr<const ClientFunctions> functions);
// Registers the kernels of branches and loops.
void RegisterControlFlowKernels(KernelRegistry& registry);
// Registers the kernels that call functions at run time.
void RegisterFunctionalKernels(KernelRegistry& registry);
// Register the kernels of tensor lists and optionals.
void RegisterListJoiningKernels(KernelRegistry& registry);
void RegisterListSizeKernels(KernelRegistry& registry);
void RegisterListKernels(KernelRegistry& registry);
void RegisterLoggingKernels(KernelRegistry& registry);
// Registers the kernels that send and receive tensors between devices.
void RegisterSendRecvKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_CONTROL_CONTROL_KERNELS_H_
