// FakeGpuPlatform: GPUs that are FakeDevices, each with an arena of 1 GiB of
// addresses.
#ifndef WEFT_LIBS_RUNTIME_TESTING_FAKE_GPU_PLATFORM_H_
#define WEFT_LIBS_RUNTIME_TESTING_FAKE_GPU_PLATFORM_H_

#include <memory>
#include <vector>

#include "libs/device/testing/fake_device.h"
#include "libs/kernels/testing/fake_device_kernels.h"
#include "libs/runtime/gpu_platform.h"

namespace weft {

class FakeGpuPlatform : public GpuPlatform {
 public:
  void RegisterKernels(KernelRegistry& registry) const override {
    RegisterFakeDeviceKernels(registry);
  }
  absl::StatusOr<std::vector<std::unique_ptr<Device>>> NewDevices(
      absl::string_view task, int count, Scheduler& scheduler,
      Random&) const override {
    std::vector<std::unique_ptr<Device>> devices;
    for (int i = 0; i < count; ++i) {
      devices.push_back(std::make_unique<FakeDevice>(
          std::string(task), i, int64_t{1} << 30, scheduler));
    }
    return devices;
  }
};

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_TESTING_FAKE_GPU_PLATFORM_H_
