#include "libs/tensor/buffer.h"

#include <cstring>
#include <limits>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "libs/tensor/size_class.h"

namespace weft {
namespace {

constexpr size_t kSizes[] = {0,    1,     63,      64,       65,
                             1000, 32768, 1 << 20, 2u << 20, (5u << 20) + 1};

bool IsAligned(const BufferPtr& buffer) {
  return reinterpret_cast<uintptr_t>(buffer->data()) % Buffer::kAlignment == 0;
}

TEST(SizeClassTest, SizeClassesWasteLittle) {
  for (int c = 0; c + 1 < internal::kNumSizeClasses; ++c) {
    const size_t size = internal::SizeOfClass(c);
    EXPECT_EQ(internal::SizeClassOf(size), c);
    EXPECT_EQ(internal::SizeClassOf(size + 1), c + 1);
    EXPECT_EQ(size % 64, 0u);
    if (size >= 256) {
      EXPECT_LE(internal::SizeOfClass(c + 1), size + size / 4);
    }
  }
  EXPECT_EQ(internal::SizeClassOf(0), 0);
  EXPECT_LT(internal::SizeClassOf(internal::kMaxBufferBytes),
            internal::kNumSizeClasses);
}

// Requirements for every allocator.
class AllocatorTest : public ::testing::TestWithParam<bool> {
 protected:
  Allocator& allocator() { return GetParam() ? pool_ : HeapAllocator(); }

