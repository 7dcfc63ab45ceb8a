#include "libs/base/async/reclaimer.h"

#include <functional>
#include <memory>
#include <utility>

#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/simulated_scheduler.h"

namespace weft {
namespace {

// Large reports when it is destroyed, and may hold another object.
struct Large {
  ~Large() {
    if (before_end) before_end();
    *ended = true;
  }
  std::function<void()> before_end;
  bool* ended = nullptr;
  std::shared_ptr<Large> held;
};

class ReclaimerTest : public testing::Test {
 protected:
  std::shared_ptr<Large> NewLarge(bool* ended) {
    auto large = std::make_unique<Large>();
    large->ended = ended;
    return reclaimer_->Own(std::move(large));
  }

  ManualClock clock_;
  SimulatedScheduler scheduler_{
      clock_,
      {.pools = {.compute = 1, .control = 1, .graph = 1, .blocking = 1}}};
  std::shared_ptr<Reclaimer> reclaimer_ =
      std::make_shared<Reclaimer>(scheduler_);
};

TEST_F(ReclaimerTest, ReleasingThreadDoesNotRunTheDestructor) {
  bool ended = false;
  std::shared_ptr<Large> large = NewLarge(&ended);
  std::shared_ptr<Large> other = large;
  large.reset();
  scheduler_.RunUntilIdle();
  EXPECT_FALSE(ended);
  other.reset();
  EXPECT_FALSE(ended) << "it is destroyed elsewhere";
  scheduler_.RunUntilIdle();
  EXPECT_TRUE(ended);
}

TEST_F(ReclaimerTest, WaitUntilNoneWaitsForDestructors) {
  bool ended = false;
  bool inner_ended = false;
  std::shared_ptr<Large> large = NewLarge(&ended);
  large->held = NewLarge(&inner_ended);
  large.reset();
  reclaimer_->WaitUntilNone();
  EXPECT_TRUE(ended);
  EXPECT_TRUE(inner_ended);
}

// The destructor of the first object blocks, for example because it closes a
// file on a hung mount.
TEST_F(ReclaimerTest, SlowDestructorDelaysOnlyLaterDestructors) {
  const auto release = scheduler_.NewEvent();
  auto slow = std::make_unique<Large>();
  bool slow_ended = false;
  slow->ended = &slow_ended;
  slow->before_end = [&] { release->Wait(); };
  reclaimer_->Own(std::move(slow)).reset();
  scheduler_.RunUntilIdle();
  bool later_ended = false;
  NewLarge(&later_ended).reset();
  bool ran = false;
  for (const Pool pool : {Pool::kControl, Pool::kGraph}) {
    ran = false;
    scheduler_.Schedule(pool, [&] { ran = true; });
    scheduler_.RunUntilIdle();
    EXPECT_TRUE(ran);
  }
  EXPECT_FALSE(slow_ended);
  EXPECT_FALSE(later_ended);
  release->Set();
  scheduler_.RunUntilIdle();
  EXPECT_TRUE(slow_ended);
  EXPECT_TRUE(later_ended);
}

TEST_F(ReclaimerTest, ObjectsMayOutliveTheReclaimer) {
  bool ended = false;
  std::shared_ptr<Large> large = NewLarge(&ended);
  reclaimer_.reset();
  large.reset();
  scheduler_.RunUntilIdle();
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace weft
