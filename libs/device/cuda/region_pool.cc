#include "libs/device/cuda/region_pool.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/synchronization/mutex.h"

namespace weft {
namespace {

// More than any memory; keeps sums of sizes from overflowing.
constexpr size_t kMostBytes = size_t{1} << 48;

size_t RoundUp(size_t bytes) {
  constexpr size_t kUnit = RegionPool::kAlignment;
  return std::max(kUnit, (bytes + kUnit - 1) / kUnit * kUnit);
}

}  // namespace

class RegionPool::Impl {
 public:
  explicit Impl(RegionPoolOptions options)
      : options_(std::move(options)),
        next_region_(options_.is_exact ? 0 : options_.first_region) {}
  ~Impl() {
    const absl::MutexLock lock(&mutex_);
    for (const auto& [at, size] : regions_) options_.give_back(at);
  }

  MemoryKind kind() const { return options_.kind; }
  const LaunchClock* clock() const { return options_.clock.get(); }

  struct Taken {
    char* at = nullptr;  // null: no memory left
    uint64_t last_use = 0;
  };
  Taken Take(size_t bytes) {
    if (bytes > kMostBytes) return {};
    const size_t size =
        options_.is_exact ? std::max<size_t>(1, bytes) : RoundUp(bytes);
    const absl::MutexLock lock(&mutex_);
    char* at = Cut(size);
    if (at == nullptr && Grow(size)) at = Cut(size);
    if (at == nullptr) return {};
    const Block& block = blocks_.at(at);
    stats_.in_use += static_cast<int64_t>(block.size);
    stats_.peak_in_use = std::max(stats_.peak_in_use, stats_.in_use);
    return {at, block.last_use};
  }

  void GiveBack(char* at) {
    const absl::MutexLock lock(&mutex_);
    auto block = blocks_.find(at);
    stats_.in_use -= static_cast<int64_t>(block->second.size);
    block->second.is_free = true;
    if (clock() != nullptr) block->second.last_use = clock()->load();
    const auto next = std::next(block);
    if (CanJoin(next)) block = Join(block, next);
    if (block != blocks_.begin() && CanJoin(block) &&
        std::prev(block)->second.is_free) {
      block = Join(std::prev(block), block);
    }
    free_.insert({block->second.size, block->first});
    if (options_.is_exact) ReleaseIdleRegions();
  }

  bool Reserve(size_t bytes) {
    const absl::MutexLock lock(&mutex_);
    return bytes >= kAlignment && TakeRegion(bytes / kAlignment * kAlignment);
  }

  RegionPoolStats stats() const {
    const absl::MutexLock lock(&mutex_);
    RegionPoolStats stats = stats_;
    stats.limit = static_cast<int64_t>(options_.limit);
    return stats;
  }

 private:
  // Blocks are adjacent, except at the begin of a region.
  struct Block {
    size_t size = 0;
    bool is_free = false;
    bool begins_region = false;
    uint64_t last_use = 0;  // by the previous owner
  };
  using Blocks = std::map<char*, Block>;

  // Returns whether a free block joins the one before it, if that is free too.
  bool CanJoin(Blocks::iterator block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return block != blocks_.end() && block->second.is_free &&
           !block->second.begins_region;
  }

  // Returns the joined block of two neighbors. Each neighbor may be in the free
  // list; the joined block is not.
  Blocks::iterator Join(Blocks::iterator left, Blocks::iterator right)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    free_.erase({left->second.size, left->first});
    free_.erase({right->second.size, right->first});
    left->second.size += right->second.size;
    left->second.last_use =
        std::max(left->second.last_use, right->second.last_use);
    blocks_.erase(right);
    return left;
  }

