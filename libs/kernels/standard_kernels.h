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

// Those of one family, each in the file of its name.
void RegisterAccumulatorKernels(KernelRegistry& registry);
void RegisterArrayKernels(KernelRegistry& registry);
void RegisterControlFlowKernels(KernelRegistry& registry);
void RegisterLoggingKernels(KernelRegistry& registry);
void RegisterLookupKernels(KernelRegistry& registry);
void RegisterMathKernels(KernelRegistry& registry);
void RegisterNnKernels(KernelRegistry& registry);
void RegisterQueueKernels(KernelRegistry& registry);
void RegisterRandomKernels(KernelRegistry& registry);
void RegisterSendRecvKernels(KernelRegistry& registry);
void RegisterSparseKernels(KernelRegistry& registry);
void RegisterStackKernels(KernelRegistry& registry);
void RegisterStateKernels(KernelRegistry& registry);
void RegisterStringKernels(KernelRegistry& registry);
void RegisterTensorArrayKernels(KernelRegistry& registry);
void RegisterTrainingKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_STANDARD_KERNELS_H_
