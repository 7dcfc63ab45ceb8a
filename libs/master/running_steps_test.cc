#include "libs/master/running_steps.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kMany = 20'000;

std::vector<uint64_t> Numbers(uint64_t count) {
  std::vector<uint64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 1);
  return numbers;
}

// Returns how many numbers are examined when steps end in this order.
uint64_t CostOf(const std::vector<uint64_t>& order) {
  RunningSteps running;
  for (uint64_t step = 1; step <= order.size(); ++step) running.Add(step);
  for (const uint64_t step : order) running.Remove(step);
  EXPECT_TRUE(running.empty());
  return running.num_examined();
}

TEST(RunningStepsTest, CostGrowsWithTheNumberOfSteps) {
  std::vector<uint64_t> order = Numbers(kMany);
  EXPECT_LE(CostOf(order), 4 * kMany) << "oldest first";
  std::reverse(order.begin(), order.end());
  EXPECT_LE(CostOf(order), 4 * kMany) << "newest first";
  std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
  EXPECT_LE(CostOf(order), 4 * kMany);
}

TEST(RunningStepsTest, LongStepAddsNoCost) {
  RunningSteps running;
  running.Add(1);
  for (uint64_t step = 2; step < kMany; ++step) {
    running.Add(step);
    running.Remove(step);
    ASSERT_EQ(running.front(), 1u);
    ASSERT_EQ(running.size(), 1u);
  }
  EXPECT_LE(running.num_examined(), 4 * kMany);
}

TEST(RunningStepsTest, BehavesAsASet) {
  RunningSteps running;
  std::set<uint64_t> model;
  std::mt19937_64 random(1);
  for (uint64_t step = 1; step < kMany; ++step) {
    running.Add(step);
    model.insert(step);
    for (int i = 0; i < 2 && random() % 2 == 0; ++i) {
      const uint64_t ends = 1 + random() % step;
      running.Remove(ends);
      model.erase(ends);
    }
    ASSERT_EQ(running.size(), model.size());
    ASSERT_EQ(running.empty(), model.empty());
    if (!model.empty()) {
      ASSERT_EQ(running.front(), *model.begin());
    }
  }
}

TEST(RunningStepsTest, LowestNumbersAreCopied) {
  RunningSteps running;
  for (const uint64_t step : {3, 5, 8, 9}) running.Add(step);
  running.Remove(5);
  std::vector<uint64_t> numbers = {77};
  EXPECT_EQ(running.CopyFirst(2, numbers), 9u);
  EXPECT_THAT(numbers, ElementsAre(3, 8));
  EXPECT_EQ(running.CopyFirst(3, numbers), 0u);
  EXPECT_THAT(numbers, ElementsAre(3, 8, 9));
  EXPECT_EQ(running.CopyFirst(0, numbers), 3u);
  EXPECT_THAT(numbers, IsEmpty());
}

}  // namespace
}  // namespace weft
