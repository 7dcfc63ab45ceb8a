// GpuPlatform provides the GPUs of a process's tasks, and their kernels.
#ifndef WEFT_LIBS_RUNTIME_PROCESS_GPU_PLATFORM_H_
#define WEFT_LIBS_RUNTIME_PROCESS_GPU_PLATFORM_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/device/device.h"
#include "libs/kernels/kernel_registry.h"
#include "libs/tensor/buffer.h"

namespace weft {

// Immutable, and therefore thread-safe.
class GpuPlatform {
 public:
  virtual ~GpuPlatform() = default;

  // Adds its kernels, for "GPU", to those for CPUs.
  virtual void RegisterKernels(KernelRegistry& registry) const = 0;

  // Returns `count` devices, "TASK/device:GPU:0" and so on. FAILED_PRECONDITION
  // if there is no GPU, or no driver; INVALID_ARGUMENT if there are fewer. The
  // arguments must outlive the devices.
  virtual absl::StatusOr<std::vector<std::unique_ptr<Device>>> NewDevices(
      absl::string_view task, int count, Scheduler& scheduler,
      Random& random) const = 0;

  // Returns an allocator of `bytes` of pinned host memory, which its devices
  // copy from and to asynchronously. The memory is taken from the system at
  // once and never grows; null if there is no such memory. For a process that
  // has devices. Buffers may outlive the allocator.
  virtual std::unique_ptr<Allocator> NewPinnedMemory(size_t /*bytes*/) const {
    return nullptr;
  }
};

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_PROCESS_GPU_PLATFORM_H_
