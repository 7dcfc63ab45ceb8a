// Kernels of a FakeDevice (libs/device/testing/fake_device.h): the CPU's, for
// what CUDA's GPUs have kernels for, launched on it. What lies in host memory
// is what TensorFlow has there (libs/kernels/tensorflow_gpu_memory.h).
#ifndef WEFT_LIBS_KERNELS_TESTING_FAKE_DEVICE_KERNELS_H_
#define WEFT_LIBS_KERNELS_TESTING_FAKE_DEVICE_KERNELS_H_

#include "libs/kernels/kernel_registry.h"

namespace weft {

// From what `registry` has for "CPU" by now.
void RegisterFakeDeviceKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_TESTING_FAKE_DEVICE_KERNELS_H_
