// The memory sources of a CudaDevice's pools.
#ifndef WEFT_LIBS_DEVICE_CUDA_CUDA_MEMORY_H_
#define WEFT_LIBS_DEVICE_CUDA_CUDA_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "libs/device/cuda/region_pool.h"

namespace weft {

// The memory of a GPU, in bytes.
struct CudaFreeMemory {
  int64_t free = 0;
  int64_t total = 0;
};
absl::StatusOr<CudaFreeMemory> AskCudaMemory(int ordinal);

// Returns the bytes that a device may allocate: `fraction` of the GPU's memory.
// A fraction of 0 means all free memory except for a reserve that CUDA itself
// and libraries need.
int64_t CudaMemoryLimit(const CudaFreeMemory& memory, double fraction);

// A pool of GPU memory, at most `limit` bytes, marked by `clock`; `is_exact` as
// in RegionPoolOptions.
std::unique_ptr<RegionPool> NewCudaPool(
    int ordinal, int64_t limit, bool is_exact,
    std::shared_ptr<const LaunchClock> clock);

// Returns the options of a pool of pinned memory in the context of the GPU.
RegionPoolOptions PinnedMemoryOptions(int ordinal);

// Pinned host memory for copies of any GPU; uses the heap when the system
// provides no more pinned memory.
std::unique_ptr<Allocator> NewPinnedPool(int ordinal);

}  // namespace weft

#endif  // WEFT_LIBS_DEVICE_CUDA_CUDA_MEMORY_H_