  char* Cut(size_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto best = free_.lower_bound({size, nullptr});
    if (best == free_.end()) return nullptr;
    char* const at = best->second;
    free_.erase(best);
    Block& block = blocks_.at(at);
    block.is_free = false;
    if (block.size > size) {
      char* const rest = at + size;
      blocks_[rest] = {block.size - size, /*is_free=*/true,
                       /*begins_region=*/false, block.last_use};
      free_.insert({block.size - size, rest});
      block.size = size;
    }
    return at;
  }

  // Makes memory available for a block of `size`: by a region that also serves
  // others, else by one of exactly this size, and finally in place of idle
  // regions.
  bool Grow(size_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (TakeRegion(std::max(size, std::min(next_region_, Left())))) {
      next_region_ = std::min(2 * next_region_, options_.most_region);
      return true;
    }
    if (TakeRegion(size)) return true;
    return ReleaseIdleRegions() && TakeRegion(size);
  }

  size_t Left() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const size_t left = options_.limit - static_cast<size_t>(stats_.reserved);
    return left / kAlignment * kAlignment;
  }

  bool TakeRegion(size_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (size > Left()) return false;
    char* const at = static_cast<char*>(options_.take(size));
    if (at == nullptr) return false;
    regions_[at] = size;
    blocks_[at] = {size, /*is_free=*/true, /*begins_region=*/true,
                   /*last_use=*/0};
    free_.insert({size, at});
    stats_.reserved += static_cast<int64_t>(size);
    return true;
  }

  // Releases all idle regions. Returns whether there were any.
  bool ReleaseIdleRegions() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    bool released = false;
    for (auto region = regions_.begin(); region != regions_.end();) {
      const auto [at, size] = *region;
      if (free_.erase({size, at}) == 0) {
        ++region;
        continue;
      }
      blocks_.erase(at);
      region = regions_.erase(region);
      stats_.reserved -= static_cast<int64_t>(size);
      options_.give_back(at);
      released = true;
    }
    return released;
  }

  const RegionPoolOptions options_;
  mutable absl::Mutex mutex_;
  std::map<char*, size_t> regions_ ABSL_GUARDED_BY(mutex_);
  Blocks blocks_ ABSL_GUARDED_BY(mutex_);
  std::set<std::pair<size_t, char*>> free_ ABSL_GUARDED_BY(mutex_);
  size_t next_region_ ABSL_GUARDED_BY(mutex_);
  RegionPoolStats stats_ ABSL_GUARDED_BY(mutex_);
};

class RegionPool::PoolBuffer : public Buffer {
 public:
  PoolBuffer(std::shared_ptr<Impl> impl, const Impl::Taken& taken, size_t size)
      : Buffer(taken.at, size, impl->kind()),
        last_use_(taken.last_use),
        impl_(std::move(impl)) {}

  const LaunchClock* clock() const { return impl_->clock(); }
  uint64_t last_use() const { return last_use_; }

 private:
  void Destroy() override {
    impl_->GiveBack(static_cast<char*>(data()));
    delete this;
  }

  const uint64_t last_use_;
  const std::shared_ptr<Impl> impl_;
};

RegionPool::RegionPool(RegionPoolOptions options)
    : impl_(std::make_shared<Impl>(std::move(options))) {}

RegionPool::~RegionPool() = default;

BufferPtr RegionPool::Allocate(size_t bytes) {
  const Impl::Taken taken = impl_->Take(bytes);
  if (taken.at == nullptr) return BufferPtr();
  return BufferPtr::Adopt(new PoolBuffer(impl_, taken, bytes));
}

bool RegionPool::Reserve(size_t bytes) { return impl_->Reserve(bytes); }

RegionPoolStats RegionPool::stats() const { return impl_->stats(); }

std::optional<uint64_t> RegionPool::LastUse(const Buffer& buffer,
                                            const LaunchClock& clock) {
  const auto* own = dynamic_cast<const PoolBuffer*>(&buffer);
  if (own == nullptr || own->clock() != &clock) return std::nullopt;
  return own->last_use();
}

}  // namespace weft
