// Replaces all of this folder in builds without CUDA.
#include "libs/device/cuda/cuda_device.h"

namespace weft {

absl::StatusOr<int> CudaDeviceCount() {
  return absl::FailedPreconditionError(
      "no GPU: this program was built without CUDA; build it where nvcc is "
      "found (PATH, CUDA_HOME, /usr/local/cuda), without --define=cuda=off");
}

absl::StatusOr<std::vector<std::unique_ptr<Device>>> NewCudaDevices(
    absl::string_view, const CudaDeviceOptions& options, Scheduler&, Random&) {
  if (options.count == 0) return std::vector<std::unique_ptr<Device>>();
  return CudaDeviceCount().status();
}

std::unique_ptr<Allocator> NewCudaHostMemory(size_t) { return nullptr; }

}  // namespace weft
