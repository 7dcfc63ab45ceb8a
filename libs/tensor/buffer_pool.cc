#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>

#include "absl/container/inlined_vector.h"
#include "libs/tensor/buffer.h"
#include "libs/tensor/size_class.h"

namespace weft {
namespace {

using internal::kNumSizeClasses;
using internal::SizeClassOf;
using internal::SizeOfClass;

constexpr size_t kBlockHeader = Buffer::kAlignment;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kMappedBytes = kHugePage;
// Larger blocks are kept in one place: filling 32 KiB takes long enough to
// avoid contention for its lock.
constexpr size_t kLargestSharded = size_t{32} << 10;
// Blocks from this size on count against the memory bound.
constexpr size_t kBoundedBytes = size_t{64} << 20;

// Held for a few instructions; its holder must neither sleep nor call other
// modules.
class SpinLock {
 public:
  void lock() {
    while (locked_.exchange(true, std::memory_order_acquire)) {
      while (locked_.load(std::memory_order_relaxed)) __builtin_ia32_pause();
    }
  }
  bool try_lock() {
    return !locked_.load(std::memory_order_relaxed) &&
           !locked_.exchange(true, std::memory_order_acquire);
  }
  void unlock() { locked_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> locked_{false};
};

// The header of a block that is kept. The data follows it, except for mapped
// blocks.
struct FreeBlock {
  FreeBlock* next;
  void* data;
  int size_class;
};

// The mapping of a size class: huge pages, and small ones for its end if that
// is a small part of the block and of a huge page: a tensor seldom needs all of
// its class, and the system provides a huge page as a whole or not at all.
struct Mapping {
  size_t huge, small;  // bytes

  static Mapping Of(int size_class) {
    const size_t bytes = SizeOfClass(size_class);
    const size_t end = bytes % kHugePage;
    if (end * 2 <= kHugePage && end * 4 <= bytes) return {bytes - end, end};
    return {bytes - end + kHugePage, 0};
  }
  size_t bytes() const { return huge + small; }
};

void* Map(const Mapping& mapping) {
  // Maps one huge page more than needed, then unmaps what lies outside the
  // alignment.
  const size_t bytes = mapping.bytes(), reserved = bytes + kHugePage;
  void* address = mmap(nullptr, reserved, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) return nullptr;
  const uintptr_t begin = reinterpret_cast<uintptr_t>(address);
  const uintptr_t data = (begin + kHugePage - 1) & ~(kHugePage - 1);
  const uintptr_t tail = begin + reserved - (data + bytes);
  if (data > begin) munmap(address, data - begin);
  if (tail > 0) munmap(reinterpret_cast<void*>(data + bytes), tail);
  void* result = reinterpret_cast<void*>(data);
  // Advice only: a refusal does not matter.
  madvise(result, mapping.huge, MADV_HUGEPAGE);
  return result;
}

// Returns null if the system has no memory.
FreeBlock* NewBlock(int size_class) {
  const size_t bytes = SizeOfClass(size_class);
  const bool mapped = bytes >= kMappedBytes;
  void* header = std::aligned_alloc(Buffer::kAlignment,
                                    kBlockHeader + (mapped ? 0 : bytes));
  if (header == nullptr) return nullptr;
  void* data = mapped ? Map(Mapping::Of(size_class))
                      : static_cast<char*>(header) + kBlockHeader;
  if (data == nullptr) {
    std::free(header);
    return nullptr;
  }
  return new (header) FreeBlock{nullptr, data, size_class};
}

void DeleteBlocks(FreeBlock* block) {
  while (block != nullptr) {
    FreeBlock* next = block->next;
    if (SizeOfClass(block->size_class) >= kMappedBytes) {
      munmap(block->data, Mapping::Of(block->size_class).bytes());
    }
    std::free(block);
    block = next;
  }
}

// The kept blocks and the counters of one lock. A buffer may be returned to
// another shard than it came from, so only sums over all shards are meaningful.
struct alignas(64) Shard {
  SpinLock lock;
  bool closed = false;
  int64_t live = 0;
  int64_t allocations = 0;
  int64_t system_allocations = 0;
  // Written under the lock; atomic because they are also read without it.
  std::atomic<int64_t> bytes_in_use{0};
  std::atomic<int64_t> bytes_kept{0};
  FreeBlock* waiting[kNumSizeClasses] = {};

