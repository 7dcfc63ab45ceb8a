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

// Subclasses are immutable, and therefore thread-safe.
class GpuPlatform {
 public:
  virtual ~GpuPlatform() = default;

  // Adds the platform's kernels, for device type "GPU", to the registry, which
  // already has the CPU kernels.
  virtual void RegisterKernels(KernelRegistry& registry) const = 0;

  // Returns `count` devices, named "TASK/device:GPU:0", "TASK/device:GPU:1" and
  // so on. Returns FAILED_PRECONDITION if there is no GPU or no driver,
  // INVALID_ARGUMENT if there are fewer than `count` GPUs. The arguments must
  // outlive the devices.
  virtual absl::StatusOr<std::vector<std::unique_ptr<Device>>> NewDevices(
      absl::string_view task, int count, Scheduler& scheduler,
      Random& random) const = 0;

  // Returns an allocator of `bytes` of pinned host memory; null if there is no
  // such memory. The platform's devices copy from and to this memory
  // asynchronously. All of it is allocated from the system at once, and it
  // never grows. Must be called only if the process has devices. Buffers may
  // outlive the allocator.
  virtual std::unique_ptr<Allocator> NewPinnedMemory(size_t /*bytes*/) const {
    return nullptr;
  }
};

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_PROCESS_GPU_PLATFORM_H_
