// Kernels of a FakeDevice (libs/device/testing/fake_device.h): the CPU kernels
// of the ops that have CUDA kernels, launched on the device. Arguments are in
// host memory as in TensorFlow (libs/kernels/tensorflow_gpu_memory.h).
#ifndef WEFT_LIBS_KERNELS_TESTING_FAKE_DEVICE_KERNELS_H_
#define WEFT_LIBS_KERNELS_TESTING_FAKE_DEVICE_KERNELS_H_

#include "libs/kernels/kernel_registry.h"

namespace weft {

// Registers kernels based on the "CPU" kernels that `registry` contains so far.
void RegisterFakeDeviceKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_TESTING_FAKE_DEVICE_KERNELS_H_
