#include "libs/device/cuda/region_pool.h"

#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

constexpr size_t kRegion = 1024;

// Allocates regions from the heap and counts them.
class RegionPoolTest : public testing::Test {
 protected:
  std::unique_ptr<RegionPool> NewPool(size_t limit, bool is_exact = false) {
    RegionPoolOptions options;
    options.limit = limit;
    options.is_exact = is_exact;
    options.first_region = kRegion;
    options.most_region = kRegion;
    options.clock = clock_;
    options.take = [this](size_t bytes) {
      ++taken_;
      last_taken_ = bytes;
      return std::malloc(bytes);
    };
    options.give_back = [this](void* region) {
      ++given_back_;
      std::free(region);
    };
    return std::make_unique<RegionPool>(std::move(options));
  }

  std::optional<uint64_t> LastUseOf(const BufferPtr& buffer) const {
    return RegionPool::LastUse(*buffer.get(), *clock_);
  }

  const std::shared_ptr<LaunchClock> clock_ = NewLaunchClock();
  int taken_ = 0;
  int given_back_ = 0;
  size_t last_taken_ = 0;
};

TEST_F(RegionPoolTest, AdjacentFreeBlocksAreMerged) {
  const auto pool = NewPool(kRegion);
  std::vector<BufferPtr> quarters;
  for (int i = 0; i < 4; ++i) quarters.push_back(pool->Allocate(256));
  EXPECT_FALSE(pool->Allocate(1));
  // In an order that joins blocks with the left, the right and both neighbors.
  for (int i : {0, 1, 3, 2}) quarters[i] = BufferPtr();
  EXPECT_TRUE(pool->Allocate(kRegion));
  EXPECT_EQ(taken_, 1);
}

TEST_F(RegionPoolTest, ContinuesAfterReachingItsLimit) {
  const auto pool = NewPool(2 * kRegion);
  BufferPtr first = pool->Allocate(kRegion);
  EXPECT_FALSE(pool->Allocate(kRegion + 1));
  EXPECT_FALSE(pool->Allocate(~size_t{0}));
  EXPECT_TRUE(pool->Allocate(kRegion));
  EXPECT_EQ(pool->stats().reserved, 2 * kRegion);
}

TEST_F(RegionPoolTest, IdleRegionsAreFreedForALargerOne) {
  const auto pool = NewPool(2 * kRegion);
  { const BufferPtr small = pool->Allocate(kRegion); }
  EXPECT_TRUE(pool->Allocate(2 * kRegion));
  EXPECT_EQ(given_back_, 1);
}

TEST_F(RegionPoolTest, BuffersOutliveThePool) {
  auto pool = NewPool(kRegion);
  BufferPtr buffer = pool->Allocate(0);
  ASSERT_TRUE(buffer);
  EXPECT_EQ(buffer->memory_kind(), MemoryKind::kDevice);
  pool = nullptr;
  EXPECT_EQ(given_back_, 0);
  buffer = BufferPtr();
  EXPECT_EQ(given_back_, 1);
}

TEST_F(RegionPoolTest, ReservedMemoryIsAllocated) {
  const auto pool = NewPool(4 * kRegion + 100);
  EXPECT_TRUE(pool->Reserve(4 * kRegion + 100));
  const BufferPtr buffer = pool->Allocate(3 * kRegion);
  EXPECT_TRUE(buffer);
  EXPECT_EQ(taken_, 1);
  EXPECT_EQ(pool->stats().in_use, 3 * kRegion);
}

TEST_F(RegionPoolTest, ExactAllocationTakesOneRegion) {
  const auto pool = NewPool(kRegion, /*is_exact=*/true);
  BufferPtr first = pool->Allocate(3);
  EXPECT_EQ(last_taken_, 3u);
  BufferPtr second = pool->Allocate(5);
  EXPECT_EQ(last_taken_, 5u);
  EXPECT_EQ(pool->stats().in_use, 8);
  first = BufferPtr();
  EXPECT_EQ(given_back_, 1);
  EXPECT_TRUE(pool->Allocate(0));
  EXPECT_EQ(taken_, 3);
  EXPECT_FALSE(pool->Allocate(kRegion));
  second = BufferPtr();
  EXPECT_EQ(pool->stats().reserved, 0);
}

