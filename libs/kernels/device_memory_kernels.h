// Kernels of GPUs with their own memory (Device::context) that need no device
// code. Kernels that forward values without reading them (Identity,
// ReadVariableOp, Shape) leave them in device memory. Kernels whose values
// TensorFlow keeps in host memory (int32 arithmetic, handles) run on the CPU.
#ifndef WEFT_LIBS_KERNELS_DEVICE_MEMORY_KERNELS_H_
#define WEFT_LIBS_KERNELS_DEVICE_MEMORY_KERNELS_H_

#include "libs/kernels/kernel_registry.h"

namespace weft {

// Makes a kernel that works on values in device memory from a CPU kernel, or
// returns null if it cannot.
using DeviceKernelMaker = std::function<KernelFactory(
    const KernelDef& def, const KernelFactory& cpu_factory)>;

// Registers these kernels for "GPU", based on the "CPU" kernels in `registry`
// so far, for ops and types that have no "GPU" kernel. `make` is called first
// for the ops that have CUDA kernels (cuda_kernel_types.h), so that a simulated
// GPU supports the same ops; null: no GPU is simulated.
void RegisterDeviceMemoryKernels(KernelRegistry& registry,
                                 const DeviceKernelMaker& make = nullptr);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DEVICE_MEMORY_KERNELS_H_
