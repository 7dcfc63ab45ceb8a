#include "libs/executor/call_tree.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

constexpr int kThreads = 4;

// Calls that each make two more, up to a maximum depth.
class CallTreeTest : public ::testing::TestWithParam<int> {
 protected:
  using Ended = std::shared_ptr<std::function<void()>>;

  // `ended` is called when the call and all calls made by it have ended.
  void Call(int depth, int max_depth, const Ended& ended) {
    if (!tree_->Enter().ok()) return (*ended)();
    most_open_ = std::max(most_open_, tree_->num_open());
    tree_->Run(depth, [this, depth, max_depth, ended] {
      if (++started_ == cancel_at_) {
        step_.Cancel(absl::CancelledError("enough"));
      }
      auto end = std::make_shared<std::function<void()>>(
          [this, ended, missing = depth < max_depth ? 2 : 1]() mutable {
            if (--missing > 0) return;
            tree_->Leave();
            (*ended)();
          });
      if (depth >= max_depth) return (*end)();
      for (int i = 0; i < 2; ++i) Call(depth + 1, max_depth, end);
    });
  }
  void RunAll(int max_depth) {
    Call(1, max_depth,
         std::make_shared<std::function<void()>>([this] { ended_ = true; }));
    scheduler_.RunUntilIdle();
  }

  ManualClock clock_;
  SimulatedScheduler scheduler_{
      clock_,
      {.seed = static_cast<uint64_t>(GetParam()), .compute_threads = kThreads}};
  Cancellation step_;
  std::shared_ptr<CallTree> tree_ =
      std::make_shared<CallTree>(scheduler_, step_);
  int64_t cancel_at_ = -1;
  int64_t started_ = 0;
  int64_t most_open_ = 0;
  bool ended_ = false;
};

TEST_P(CallTreeTest, EachCallRunsOnce) {
  RunAll(14);
  EXPECT_TRUE(ended_);
  EXPECT_EQ(started_, (1 << 14) - 1);
  EXPECT_EQ(tree_->num_open(), 0);
}

TEST_P(CallTreeTest, OpenCallsAreBoundedAndNoneStartsAfterEnd) {
  constexpr int kDepth = 200;
  cancel_at_ = 30'000;
  RunAll(kDepth);
  EXPECT_TRUE(ended_);
  EXPECT_GE(started_, cancel_at_);
  // Calls that had been entered and deferred start nevertheless.
  EXPECT_LE(started_, cancel_at_ + most_open_);
  EXPECT_LE(most_open_, 2 * kDepth * (kThreads + 1));
  EXPECT_EQ(tree_->num_open(), 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, CallTreeTest, ::testing::Range(1, 6));

TEST(CallTreeLimitTest, MoreCallsThanFitAreRefused) {
  ManualClock clock;
  SimulatedScheduler scheduler(clock);
  Cancellation step;
  const auto tree = std::make_shared<CallTree>(scheduler, step);
  for (int64_t i = 0; i < CallTree::kMaxCalls; ++i) ASSERT_OK(tree->Enter());
  EXPECT_THAT(tree->Enter(), StatusIs(absl::StatusCode::kResourceExhausted,
                                      "more than 65536 calls"));
  tree->Leave();
  EXPECT_OK(tree->Enter());
}

}  // namespace
}  // namespace weft
