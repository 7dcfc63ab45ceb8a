#include "libs/base/reclaimer.h"

#include <memory>

#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/simulated_scheduler.h"

namespace weft {
namespace {

// Says when it ends, and may hold another one.
struct Large {
  ~Large() { *ended = true; }
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
  SimulatedScheduler scheduler_{clock_, {.pools = {.graph = 1}}};
  std::shared_ptr<Reclaimer> reclaimer_ =
      std::make_shared<Reclaimer>(scheduler_);
};

TEST_F(ReclaimerTest, LastHolderDoesNotDestroy) {
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

TEST_F(ReclaimerTest, WaitsForWhatItIsDestroying) {
  bool ended = false;
  bool inner_ended = false;
  std::shared_ptr<Large> large = NewLarge(&ended);
  large->held = NewLarge(&inner_ended);
  large.reset();
  reclaimer_->WaitUntilNone();
  EXPECT_TRUE(ended);
  EXPECT_TRUE(inner_ended);
}

TEST_F(ReclaimerTest, ObjectsMayOutliveIt) {
  bool ended = false;
  std::shared_ptr<Large> large = NewLarge(&ended);
  reclaimer_.reset();
  large.reset();
  scheduler_.RunUntilIdle();
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace weft
