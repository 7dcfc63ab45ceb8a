#include "libs/master/call_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libs/base/simulated_scheduler.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

using ::testing::ElementsAre;

class CallGroupTest : public ::testing::Test {
 protected:
  void After(absl::Duration delay, CallGroup& group, const std::string& whom,
             absl::Status status = absl::OkStatus()) {
    scheduler_.ScheduleAt(
        clock_.Now() + delay,
        [done = group.Add(whom), status]() mutable { done(status); });
  }

  ManualClock clock_;
  SimulatedScheduler scheduler_{clock_};
  RecordingLogger logger_;
};

TEST_F(CallGroupTest, SaysForWhomItWaits) {
  CallGroup group(scheduler_);
  After(absl::Seconds(1), group, "a");
  After(absl::Seconds(12), group, "b");
  After(absl::Seconds(7), group, "c");
  EXPECT_OK(group.Wait("open it", absl::Seconds(5), &logger_));
  EXPECT_THAT(logger_.lines(), ElementsAre("W Still waiting to open it on b, c",
                                           "W Still waiting to open it on b"));
  EXPECT_TRUE(group.WaitedFor().empty());
}

TEST_F(CallGroupTest, GivesTheFirstErrorOnceAllAreDone) {
  CallGroup group(scheduler_);
  After(absl::Seconds(1), group, "a", absl::AbortedError("gone"));
  After(absl::Seconds(2), group, "b", absl::InternalError("later"));
  const absl::Time begin = clock_.Now();
  EXPECT_THAT(group.Wait("open it", absl::Seconds(5), &logger_),
              StatusIs(absl::StatusCode::kAborted, "gone"));
  EXPECT_EQ(clock_.Now() - begin, absl::Seconds(2));
  EXPECT_TRUE(logger_.lines().empty());
}

TEST_F(CallGroupTest, NeedsNoLogger) {
  CallGroup group(scheduler_);
  After(absl::Minutes(1), group, "a");
  EXPECT_OK(group.Wait("open it", absl::Seconds(5), nullptr));
}

}  // namespace
}  // namespace weft
