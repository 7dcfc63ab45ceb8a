// RegionPool: an Allocator that takes large regions from a source (a GPU's
// memory, pinned memory), cuts buffers out of them, best fit first, and joins
// what is given back with its neighbours.
//
// What was given back is handed out again at once: a GPU's kernels run in the
// order of their launches, so what the new owner launches comes later than what
// the old one did (libs/device/device_context.h). Who does not go by that order
// asks LastUse.
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
  // Null when there is no such region to be had. Called with the pool's lock
  // held, as `give_back`, which is called for each region at last.
  std::function<void*(size_t bytes)> take;
  std::function<void(void* region)> give_back;
  size_t limit = 0;  // bytes of all regions together
  // The first region is so large, and each further one double, up to the most;
  // more for a larger buffer, less where no more is to be had.
  size_t first_region = size_t{64} << 20;
  size_t most_region = size_t{1} << 30;
  // Each buffer has a region for itself, of just its bytes, which is given back
  // with it: for tools that watch who goes beyond.
  bool is_exact = false;
  // What memory that is given back is marked by; null: it is not.
  std::shared_ptr<const LaunchClock> clock;
};

// Thread-safe. Buffers keep the regions: the pool may be destroyed before them.
class RegionPool : public Allocator {
 public:
  static constexpr size_t kAlignment = 256;

  explicit RegionPool(RegionPoolOptions options);
  ~RegionPool() override;

  // Null at the limit, and where the source has no more, after regions that
  // nobody uses were given back to it.
  BufferPtr Allocate(size_t bytes) override;
  // Takes one region of `bytes` in advance; false when there is none.
  bool Reserve(size_t bytes);
  RegionPoolStats stats() const;

  // What `clock` showed when the last of those gave back who had memory of the
  // buffer before; 0: nobody had. None where no pool with that clock made it.
  static std::optional<uint64_t> LastUse(const Buffer& buffer,
                                         const LaunchClock& clock);

 private:
  class Impl;
  class PoolBuffer;
  const std::shared_ptr<Impl> impl_;
};

}  // namespace weft

#endif  // WEFT_LIBS_DEVICE_CUDA_REGION_POOL_H_
