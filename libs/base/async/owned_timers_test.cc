#include "libs/base/async/owned_timers.h"

#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/simulated_scheduler.h"

namespace weft {
namespace {

using ::testing::ElementsAre;

class OwnedTimersTest : public ::testing::Test {
 protected:
  OwnedTimers::Id After(absl::Duration delay) {
    return timers_->At(clock_.Now() + delay,
                       [this](bool is_due) { told_.push_back(is_due); });
  }

  ManualClock clock_;
  SimulatedScheduler scheduler_{clock_};
  std::unique_ptr<OwnedTimers> timers_ =
      std::make_unique<OwnedTimers>(scheduler_);
  std::vector<bool> told_;
};

TEST_F(OwnedTimersTest, DestructorNotifiesPendingTimers) {
  After(absl::Seconds(1));
  After(absl::Seconds(3));
  scheduler_.AdvanceBy(absl::Seconds(2));
  EXPECT_THAT(told_, ElementsAre(true));
  timers_.reset();
  EXPECT_THAT(told_, ElementsAre(true, false));
  scheduler_.AdvanceBy(absl::Seconds(2));
  EXPECT_EQ(told_.size(), 2u);
}

TEST_F(OwnedTimersTest, CancelledTimerIsNotNotified) {
  const OwnedTimers::Id id = After(absl::Seconds(1));
  EXPECT_TRUE(timers_->Cancel(id));
  EXPECT_FALSE(timers_->Cancel(id));
  scheduler_.AdvanceBy(absl::Seconds(2));
  timers_.reset();
  EXPECT_TRUE(told_.empty());
}

TEST_F(OwnedTimersTest, DestructorWaitsForARunningTimer) {
  bool is_over = false;
  timers_->At(clock_.Now(), [&](bool) {
    scheduler_.NewEvent()->WaitUntil(clock_.Now() + absl::Seconds(1));
    is_over = true;
  });
  scheduler_.RunUntilIdle();
  timers_.reset();
  EXPECT_TRUE(is_over);
}

}  // namespace
}  // namespace weft
