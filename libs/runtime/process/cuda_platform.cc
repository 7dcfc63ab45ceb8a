#include "libs/runtime/process/cuda_platform.h"

#include "libs/device/cuda/cuda_device.h"
#include "libs/kernels/cuda/cuda_kernels.h"
#include "libs/kernels/device_memory_kernels.h"

namespace weft {

void CudaPlatform::RegisterKernels(KernelRegistry& registry) const {
  RegisterCudaKernels(registry);
  RegisterDeviceMemoryKernels(registry);
}

absl::StatusOr<std::vector<std::unique_ptr<Device>>> CudaPlatform::NewDevices(
    absl::string_view task, int count, Scheduler& scheduler,
    Random& random) const {
  return NewCudaDevices(
      task,
      {.count = count,
       .memory_fraction = options_.per_process_gpu_memory_fraction,
       .allow_growth = options_.allow_growth,
       .exact_memory = options_.exact_memory},
      scheduler, random);
}

std::unique_ptr<Allocator> CudaPlatform::NewPinnedMemory(size_t bytes) const {
  return NewCudaHostMemory(bytes);
}

}  // namespace weft
