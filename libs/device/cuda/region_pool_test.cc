#include "libs/device/cuda/region_pool.h"

#include <cstdlib>
#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

constexpr size_t kRegion = 1024;

// Counts regions out of the heap.
class RegionPoolTest : public testing::Test {
 protected:
  std::unique_ptr<RegionPool> NewPool(size_t limit) {
    RegionPoolOptions options;
    options.limit = limit;
    options.first_region = kRegion;
    options.most_region = kRegion;
    options.take = [this](size_t bytes) {
      ++taken_;
      return std::malloc(bytes);
    };
    options.give_back = [this](void* region) {
      ++given_back_;
      std::free(region);
    };
    return std::make_unique<RegionPool>(std::move(options));
  }

  int taken_ = 0;
  int given_back_ = 0;
};

TEST_F(RegionPoolTest, NeighboursThatWereGivenBackMakeOneBuffer) {
  const auto pool = NewPool(kRegion);
  std::vector<BufferPtr> quarters;
  for (int i = 0; i < 4; ++i) quarters.push_back(pool->Allocate(256));
  EXPECT_FALSE(pool->Allocate(1));
  // In an order that joins with the left, the right and both.
  for (int i : {0, 1, 3, 2}) quarters[i] = BufferPtr();
  EXPECT_TRUE(pool->Allocate(kRegion));
  EXPECT_EQ(taken_, 1);
}

TEST_F(RegionPoolTest, RefusesBeyondItsLimitAndGoesOn) {
  const auto pool = NewPool(2 * kRegion);
  BufferPtr first = pool->Allocate(kRegion);
  EXPECT_FALSE(pool->Allocate(kRegion + 1));
  EXPECT_FALSE(pool->Allocate(~size_t{0}));
  EXPECT_TRUE(pool->Allocate(kRegion));
  EXPECT_EQ(pool->stats().reserved, 2 * kRegion);
}

TEST_F(RegionPoolTest, IdleRegionsMakeRoomForALargerOne) {
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

TEST_F(RegionPoolTest, WhatWasReservedIsHandedOut) {
  const auto pool = NewPool(4 * kRegion + 100);
  EXPECT_TRUE(pool->Reserve(4 * kRegion + 100));
  const BufferPtr buffer = pool->Allocate(3 * kRegion);
  EXPECT_TRUE(buffer);
  EXPECT_EQ(taken_, 1);
  EXPECT_EQ(pool->stats().in_use, 3 * kRegion);
}

}  // namespace
}  // namespace weft
