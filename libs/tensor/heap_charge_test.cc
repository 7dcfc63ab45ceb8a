#include "libs/tensor/heap_charge.h"

#include <limits>
#include <utility>

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/tensor/buffer.h"
#include "libs/tensor/testing/counting_allocator.h"
#include "libs/tensor/testing/small_allocator.h"

namespace weft {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

TEST(HeapChargeTest, SmallChargesDoNotAllocate) {
  CountingAllocator allocator;
  HeapCharge charge(allocator);
  for (size_t i = 0; i < HeapCharge::kFreeBytes / 1024; ++i) {
    ASSERT_OK(charge.Add(1024));
  }
  EXPECT_EQ(allocator.allocations, 0);
  ASSERT_OK(charge.Add(1));
  EXPECT_EQ(allocator.allocations, 1);
}

TEST(HeapChargeTest, GrowingChargesRarelyAllocate) {
  CountingAllocator allocator;
  HeapCharge charge(allocator);
  for (int i = 0; i < 64 * 1024; ++i) ASSERT_OK(charge.Add(1024));
  EXPECT_EQ(charge.used(), 64 * kMiB);
  EXPECT_LE(allocator.allocations, 12);
}

TEST(HeapChargeTest, MissingMemoryIsResourceExhausted) {
  SmallAllocator allocator(/*block=*/4 * kMiB, /*total=*/8 * kMiB);
  HeapCharge charge(allocator);
  ASSERT_OK(charge.Add(4 * kMiB));
  EXPECT_THAT(charge.Add(8 * kMiB),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "8388608 bytes, with 4194304 bytes"));
  EXPECT_EQ(charge.used(), 4 * kMiB) << "what is refused is not added";
  EXPECT_OK(charge.Add(1));
}

// Reserving half as much again is refused, but the needed memory is available.
TEST(HeapChargeTest, TakesTheLastBytes) {
  SmallAllocator allocator(/*block=*/4 * kMiB, /*total=*/4 * kMiB);
  HeapCharge charge(allocator);
  ASSERT_OK(charge.Add(5 * kMiB - 10));
  EXPECT_OK(charge.Add(10));
  EXPECT_THAT(charge.Add(1), StatusIs(absl::StatusCode::kResourceExhausted));
}

// The pool checks its bound for large blocks only.
TEST(HeapChargeTest, SmallAdditionsStayWithinTheBoundOfAPool) {
  constexpr size_t kBound = 256 * kMiB;
  BufferPool pool({.memory_bound = [] { return int64_t{kBound}; }});
  HeapCharge charge(pool);
  while (charge.used() <= kBound && charge.Add(500).ok()) {
  }
  EXPECT_LE(charge.used(), kBound);
}

TEST(HeapChargeTest, ProductsDoNotOverflow) {
  HeapCharge charge(HeapAllocator());
  const size_t half = size_t{1} << 63;
  EXPECT_THAT(charge.AddObjects(half, 2),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(charge.Add(std::numeric_limits<size_t>::max()),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(charge.used(), 0u);
}

TEST(HeapChargeTest, ShortStringsTakeNoHeap) {
  HeapCharge charge(HeapAllocator());
  ASSERT_OK(charge.AddStrings(1 << 30, 15));
  EXPECT_EQ(charge.used(), 0u);
  ASSERT_OK(charge.AddStrings(10, 99));
  EXPECT_EQ(charge.used(), 1000u);
  charge.Subtract(1000);
  EXPECT_EQ(charge.used(), 0u);
}

TEST(HeapChargeTest, CountsInThePoolUntilItEnds) {
  BufferPool pool({.memory_bound = [] { return int64_t{100} << 20; }});
  {
    HeapCharge charge(pool);
    ASSERT_OK(charge.Add(80 * kMiB));
    EXPECT_EQ(pool.stats().bytes_in_use, 79 << 20);
    HeapCharge other(pool);
    EXPECT_THAT(other.Add(80 * kMiB),
                StatusIs(absl::StatusCode::kResourceExhausted));
    HeapCharge moved = std::move(charge);
    EXPECT_OK(moved.Add(1));
    EXPECT_EQ(charge.used(), 0u);
    EXPECT_THAT(charge.Add(80 * kMiB),
                StatusIs(absl::StatusCode::kResourceExhausted))
        << "what was moved from holds nothing";
  }
  EXPECT_EQ(pool.stats().bytes_in_use, 0);
}

// A large kept block has memory, which a charge returns.
TEST(HeapChargeTest, LargeChargesHoldNoMemoryOfTheSystem) {
  BufferPool pool;
  BufferPtr block = pool.Allocate(64 * kMiB);
  char* const data = static_cast<char*>(block->data());
  data[2 * kMiB] = 1;
  block = {};
  HeapCharge charge(pool);
  ASSERT_OK(charge.Add(65 * kMiB));
  EXPECT_EQ(pool.stats().system_allocations, 1);
  EXPECT_EQ(data[2 * kMiB], 0) << "of a new page";
}

}  // namespace
}  // namespace weft
