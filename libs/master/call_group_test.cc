#include "libs/master/call_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "libs/base/clock.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CallGroupTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(call_, calls_.Begin(nullptr, &client_));
  }

  void After(absl::Duration delay, const std::string& whom,
             absl::Status status = absl::OkStatus()) {
    scheduler_.ScheduleAt(
        clock_.Now() + delay,
        [done = group_.Add(whom), status]() mutable { done(status); });
  }
  void WhenDone(Logger* logger) {
    group_.WhenDone(
        call_,
        {.what = "open it", .interval = absl::Seconds(5), .logger = logger},
        [this](absl::Status status) {
          EXPECT_FALSE(result_.has_value());
          result_ = std::move(status);
        });
  }

  ManualClock clock_;
  SimulatedScheduler scheduler_{clock_};
  RecordingLogger logger_;
  OpenCalls calls_;
  Cancellation client_;
  OpenCalls::CallPtr call_;
  CallGroup group_{scheduler_};
  std::optional<absl::Status> result_;
};

TEST_F(CallGroupTest, NamesTheTasksItWaitsFor) {
  After(absl::Seconds(1), "a");
  After(absl::Seconds(19), "b");
  After(absl::Seconds(7), "c");
  WhenDone(&logger_);
  scheduler_.AdvanceBy(absl::Seconds(18));  // after 5 and 10 seconds
  EXPECT_FALSE(result_.has_value());
  scheduler_.AdvanceBy(absl::Minutes(1));
  ASSERT_TRUE(result_.has_value());
  EXPECT_OK(*result_);
  EXPECT_THAT(logger_.lines(), ElementsAre("W Still waiting to open it on b, c",
                                           "W Still waiting to open it on b"));
}

TEST_F(CallGroupTest, ReturnsTheFirstErrorOnceAllAreDone) {
  After(absl::Seconds(1), "a", absl::AbortedError("gone"));
  After(absl::Seconds(2), "b", absl::InternalError("later"));
  WhenDone(&logger_);
  scheduler_.AdvanceBy(absl::Milliseconds(1999));
  EXPECT_FALSE(result_.has_value());
  scheduler_.AdvanceBy(absl::Milliseconds(1));
  ASSERT_TRUE(result_.has_value());
  EXPECT_THAT(*result_, StatusIs(absl::StatusCode::kAborted, "gone"));
  EXPECT_THAT(logger_.lines(), IsEmpty());
}

TEST_F(CallGroupTest, NeedsNoLoggerAndNoCalls) {
  WhenDone(nullptr);
  ASSERT_TRUE(result_.has_value());
  EXPECT_OK(*result_);
}

TEST_F(CallGroupTest, CancellationEndsWaitAndLogging) {
  After(absl::Minutes(1), "a");
  WhenDone(&logger_);
  scheduler_.AdvanceBy(absl::Seconds(6));
  client_.Cancel(absl::AbortedError("nobody wants it"));
  ASSERT_TRUE(result_.has_value());
  EXPECT_THAT(*result_, StatusIs(absl::StatusCode::kAborted, "nobody"));
  scheduler_.AdvanceBy(absl::Minutes(2));
  EXPECT_EQ(logger_.lines().size(), 1u);
}

TEST_F(CallGroupTest, WaitHasATimeLimit) {
  After(absl::Seconds(1), "a");
  After(absl::Seconds(9), "b");
  std::optional<std::vector<std::string>> left;
  group_.WhenDoneBy(
      clock_.Now() + absl::Seconds(2), call_,
      [&](std::vector<std::string> tasks) { left = std::move(tasks); });
  scheduler_.AdvanceBy(absl::Milliseconds(1999));
  EXPECT_FALSE(left.has_value());
  scheduler_.AdvanceBy(absl::Seconds(20));
  ASSERT_TRUE(left.has_value());
  EXPECT_THAT(*left, ElementsAre("b"));
}

}  // namespace
}  // namespace weft
