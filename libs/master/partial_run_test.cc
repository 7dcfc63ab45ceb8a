#include "libs/master/partial_run.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/passes/prune.h"

namespace weft {
namespace {

// Two feeds and two fetches; the test is the step.
class PartialRunTest : public ::testing::Test {
 protected:
  PartialRunTest() { run_->StepBegins(step_); }

  // The call's answer is stored in `answer`.
  absl::Status Call(const std::vector<int>& feeds,
                    const std::vector<int>& fetches, absl::Status* answer,
                    Cancellation* client = nullptr,
                    absl::Duration timeout = absl::InfiniteDuration()) {
    feeds_ = feeds;
    fetches_ = fetches;
    values_.assign(feeds.size(), Tensor::Scalar(2.0f));
    *answer = absl::UnknownError("not answered yet");
    protocol::Master::Done done = [answer](absl::Status status) {
      *answer = std::move(status);
    };
    return run_->Run({.feeds = values_,
                      .fetches = absl::MakeSpan(results_).first(fetches.size()),
                      .feed_indices = feeds_,
                      .fetch_indices = fetches_,
                      .timeout = timeout,
                      .cancellation = client},
                     /*fed_bytes=*/4 * std::ssize(feeds),
                     timeout == absl::InfiniteDuration()
                         ? absl::InfiniteFuture()
                         : scheduler_.clock().Now() + timeout,
                     ++number_, scheduler_, done);
  }
  // The step produces a fetch.
  void Make(int fetch, float value, bool is_dead = false) {
    EXPECT_OK(run_->client()->Send({.edge = FetchEdge(fetch)},
                                   Tensor::Scalar(value), is_dead));
  }
  // Acts as a task that was told of the step's end.
  int64_t EndAsCancelled() {
    EXPECT_TRUE(step_->IsCancelled());
    run_->client()->Abort(step_->status());
    return run_->StepEnds(step_->status());
  }
  static bool IsOpen(const absl::Status& answer) {
    return absl::IsUnknown(answer);
  }

