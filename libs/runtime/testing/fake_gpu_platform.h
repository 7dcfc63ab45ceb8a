// FakeGpuPlatform provides two GPUs that are FakeDevices.
#ifndef WEFT_LIBS_RUNTIME_TESTING_FAKE_GPU_PLATFORM_H_
#define WEFT_LIBS_RUNTIME_TESTING_FAKE_GPU_PLATFORM_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/device/testing/fake_device.h"
#include "libs/kernels/testing/fake_device_kernels.h"
#include "libs/runtime/process/gpu_platform.h"

namespace weft {

class FakeGpuPlatform : public GpuPlatform {
 public:
  static constexpr int kGpus = 2;

  // Calls `made`, if not null, with each new device, which exists until its
  // task ends. Each device has an arena of `arena_bytes`.
  explicit FakeGpuPlatform(std::function<void(FakeDevice&)> made = nullptr,
                           int64_t arena_bytes = int64_t{1} << 30)
      : made_(std::move(made)), arena_bytes_(arena_bytes) {}

  void RegisterKernels(KernelRegistry& registry) const override {
    RegisterFakeDeviceKernels(registry);
  }
  absl::StatusOr<std::vector<std::unique_ptr<Device>>> NewDevices(
      absl::string_view task, int count, Scheduler& scheduler,
      Random&) const override {
    if (count > kGpus) {
      return absl::InvalidArgumentError(
          absl::StrCat("there are ", kGpus, " GPUs; asked for ", count));
    }
    std::vector<std::unique_ptr<Device>> devices;
    for (int i = 0; i < count; ++i) {
      auto device = std::make_unique<FakeDevice>(std::string(task), i,
                                                 arena_bytes_, scheduler);
      if (made_) made_(*device);
      devices.push_back(std::move(device));
    }
    return devices;
  }

 private:
  const std::function<void(FakeDevice&)> made_;
  const int64_t arena_bytes_;
};

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_TESTING_FAKE_GPU_PLATFORM_H_