  FreeBlock* Pop(int size_class) {
    FreeBlock* block = waiting[size_class];
    if (block == nullptr) return nullptr;
    waiting[size_class] = block->next;
    Add(bytes_kept, -static_cast<int64_t>(SizeOfClass(size_class)));
    return block;
  }
  void Push(FreeBlock* block) {
    block->next = waiting[block->size_class];
    waiting[block->size_class] = block;
    Add(bytes_kept, static_cast<int64_t>(SizeOfClass(block->size_class)));
  }
  // Removes blocks, the largest first, until at most `limit` bytes are kept.
  FreeBlock* Evict(int64_t limit) {
    FreeBlock* evicted = nullptr;
    for (int c = kNumSizeClasses - 1; c >= 0 && bytes_kept > limit;) {
      FreeBlock* block = Pop(c);
      if (block == nullptr) {
        --c;
        continue;
      }
      block->next = evicted;
      evicted = block;
    }
    return evicted;
  }
  // Cheaper than fetch_add, and enough under the lock.
  static void Add(std::atomic<int64_t>& number, int64_t amount) {
    number.store(number.load(std::memory_order_relaxed) + amount,
                 std::memory_order_relaxed);
  }
};

}  // namespace

// Small blocks are kept in shards that threads select by their identity, so two
// threads seldom need one lock; large ones in a central shard. An allocation
// touches no memory that all threads write.
//
// Lifetime: the pool owns its Impl until it closes it. Closing takes all locks
// and counts the live buffers; from then on each returned buffer is freed, and
// the last one frees the Impl.
class BufferPool::Impl {
 public:
  explicit Impl(const Options& options)
      : central_limit_(Clamp(options.max_bytes_kept / 8 * 7)),
        shard_limit_(Clamp(options.max_bytes_kept / 8 / kShards)),
        memory_bound_(options.memory_bound) {}

  BufferPtr Allocate(size_t bytes);
  void GiveBack(FreeBlock* block, size_t bytes);
  BufferPoolStats Stats();
  void Close();

 private:
  static constexpr int kShards = 8;
  static constexpr int kCentral = kShards;

