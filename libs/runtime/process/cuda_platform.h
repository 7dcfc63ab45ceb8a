// CudaPlatform provides NVIDIA GPUs. A program that was built without CUDA has
// no devices, and only those GPU kernels that need no device code. Without a
// driver, a program has all GPU kernels, but no devices.
#ifndef WEFT_LIBS_RUNTIME_PROCESS_CUDA_PLATFORM_H_
#define WEFT_LIBS_RUNTIME_PROCESS_CUDA_PLATFORM_H_

#include <memory>
#include <vector>

#include "libs/runtime/process/gpu_platform.h"

namespace weft {

// The GPU options of a process; the first two have the names of TensorFlow's
// GPUOptions.
struct CudaPlatformOptions {
  // The share of a GPU's memory that each device may take. 0 means nearly all
  // memory that is free when the device is created.
  double per_process_gpu_memory_fraction = 0;
  // Allocates memory piecewise on demand, not all at the start.
  bool allow_growth = true;
  // See CudaDeviceOptions::exact_memory. TensorFlow has no such option.
  bool exact_memory = false;
};

class CudaPlatform : public GpuPlatform {
 public:
  explicit CudaPlatform(const CudaPlatformOptions& options = {})
      : options_(options) {}

  void RegisterKernels(KernelRegistry& registry) const override;
  absl::StatusOr<std::vector<std::unique_ptr<Device>>> NewDevices(
      absl::string_view task, int count, Scheduler& scheduler,
      Random& random) const override;
  std::unique_ptr<Allocator> NewPinnedMemory(size_t bytes) const override;

 private:
  const CudaPlatformOptions options_;
};

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_PROCESS_CUDA_PLATFORM_H_
