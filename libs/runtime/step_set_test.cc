#include "libs/runtime/step_set.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kLast = ~uint64_t{0};

std::shared_ptr<const PeerTasks> Tasks(PeerTasks tasks) {
  return std::make_shared<const PeerTasks>(std::move(tasks));
}

TEST(StepSetTest, ContainsOnlyAddedSteps) {
  StepSet set;
  for (uint64_t step : {uint64_t{0}, uint64_t{63}, uint64_t{64}, kLast}) {
    EXPECT_FALSE(set.Contains(step));
    set.Add(step);
    set.Add(step);
    EXPECT_TRUE(set.Contains(step));
  }
  EXPECT_FALSE(set.Contains(1));
  EXPECT_FALSE(set.Contains(65));
  EXPECT_EQ(set.size(), 4);
}

TEST(StepSetTest, ForgetsStepsBelowANumber) {
  for (const uint64_t below : {0, 1, 63, 64, 65, 127, 128, 200}) {
    StepSet set;
    for (uint64_t step = 0; step < 200; ++step) set.Add(step);
    set.ForgetBelow(below);
    EXPECT_EQ(set.size(), 200 - static_cast<int64_t>(below));
    EXPECT_EQ(set.Contains(below), below < 200);
    EXPECT_FALSE(below > 0 && set.Contains(below - 1));
  }
}

TEST(StepSetTest, ForgetsFinishedSteps) {
  for (const uint64_t below : {0, 1, 64, 65, 150, 300}) {
    protocol::FinishedSteps over{.below = below};
    for (const uint64_t step : {0, 63, 64, 100, 149}) {
      if (step < below) over.running.push_back(step);
    }
    StepSet set;
    SentSteps sent;
    for (uint64_t step = 0; step < 200; ++step) {
      set.Add(step);
      sent.Add(step, Tasks({step % 2 == 0 ? "even" : "odd"}));
    }
    set.Forget(over);
    sent.Forget(over);
    std::vector<uint64_t> even, odd;
    for (uint64_t step = 0; step < 200; ++step) {
      EXPECT_EQ(set.Contains(step), !over.Contains(step)) << step;
      if (!over.Contains(step)) (step % 2 == 0 ? even : odd).push_back(step);
    }
    EXPECT_EQ(sent.TakeSentTo("even"), even);
    EXPECT_EQ(sent.TakeSentTo("odd"), odd);
  }
}

TEST(StepSetTest, ConsecutiveStepsTakeFewBlocks) {
  StepSet set;
  SentSteps sent;
  const auto receivers = Tasks({"ps"});
  constexpr int kSteps = 100'000;
  for (uint64_t step = 1'000'000; step < 1'000'000 + kSteps; ++step) {
    set.Add(step);
    sent.Add(step, receivers);
  }
  EXPECT_EQ(set.size(), kSteps);
  EXPECT_EQ(sent.size(), kSteps);
  EXPECT_LE(set.num_blocks(), kSteps / 64 + 1u);
  EXPECT_LE(sent.num_blocks(), kSteps / 64 + 1u);
}

TEST(StepSetTest, OldestOfTooManySparseStepsAreDropped) {
  StepSet set;
  SentSteps sent;
  const auto receivers = Tasks({"ps"});
  constexpr uint64_t kSteps = 2 * StepSet::kMaxBlocks;
  for (uint64_t i = 0; i < kSteps; ++i) {
    set.Add(i * 1000);
    sent.Add(i * 1000, receivers);
  }
  EXPECT_EQ(set.num_blocks(), StepSet::kMaxBlocks);
  EXPECT_EQ(sent.num_blocks(), SentSteps::kMaxBlocks);
  EXPECT_FALSE(set.Contains(0));
  EXPECT_TRUE(set.Contains((kSteps - 1) * 1000));
}

TEST(SentStepsTest, TakesTheStepsSentToATaskOnce) {
  SentSteps sent;
  const auto both = Tasks({"ps", "worker"});
  const auto worker = Tasks({"worker"});
  for (uint64_t step : {70, 5, 6}) sent.Add(step, both);
  for (uint64_t step : {7, 71}) sent.Add(step, worker);
  EXPECT_THAT(sent.TakeSentTo("nobody"), IsEmpty());
  EXPECT_THAT(sent.TakeSentTo("ps"), ElementsAre(5, 6, 70));
  EXPECT_THAT(sent.TakeSentTo("ps"), IsEmpty());
  EXPECT_EQ(sent.size(), 5) << "those are not known to the worker yet";
  sent.Add(8, both);
  EXPECT_THAT(sent.TakeSentTo("worker"), ElementsAre(5, 6, 7, 8, 70, 71));
  EXPECT_THAT(sent.TakeSentTo("ps"), ElementsAre(8));
  EXPECT_EQ(sent.num_blocks(), 0u);
}

// The task gets a separate notification for each step. The oldest steps are the
// least likely to be still running, so they are dropped.
TEST(SentStepsTest, TakesTheLatestOfTooManySteps) {
  SentSteps sent;
  const auto ps = Tasks({"ps"});
  constexpr uint64_t kSteps = SentSteps::kMaxTaken + 100;
  for (uint64_t step = 0; step < kSteps; ++step) sent.Add(step, ps);
  const std::vector<uint64_t> taken = sent.TakeSentTo("ps");
  ASSERT_THAT(taken, SizeIs(65536));
  EXPECT_EQ(taken.front(), kSteps - SentSteps::kMaxTaken);
  EXPECT_EQ(taken.back(), kSteps - 1);
  EXPECT_THAT(sent.TakeSentTo("ps"), IsEmpty()) << "all are forgotten";
}

TEST(SentStepsTest, ForgetsStepsBelowANumber) {
  const auto ps = Tasks({"ps"});
  const auto worker = Tasks({"worker"});
  for (const uint64_t below : {0, 1, 64, 100, 128, 199}) {
    SentSteps sent;
    for (uint64_t step = 0; step < 200; ++step) {
      sent.Add(step, step % 2 == 0 ? ps : worker);
    }
    sent.ForgetBelow(below);
    EXPECT_EQ(sent.size(), 200 - static_cast<int64_t>(below));
    EXPECT_THAT(sent.TakeSentTo("ps"), SizeIs((200 - below) / 2));
  }
}

}  // namespace
}  // namespace weft