  static int64_t Clamp(size_t bytes) {
    return static_cast<int64_t>(std::min(bytes, internal::kMaxBufferBytes));
  }
  // Uses the top bits of a hash of a thread-local address.
  static int ShardOfThisThread() {
    const auto thread = reinterpret_cast<uintptr_t>(__builtin_thread_pointer());
    return static_cast<int>((thread * 0x9e3779b97f4a7c15u) >> 61);
  }
  static int HomeOf(int size_class) {
    return SizeOfClass(size_class) > kLargestSharded ? kCentral
                                                     : ShardOfThisThread();
  }
  BufferPtr AllocateBounded(size_t bytes);
  // Reserves within the bound, until it is counted as in use.
  bool Reserve(int64_t bytes);
  bool TryReserve(int64_t bytes, int64_t room);
  BufferPtr Take(size_t bytes);
  BufferPtr HandOut(FreeBlock* block, size_t bytes);
  int64_t Sum(std::atomic<int64_t> Shard::*number) const;
  void Count(Shard& home, size_t bytes);
  FreeBlock* TakeElsewhere(int home, int size_class);
  FreeBlock* NewFromSystem(int size_class);
  void UpdatePeak();
  void ReleaseKept();
  void LastOutDeletes() {
    if (remaining_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  const int64_t central_limit_;
  const int64_t shard_limit_;
  const std::function<int64_t()> memory_bound_;
  // Held while a large block moves from `reserved_` to those in use, and while
  // both are read: each block counts once.
  SpinLock bound_lock_;
  // Bytes of large allocations in progress: within the bound, and not yet
  // counted as in use.
  int64_t reserved_ = 0;
  std::atomic<int64_t> peak_{0};
  std::atomic<int64_t> remaining_{0};  // live buffers, once closed
  Shard shards_[kShards + 1];
};

namespace {

class PoolBuffer final : public Buffer {
 public:
  PoolBuffer(void* data, size_t size, BufferPool::Impl* impl, int size_class)
      : Buffer(data, size), impl_(impl), size_class_(size_class) {}

 private:
  void Destroy() override {
    BufferPool::Impl* impl = impl_;
    const FreeBlock block{nullptr, data(), size_class_};
    const size_t bytes = size();
    void* header = this;
    this->~PoolBuffer();
    impl->GiveBack(new (header) FreeBlock(block), bytes);
  }

  BufferPool::Impl* const impl_;
  const int size_class_;
};
static_assert(sizeof(PoolBuffer) <= kBlockHeader);
static_assert(sizeof(FreeBlock) <= kBlockHeader);

}  // namespace

BufferPtr BufferPool::Impl::Allocate(size_t bytes) {
  if (bytes > internal::kMaxBufferBytes) return {};
  if (bytes < kBoundedBytes || !memory_bound_) return Take(bytes);
  return AllocateBounded(bytes);
}

// A kept block needs no new memory: the bound is not checked for it.
BufferPtr BufferPool::Impl::AllocateBounded(size_t bytes) {
  const int size_class = SizeClassOf(bytes);
  Shard& shard = shards_[kCentral];
  shard.lock.lock();
  if (FreeBlock* kept = shard.Pop(size_class)) {
    Count(shard, bytes);  // unlocks
    return HandOut(kept, bytes);
  }
  shard.lock.unlock();
  const int64_t needed = static_cast<int64_t>(bytes);
  if (!Reserve(needed)) return {};
  FreeBlock* block = NewFromSystem(size_class);
  std::lock_guard<SpinLock> lock(bound_lock_);
  reserved_ -= needed;
  if (block == nullptr) return {};
  shard.lock.lock();
  ++shard.system_allocations;
  Count(shard, bytes);  // unlocks
  return HandOut(block, bytes);
}

int64_t BufferPool::Impl::Sum(std::atomic<int64_t> Shard::*number) const {
  int64_t sum = 0;
  for (const Shard& shard : shards_) {
    sum += (shard.*number).load(std::memory_order_relaxed);
  }
  return sum;
}

// Blocks count as soon as they are promised; for the system their pages are
// free until they are written. A refused allocation was never counted, so it
// does not cause others to be refused.
bool BufferPool::Impl::Reserve(int64_t bytes) {
  const int64_t bound = memory_bound_();
  if (TryReserve(bytes, bound - Sum(&Shard::bytes_kept))) return true;
  ReleaseKept();
  return TryReserve(bytes, bound);
}

bool BufferPool::Impl::TryReserve(int64_t bytes, int64_t room) {
  std::lock_guard<SpinLock> lock(bound_lock_);
  if (Sum(&Shard::bytes_in_use) + reserved_ + bytes > room) return false;
  reserved_ += bytes;
  return true;
}

BufferPtr BufferPool::Impl::HandOut(FreeBlock* block, size_t bytes) {
  void* const data = block->data;
  const int size_class = block->size_class;
  return BufferPtr::Adopt(new (static_cast<void*>(block))
                              PoolBuffer(data, bytes, this, size_class));
}

BufferPtr BufferPool::Impl::Take(size_t bytes) {
  const int size_class = SizeClassOf(bytes);
  const int home = HomeOf(size_class);
  Shard& shard = shards_[home];
  shard.lock.lock();
  FreeBlock* block = shard.Pop(size_class);
  if (block == nullptr) {
    shard.lock.unlock();
    block = TakeElsewhere(home, size_class);
    const bool is_new = block == nullptr;
    if (is_new) block = NewFromSystem(size_class);
    if (block == nullptr) return {};
    shard.lock.lock();
    if (is_new) ++shard.system_allocations;
  }
  Count(shard, bytes);  // unlocks
  return HandOut(block, bytes);
}

// Counts an allocation and unlocks `home`. Checking for a new peak takes a sum
// over all shards, so small blocks do it once per 64 KiB.
void BufferPool::Impl::Count(Shard& home, size_t bytes) {
  constexpr int kPeakStep = 16;
  const int64_t before = home.bytes_in_use.load(std::memory_order_relaxed);
  const int64_t after = before + static_cast<int64_t>(bytes);
  home.bytes_in_use.store(after, std::memory_order_relaxed);
  ++home.live;
  ++home.allocations;
  home.lock.unlock();
  if (after >> kPeakStep > before >> kPeakStep) UpdatePeak();
}

// Returns a block that other threads gave back: consumers of this thread's
// buffers. A locked shard is waited for only if no other shard has a block: its
// holder may be preempted.
FreeBlock* BufferPool::Impl::TakeElsewhere(int home, int size_class) {
  if (home == kCentral) return nullptr;
  absl::InlinedVector<Shard*, kShards> busy;
  for (int i = 1; i < kShards; ++i) {
    Shard& shard = shards_[(home + i) % kShards];
    if (shard.bytes_kept.load(std::memory_order_relaxed) == 0) continue;
    if (!shard.lock.try_lock()) {
      busy.push_back(&shard);
      continue;
    }
    std::lock_guard<SpinLock> lock(shard.lock, std::adopt_lock);
    if (FreeBlock* block = shard.Pop(size_class)) return block;
  }
  for (Shard* shard : busy) {
    std::lock_guard<SpinLock> lock(shard->lock);
    if (FreeBlock* block = shard->Pop(size_class)) return block;
  }
  return nullptr;
}

FreeBlock* BufferPool::Impl::NewFromSystem(int size_class) {
  if (FreeBlock* block = NewBlock(size_class)) return block;
  ReleaseKept();  // kept blocks may be just the missing memory
  return NewBlock(size_class);
}

void BufferPool::Impl::ReleaseKept() {
  for (Shard& shard : shards_) {
    shard.lock.lock();
    FreeBlock* blocks = shard.Evict(0);
    shard.lock.unlock();
    DeleteBlocks(blocks);
  }
}

void BufferPool::Impl::GiveBack(FreeBlock* block, size_t bytes) {
  const int home = HomeOf(block->size_class);
  Shard& shard = shards_[home];
  const int64_t limit = home == kCentral ? central_limit_ : shard_limit_;
  FreeBlock* evicted = nullptr;
  shard.lock.lock();
  Shard::Add(shard.bytes_in_use, -static_cast<int64_t>(bytes));
  --shard.live;
  const bool closed = shard.closed;
  if (closed) {
    evicted = block;
  } else {
    shard.Push(block);
    if (shard.bytes_kept.load(std::memory_order_relaxed) > limit) {
      evicted = shard.Evict(limit);
    }
  }
  shard.lock.unlock();
  if (evicted != nullptr) DeleteBlocks(evicted);
  if (closed) LastOutDeletes();
}

void BufferPool::Impl::UpdatePeak() {
  const int64_t in_use = Sum(&Shard::bytes_in_use);
  int64_t peak = peak_.load(std::memory_order_relaxed);
  while (in_use > peak && !peak_.compare_exchange_weak(
                              peak, in_use, std::memory_order_relaxed)) {
  }
}

BufferPoolStats BufferPool::Impl::Stats() {
  UpdatePeak();
  BufferPoolStats stats;
  for (Shard& shard : shards_) shard.lock.lock();
  for (const Shard& shard : shards_) {
    stats.bytes_in_use += shard.bytes_in_use;
    stats.bytes_kept += shard.bytes_kept;
    stats.allocations += shard.allocations;
    stats.system_allocations += shard.system_allocations;
  }
  for (Shard& shard : shards_) shard.lock.unlock();
  stats.peak_bytes_in_use = std::max(peak_.load(), stats.bytes_in_use);
  return stats;
}

void BufferPool::Impl::Close() {
  int64_t live = 0;
  for (Shard& shard : shards_) shard.lock.lock();
  for (Shard& shard : shards_) {
    live += shard.live;
    shard.closed = true;
  }
  remaining_ = live + 1;  // this call counts as one buffer until it is done
  for (Shard& shard : shards_) shard.lock.unlock();
  ReleaseKept();
  LastOutDeletes();
}

BufferPool::BufferPool() : BufferPool(Options()) {}
BufferPool::BufferPool(const Options& options) : impl_(new Impl(options)) {}
BufferPool::~BufferPool() { impl_->Close(); }
BufferPtr BufferPool::Allocate(size_t bytes) { return impl_->Allocate(bytes); }
BufferPoolStats BufferPool::stats() const { return impl_->Stats(); }

}  // namespace weft
