// RegionPool is an Allocator that takes large regions from a source (a GPU's
// memory, pinned memory), cuts buffers out of them, best fit first, and merges
// freed blocks with their neighbors.
//
// Freed memory is reused at once: a GPU's kernels run in the order of their
// launches, so the launches of the new owner come later than those of the old
// one (libs/device/device_context.h). Users that do not follow that order call
// LastUse.
#ifndef WEFT_LIBS_DEVICE_CUDA_REGION_POOL_H_
#define WEFT_LIBS_DEVICE_CUDA_REGION_POOL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "libs/device/cuda/launch_marks.h"
#include "libs/tensor/buffer.h"

namespace weft {

struct RegionPoolStats {
  int64_t in_use = 0;  // bytes of buffers, rounded up
  int64_t peak_in_use = 0;
  int64_t reserved = 0;  // bytes of regions
  int64_t limit = 0;     // of `reserved`
};

struct RegionPoolOptions {
  MemoryKind kind = MemoryKind::kDevice;
  // Returns null if no such region is available. Called with the pool's lock
  // held, as is `give_back`, which is called for each region at the end.
  std::function<void*(size_t bytes)> take;
  std::function<void(void* region)> give_back;
  size_t limit = 0;  // bytes of all regions together
  // The size of the first region; each further one is twice as large, up to the
  // maximum; larger for a larger buffer, smaller if no more is available.
  size_t first_region = size_t{64} << 20;
  size_t most_region = size_t{1} << 30;
  // Each buffer has its own region of exactly its size, which is freed with it:
  // for tools that detect out-of-bounds accesses.
  bool is_exact = false;
  // Marks freed memory; null: it is not marked.
  std::shared_ptr<const LaunchClock> clock;
};

// Thread-safe. Buffers keep the regions: the pool may be destroyed before them.
class RegionPool : public Allocator {
 public:
  static constexpr size_t kAlignment = 256;

  explicit RegionPool(RegionPoolOptions options);
  ~RegionPool() override;

  // Returns null at the limit, and if the source has no more after unused
  // regions were returned to it.
  BufferPtr Allocate(size_t bytes) override;
  // Takes one region of `bytes` in advance; returns false if there is none.
  bool Reserve(size_t bytes);
  RegionPoolStats stats() const;

  // The value of `clock` when the last previous owner of the buffer's memory
  // freed it; 0: there was none. None if the buffer is not from a pool with
  // that clock.
  static std::optional<uint64_t> LastUse(const Buffer& buffer,
                                         const LaunchClock& clock);

 private:
  class Impl;
  class PoolBuffer;
  const std::shared_ptr<Impl> impl_;
};

}  // namespace weft

#endif  // WEFT_LIBS_DEVICE_CUDA_REGION_POOL_H_