TEST_F(RegionPoolTest, BufferHasItsLastUse) {
  const auto pool = NewPool(kRegion);
  BufferPtr left = pool->Allocate(256);
  BufferPtr right = pool->Allocate(256);
  EXPECT_EQ(LastUseOf(left), 0u);
  *clock_ = 5;
  left = BufferPtr();
  *clock_ = 3;  // the later of the two uses
  right = BufferPtr();
  EXPECT_EQ(LastUseOf(pool->Allocate(256)), 5u);  // joined, and split again
  const BufferPtr both = pool->Allocate(kRegion);
  EXPECT_EQ(LastUseOf(both), 5u);
}

TEST_F(RegionPoolTest, ForeignBuffersHaveNoLastUse) {
  const auto pool = NewPool(kRegion);
  const LaunchClock other{1};
  EXPECT_FALSE(
      RegionPool::LastUse(*pool->Allocate(1).get(), other).has_value());
  EXPECT_FALSE(LastUseOf(HeapAllocator().Allocate(1)).has_value());
}

// A stream whose events complete when the test says so.
class LaunchMarksTest : public testing::Test {
 protected:
  struct FakeEvent {
    uint64_t number = 0;
  };

  uint64_t Record() {
    const uint64_t number = marks_.Begin();
    marks_.Recorded(number, std::make_shared<FakeEvent>(FakeEvent{number}));
    return number;
  }
  // Returns the event to wait for; 0: a new one; -1: none.
  int64_t WaitFor(uint64_t mark) const {
    const auto wait = marks_.WaitFor(mark);
    if (!wait.is_needed) return -1;
    return wait.event ? static_cast<int64_t>(wait.event->number) : 0;
  }

  LaunchMarks<FakeEvent> marks_{NewLaunchClock()};
};

TEST_F(LaunchMarksTest, UnusedMemoryIsNotWaitedFor) {
  EXPECT_EQ(WaitFor(0), -1);
  Record();
  EXPECT_EQ(WaitFor(0), -1);
}

TEST_F(LaunchMarksTest, TheFirstLaterEventIsWaitedFor) {
  const uint64_t before = Record();
  const uint64_t mark = marks_.clock();
  EXPECT_EQ(WaitFor(mark), 0);  // nothing was recorded since
  const uint64_t after = Record();
  Record();
  EXPECT_EQ(WaitFor(mark), static_cast<int64_t>(after));
  marks_.Ended(before);
  EXPECT_EQ(WaitFor(mark), static_cast<int64_t>(after));
  marks_.Ended(after);
  EXPECT_EQ(WaitFor(mark), -1);
}

TEST_F(LaunchMarksTest, LaterEventCoversEarlierOnes) {
  const uint64_t mark = marks_.clock();
  const uint64_t first = Record();
  const uint64_t second = Record();
  marks_.Ended(second);
  EXPECT_EQ(WaitFor(mark), -1);
  EXPECT_TRUE(marks_.HasEnded(first));
  marks_.Ended(first);  // which reverts nothing
  EXPECT_EQ(WaitFor(mark), -1);
  EXPECT_TRUE(marks_.HasEnded(second));
  EXPECT_FALSE(marks_.HasEnded(Record()));
  EXPECT_EQ(WaitFor(marks_.clock()), 0);
}

// Between taking a number and recording its event, others launch work and free
// memory.
TEST_F(LaunchMarksTest, PendingEventDoesNotCoverLaterLaunches) {
  const uint64_t number = marks_.Begin();
  const uint64_t mark = marks_.clock();
  marks_.Recorded(number, std::make_shared<FakeEvent>(FakeEvent{number}));
  EXPECT_EQ(WaitFor(mark), 0);
  marks_.Ended(number);
  EXPECT_EQ(WaitFor(mark), 0);
}

}  // namespace
}  // namespace weft
