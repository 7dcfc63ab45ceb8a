// The control family of kernels, each function in the file of its name
// (NOUN_kernels.cc).
#ifndef WEFT_LIBS_KERNELS_CONTROL_CONTROL_KERNELS_H_
#define WEFT_LIBS_KERNELS_CONTROL_CONTROL_KERNELS_H_

#include <memory>

#include "libs/kernels/kernel_registry.h"
#include "libs/tensor/client_function.h"

namespace weft {

// All of them but those of client functions.
void RegisterControlKernels(KernelRegistry& registry);

// Calls of functions of the program; those that are not there are NOT_FOUND
// where the kernel is made. `functions` is not null.
void RegisterClientFunctionKernels(
    KernelRegistry& registry, std::shared_ptr<const ClientFunctions> functions);
// Branches and loops.
void RegisterControlFlowKernels(KernelRegistry& registry);
// Calls of functions that are made at run time.
void RegisterFunctionalKernels(KernelRegistry& registry);
// Lists of tensors, and tensors that may not be there.
void RegisterListJoiningKernels(KernelRegistry& registry);
void RegisterListSizeKernels(KernelRegistry& registry);
void RegisterListKernels(KernelRegistry& registry);
void RegisterLoggingKernels(KernelRegistry& registry);
// The ends of edges between devices.
void RegisterSendRecvKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_CONTROL_CONTROL_KERNELS_H_
