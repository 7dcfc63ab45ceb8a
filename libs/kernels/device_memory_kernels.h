// Kernels of GPUs with memory of their own (Device::context) that need no code
// of the device's: those that hand values on without a look at them (Identity,
// ReadVariableOp, Shape), which leave them in its memory, and those that
// TensorFlow has in host memory (int32 arithmetic, handles), which run on the
// processor.
#ifndef WEFT_LIBS_KERNELS_DEVICE_MEMORY_KERNELS_H_
#define WEFT_LIBS_KERNELS_DEVICE_MEMORY_KERNELS_H_

#include "libs/kernels/kernel_registry.h"

namespace weft {

// What becomes of a kernel of the CPU that works on the values themselves, in
// the memory of the device; null: there is none.
using DeviceKernelMaker = std::function<KernelFactory(
    const KernelDef& def, const KernelFactory& cpu_factory)>;

// Registers them for "GPU", from what `registry` has for "CPU" by now, where it
// has none for "GPU" of the op and those types. Before that `make` is asked for
// what CUDA's GPUs have a kernel of their own of (cuda_kernel_types.h), so that
// a GPU that is played takes what they take; null: nothing plays one.
void RegisterDeviceMemoryKernels(KernelRegistry& registry,
                                 const DeviceKernelMaker& make = nullptr);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DEVICE_MEMORY_KERNELS_H_
