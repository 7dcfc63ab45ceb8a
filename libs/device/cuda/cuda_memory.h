// Where pools of a CudaDevice take their memory from.
#ifndef WEFT_LIBS_DEVICE_CUDA_CUDA_MEMORY_H_
#define WEFT_LIBS_DEVICE_CUDA_CUDA_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "libs/device/cuda/region_pool.h"

namespace weft {

// Of a GPU, in bytes.
struct CudaFreeMemory {
  int64_t free = 0;
  int64_t total = 0;
};
absl::StatusOr<CudaFreeMemory> AskCudaMemory(int ordinal);

// How much a device may take: `fraction` of all, or for 0 what is free but for
// a reserve that CUDA itself and libraries need.
int64_t CudaMemoryLimit(const CudaFreeMemory& memory, double fraction);

// Memory of a GPU, `limit` bytes at most, marked by `clock`; `is_exact` as in
// RegionPoolOptions.
std::unique_ptr<RegionPool> NewCudaPool(
    int ordinal, int64_t limit, bool is_exact,
    std::shared_ptr<const LaunchClock> clock);

// Of a pool of pinned memory, by the context of the GPU.
RegionPoolOptions PinnedMemoryOptions(int ordinal);

// Memory of the host that any GPU copies from and to, with what is left of the
// heap where the system gives no more.
std::unique_ptr<Allocator> NewPinnedPool(int ordinal);

}  // namespace weft

#endif  // WEFT_LIBS_DEVICE_CUDA_CUDA_MEMORY_H_
