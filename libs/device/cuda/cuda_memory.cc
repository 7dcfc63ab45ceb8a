#include "libs/device/cuda/cuda_memory.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <utility>

#include "libs/base/status.h"
#include "libs/device/cuda/cuda_status.h"

namespace weft {
namespace {

// The limit of pinned memory; no system has so much, so that the system itself
// sets the limit.
constexpr size_t kMostPinned = size_t{1} << 46;

// Returns null, and clears the thread's error, on failure.
void* OrNull(cudaError_t error, void* memory) {
  if (error == cudaSuccess) return memory;
  cudaGetLastError();
  return nullptr;
}

void Ignore(cudaError_t error) {
  if (error != cudaSuccess) cudaGetLastError();
}

// Pinned memory, or heap memory if there is none: copies then use the driver's
// own buffers.
class PinnedAllocator : public Allocator {
 public:
  explicit PinnedAllocator(RegionPoolOptions options)
      : pool_(std::move(options)) {}

  BufferPtr Allocate(size_t bytes) override {
    BufferPtr buffer = pool_.Allocate(bytes);
    return buffer ? buffer : HeapAllocator().Allocate(bytes);
  }

 private:
  RegionPool pool_;
};

}  // namespace

absl::StatusOr<CudaFreeMemory> AskCudaMemory(int ordinal) {
  RETURN_IF_ERROR(CudaStatus(cudaSetDevice(ordinal), "use of the GPU"));
  size_t free = 0;
  size_t total = 0;
  RETURN_IF_ERROR(
      CudaStatus(cudaMemGetInfo(&free, &total), "asking for free memory"));
  return CudaFreeMemory{static_cast<int64_t>(free),
                        static_cast<int64_t>(total)};
}

int64_t CudaMemoryLimit(const CudaFreeMemory& memory, double fraction) {
  if (fraction > 0) {
    return static_cast<int64_t>(static_cast<double>(memory.total) * fraction);
  }
  const int64_t reserve =
      std::max<int64_t>(int64_t{300} << 20, memory.total / 20);
  return std::max<int64_t>(0, memory.free - reserve);
}

std::unique_ptr<RegionPool> NewCudaPool(
    int ordinal, int64_t limit, bool is_exact,
    std::shared_ptr<const LaunchClock> clock) {
  RegionPoolOptions options;
  options.is_exact = is_exact;
  options.clock = std::move(clock);
  options.kind = MemoryKind::kDevice;
  options.limit = static_cast<size_t>(limit);
  options.take = [ordinal](size_t bytes) {
    cudaSetDevice(ordinal);
    void* memory = nullptr;
    const cudaError_t error = cudaMalloc(&memory, bytes);
    return OrNull(error, memory);
  };
  // cudaFree waits for the GPU, so that no work uses the region afterwards.
  options.give_back = [ordinal](void* region) {
    cudaSetDevice(ordinal);
    Ignore(cudaFree(region));
  };
  return std::make_unique<RegionPool>(std::move(options));
}

RegionPoolOptions PinnedMemoryOptions(int ordinal) {
  RegionPoolOptions options;
  options.kind = MemoryKind::kPinnedHost;
  options.limit = kMostPinned;
  options.first_region = size_t{4} << 20;
  options.most_region = size_t{256} << 20;
  options.take = [ordinal](size_t bytes) {
    cudaSetDevice(ordinal);
    void* memory = nullptr;
    const cudaError_t error =
        cudaHostAlloc(&memory, bytes, cudaHostAllocPortable);
    return OrNull(error, memory);
  };
  options.give_back = [](void* region) { Ignore(cudaFreeHost(region)); };
  return options;
}

std::unique_ptr<Allocator> NewPinnedPool(int ordinal) {
  return std::make_unique<PinnedAllocator>(PinnedMemoryOptions(ordinal));
}

}  // namespace weft
