#include "libs/master/step_counter.h"

#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

using ::testing::ElementsAre;

constexpr int kMany = 10'000;

// Begins and ends `count` steps.
void RunSteps(StepCounter& steps, int count) {
  for (int i = 0; i < count; ++i) steps.End(steps.Begin());
}

TEST(StepCounterTest, LowWaterMarkSufficesWithoutOldSteps) {
  StepCounter steps;
  protocol::FinishedSteps more;
  EXPECT_EQ(steps.FindFinished(more), 1u);
  RunSteps(steps, kMany);
  const uint64_t running = steps.Begin();
  RunSteps(steps, 10);
  EXPECT_EQ(steps.FindFinished(more), running);
  EXPECT_EQ(more.below, 0u);
}

TEST(StepCounterTest, StepsAfterAnOldOneCanBeOver) {
  StepCounter steps;
  const uint64_t oldest = steps.Begin();
  RunSteps(steps, 100);
  const uint64_t old = steps.Begin();
  RunSteps(steps, kMany);
  protocol::FinishedSteps more;
  EXPECT_EQ(steps.FindFinished(more), oldest);
  EXPECT_EQ(more.below, steps.next());
  EXPECT_THAT(more.running, ElementsAre(oldest, old));
  EXPECT_TRUE(more.Contains(oldest + 1));
  EXPECT_FALSE(more.Contains(old));
  steps.End(oldest);
  steps.End(old);
}

TEST(StepCounterTest, NumberOfNamedStepsIsLimited) {
  StepCounter steps;
  std::vector<uint64_t> running;
  for (size_t i = 0; i <= protocol::FinishedSteps::kMaxRunning; ++i) {
    running.push_back(steps.Begin());
    RunSteps(steps, 10);
  }
  RunSteps(steps, kMany);
  protocol::FinishedSteps more;
  EXPECT_EQ(steps.FindFinished(more), running.front());
  EXPECT_EQ(more.running.size(), protocol::FinishedSteps::kMaxRunning);
  EXPECT_EQ(more.below, running.back());
  for (const uint64_t step : running) steps.End(step);
}

}  // namespace
}  // namespace weft