 private:
  BufferPool pool_;
};

TEST_P(AllocatorTest, ReturnsAlignedMemoryOfRequestedSize) {
  for (const size_t size : kSizes) {
    for (int round = 0; round < 2; ++round) {
      const BufferPtr buffer = allocator().Allocate(size);
      ASSERT_TRUE(buffer);
      EXPECT_EQ(buffer->size(), size);
      EXPECT_TRUE(IsAligned(buffer));
      std::memset(buffer->data(), round, size);
    }
  }
}

TEST_P(AllocatorTest, ImpossibleSizesAreRefused) {
  EXPECT_FALSE(allocator().Allocate(std::numeric_limits<size_t>::max()));
  EXPECT_FALSE(allocator().Allocate((size_t{1} << 46) + 1));
}

TEST_P(AllocatorTest, CountsReferences) {
  BufferPtr first = allocator().Allocate(100);
  EXPECT_TRUE(first->RefCountIsOne());
  BufferPtr second = first;
  EXPECT_FALSE(first->RefCountIsOne());
  BufferPtr third = std::move(second);
  EXPECT_FALSE(second);  // NOLINT(bugprone-use-after-move): moves leave null
  first = third;
  first = BufferPtr();
  EXPECT_TRUE(third->RefCountIsOne());
}

INSTANTIATE_TEST_SUITE_P(HeapAndPool, AllocatorTest, ::testing::Bool());

TEST(BufferPoolTest, FreedBlocksAreReused) {
  BufferPool pool;
  for (const size_t size : kSizes) {
    const void* data = pool.Allocate(size)->data();
    const int64_t from_system = pool.stats().system_allocations;
    EXPECT_EQ(pool.Allocate(size)->data(), data);
    EXPECT_EQ(pool.stats().system_allocations, from_system);
  }
}

TEST(BufferPoolTest, StatsAreExact) {
  BufferPool pool;
  BufferPtr small = pool.Allocate(100);
  BufferPtr large = pool.Allocate(3 << 20);
  BufferPoolStats stats = pool.stats();
  EXPECT_EQ(stats.bytes_in_use, 100 + (3 << 20));
  EXPECT_EQ(stats.bytes_kept, 0);
  EXPECT_EQ(stats.allocations, 2);
  EXPECT_EQ(stats.system_allocations, 2);
  small = BufferPtr();
  large = BufferPtr();
  small = pool.Allocate(90);
  stats = pool.stats();
  EXPECT_EQ(stats.bytes_in_use, 90);
  EXPECT_EQ(stats.bytes_kept, 3 << 20);
  EXPECT_EQ(stats.peak_bytes_in_use, 100 + (3 << 20));
  EXPECT_EQ(stats.allocations, 3);
  EXPECT_EQ(stats.system_allocations, 2);
}

TEST(BufferPoolTest, CachedBytesAreLimited) {
  constexpr size_t kLimit = 16 << 20;
  BufferPool pool({.max_bytes_kept = kLimit});
  for (const size_t size : {size_t{200}, size_t{40000}, size_t{3} << 20}) {
    std::vector<BufferPtr> buffers;
    for (size_t bytes = 0; bytes < 2 * kLimit; bytes += size) {
      buffers.push_back(pool.Allocate(size));
    }
    buffers.clear();
    const BufferPoolStats stats = pool.stats();
    EXPECT_LE(stats.bytes_kept, static_cast<int64_t>(kLimit));
    EXPECT_GT(stats.bytes_kept, 0);
    EXPECT_EQ(stats.bytes_in_use, 0);
  }
  BufferPool none({.max_bytes_kept = 0});
  none.Allocate(100);
  none.Allocate(4 << 20);
  EXPECT_EQ(none.stats().bytes_kept, 0);
}

TEST(BufferPoolTest, BuffersOutliveThePool) {
  for (const size_t size : kSizes) {
    auto pool = std::make_unique<BufferPool>();
    BufferPtr kept = pool->Allocate(size);
    BufferPtr other = pool->Allocate(size);
    other = BufferPtr();
    pool.reset();
    std::memset(kept->data(), 7, size);
    const BufferPtr copy = kept;
  }
}

// Producers' blocks are freed on consumers' threads; none is lost.
TEST(BufferPoolTest, ThreadsShareFreedBlocks) {
  constexpr int kThreads = 8;
  constexpr int kRounds = 2000;
  auto pool = std::make_unique<BufferPool>();
  std::vector<std::vector<BufferPtr>> made(kThreads);
  const auto run = [&](auto work) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
    for (std::thread& thread : threads) thread.join();
  };
  run([&](int t) {
    for (int i = 0; i < kRounds; ++i) {
      BufferPtr buffer = pool->Allocate((i * 37) % 70000);
      std::memset(buffer->data(), t, buffer->size());
      if (i % 10 == 0) made[t].push_back(std::move(buffer));
    }
  });
  EXPECT_EQ(pool->stats().allocations, kThreads * kRounds);
  run([&](int t) { made[(t + 1) % kThreads].clear(); });
  EXPECT_EQ(pool->stats().bytes_in_use, 0);
  run([&](int t) { made[t].push_back(pool->Allocate(64)); });
  pool.reset();
  run([&](int t) { made[t].clear(); });
}

// Large blocks count from when they are promised, and while they are kept.
TEST(BufferPoolBoundTest, HoldsTheMemoryBound) {
  constexpr size_t kLarge = size_t{64} << 20;
  int64_t bound = 3 * kLarge;
  BufferPool pool({.memory_bound = [&] { return bound; }});
  EXPECT_FALSE(pool.Allocate(4 * kLarge));
  EXPECT_EQ(pool.stats().system_allocations, 0);
  BufferPtr first = pool.Allocate(2 * kLarge);
  ASSERT_TRUE(first);
  EXPECT_FALSE(pool.Allocate(2 * kLarge));
  EXPECT_TRUE(pool.Allocate(kLarge));
  EXPECT_TRUE(pool.Allocate(kLarge - 1));  // the bound is not checked
  first = {};
  // Returned memory is available again.
  EXPECT_TRUE(pool.Allocate(3 * kLarge));
  bound = 0;
  EXPECT_FALSE(pool.Allocate(kLarge));
  EXPECT_TRUE(pool.Allocate(1));
}

TEST(BufferPoolBoundTest, CachedBlockNeedsNoBoundCheck) {
  constexpr size_t kLarge = size_t{64} << 20;
  int num_asked = 0;
  BufferPool pool({.memory_bound = [&] {
    ++num_asked;
    return static_cast<int64_t>(kLarge);
  }});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(pool.Allocate(kLarge));
  EXPECT_EQ(num_asked, 1);
  EXPECT_EQ(pool.stats().system_allocations, 1);
  EXPECT_EQ(pool.stats().bytes_kept, static_cast<int64_t>(kLarge));
}

// Another thread allocates while the system is asked for the first block.
TEST(BufferPoolBoundTest, RefusedAllocationDoesNotBlockOthers) {
  constexpr size_t kLarge = size_t{64} << 20;
  BufferPool* asked = nullptr;
  BufferPtr other;
  bool is_first = true;
  BufferPool pool({.memory_bound = [&]() -> int64_t {
    if (std::exchange(is_first, false)) other = asked->Allocate(kLarge);
    return 2 * kLarge;
  }});
  asked = &pool;
  EXPECT_FALSE(pool.Allocate(4 * kLarge));
  EXPECT_TRUE(other);
}

}  // namespace
}  // namespace weft