  ManualClock clock_;
  SimulatedScheduler scheduler_{clock_};
  const std::shared_ptr<Cancellation> step_ = std::make_shared<Cancellation>();
  const std::shared_ptr<PartialRun> run_ = std::make_shared<PartialRun>(
      std::vector<DataType>{DT_FLOAT, DT_FLOAT}, /*num_fetches=*/2);
  uint64_t number_ = 0;  // of the last call
  std::vector<int> feeds_;
  std::vector<int> fetches_;
  std::vector<Tensor> values_;
  std::vector<Tensor> results_{2};
};

TEST_F(PartialRunTest, CallEndsWithItsFetchesLastWithTheStep) {
  absl::Status first, last;
  ASSERT_OK(Call({0}, {1}, &first));
  EXPECT_TRUE(IsOpen(first));
  Make(1, 7);
  EXPECT_OK(first);
  EXPECT_EQ(results_[0].scalar<float>(), 7);
  ASSERT_OK(Call({1}, {0}, &last));
  Make(0, 8);
  EXPECT_TRUE(IsOpen(last));
  EXPECT_EQ(run_->StepEnds(absl::OkStatus()), 8);  // the bytes of the feeds
  EXPECT_OK(last);
}

TEST_F(PartialRunTest, FetchedValuesOutliveTheStep) {
  absl::Status fed, last;
  ASSERT_OK(Call({0, 1}, {}, &fed));
  EXPECT_OK(fed);
  Make(0, 7);
  Make(1, 8);
  run_->StepEnds(absl::OkStatus());
  ASSERT_OK(Call({}, {0, 1}, &last));
  EXPECT_OK(last);
  EXPECT_EQ(results_[1].scalar<float>(), 8);
}

TEST_F(PartialRunTest, RefusedCallsDoNotChangeTheRun) {
  absl::Status answer;
  EXPECT_THAT(Call({2}, {}, &answer), StatusIs(kInvalid, "no feed 2"));
  EXPECT_THAT(Call({-1}, {}, &answer), StatusIs(kInvalid, "no feed -1"));
  EXPECT_THAT(Call({0, 0}, {}, &answer), StatusIs(kInvalid, "been fed"));
  EXPECT_THAT(Call({0}, {1, 1}, &answer), StatusIs(kInvalid, "been fetched"));
  EXPECT_TRUE(IsOpen(answer));
  ASSERT_OK(Call({0}, {}, &answer));
  EXPECT_THAT(Call({0}, {}, &answer), StatusIs(kInvalid, "been fed"));
  EXPECT_FALSE(step_->IsCancelled());
}

TEST_F(PartialRunTest, CallTimeoutEndsTheStep) {
  absl::Status answer;
  ASSERT_OK(Call({0}, {1}, &answer, nullptr, absl::Seconds(2)));
  scheduler_.AdvanceBy(absl::Seconds(1));
  EXPECT_FALSE(step_->IsCancelled());
  scheduler_.AdvanceBy(absl::Seconds(2));
  EXPECT_EQ(EndAsCancelled(), 4);
  EXPECT_THAT(answer,
              StatusIs(absl::StatusCode::kDeadlineExceeded, "after 2s"));
  absl::Status next;
  EXPECT_THAT(Call({1}, {}, &next),
              StatusIs(absl::StatusCode::kDeadlineExceeded, "after 2s"));
}

TEST_F(PartialRunTest, FinishedCallLeavesNoTimer) {
  absl::Status answer;
  ASSERT_OK(Call({0}, {1}, &answer, nullptr, absl::Seconds(2)));
  Make(1, 7);
  scheduler_.AdvanceBy(absl::Seconds(9));
  EXPECT_OK(answer);
  EXPECT_FALSE(step_->IsCancelled());
}

TEST_F(PartialRunTest, DisconnectedClientEndsTheStep) {
  Cancellation client;
  absl::Status answer;
  ASSERT_OK(Call({0}, {1}, &answer, &client));
  client.Cancel(absl::CancelledError("the client is gone"));
  EndAsCancelled();
  EXPECT_THAT(answer, StatusIs(absl::StatusCode::kCancelled, "gone"));
}

TEST_F(PartialRunTest, DeadFetchIsAnErrorOfASuccessfulStep) {
  absl::Status answer;
  ASSERT_OK(Call({0}, {1}, &answer));
  Make(1, 0, /*is_dead=*/true);
  EXPECT_TRUE(step_->IsCancelled());
  run_->StepEnds(absl::OkStatus());
  EXPECT_THAT(answer, StatusIs(kInvalid, "does not have value"));
}

TEST_F(PartialRunTest, AgeIsThatOfTheOldestPendingCall) {
  absl::Status first, second;
  EXPECT_EQ(run_->OldestCall(), std::nullopt);
  ASSERT_OK(Call({0}, {0}, &first));
  ASSERT_OK(Call({}, {1}, &second));
  EXPECT_EQ(run_->OldestCall(), 1u);
  Make(0, 7);
  EXPECT_OK(first);
  EXPECT_EQ(run_->OldestCall(), 2u);
  // A refused call is not in flight.
  EXPECT_FALSE(Call({0}, {}, &first).ok());
  Make(1, 7);
  EXPECT_EQ(run_->OldestCall(), std::nullopt);
}

TEST_F(PartialRunTest, LastCallIsPendingUntilTheStepEnds) {
  absl::Status answer;
  ASSERT_OK(Call({0, 1}, {0, 1}, &answer));
  Make(0, 7);
  Make(1, 7);
  EXPECT_EQ(run_->OldestCall(), 1u);
  run_->StepEnds(absl::OkStatus());
  EXPECT_OK(answer);
  EXPECT_EQ(run_->OldestCall(), std::nullopt);
}

TEST_F(PartialRunTest, RunEndsWithItsLastPossibleCall) {
  absl::Status answer;
  ASSERT_OK(Call({0}, {1}, &answer));
  run_->CancelWhenIdle(absl::UnavailableError("shutting down"));
  EXPECT_FALSE(step_->IsCancelled());
  Make(1, 7);
  EXPECT_OK(answer);
  EXPECT_THAT(step_->status(),
              StatusIs(absl::StatusCode::kUnavailable, "shutting down"));
}

TEST_F(PartialRunTest, StepErrorFailsAllCalls) {
  absl::Status answer, next;
  ASSERT_OK(Call({0}, {1}, &answer));
  run_->StepEnds(absl::NotFoundError("no such file"));
  EXPECT_THAT(answer, StatusIs(absl::StatusCode::kNotFound, "no such file"));
  EXPECT_THAT(Call({1}, {}, &next),
              StatusIs(absl::StatusCode::kNotFound, "no such file"));
}

}  // namespace
}  // namespace weft
