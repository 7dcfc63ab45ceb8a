#include "libs/base/async/free_on.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "libs/base/clock.h"
#include "libs/base/scheduler/simulated_scheduler.h"

namespace weft {
namespace {

struct Large {
  ~Large() { *is_destroyed = true; }
  bool* is_destroyed = nullptr;
};

TEST(FreeOnTest, LastReferenceIsDestroyedOnThePool) {
  ManualClock clock;
  SimulatedScheduler scheduler(clock);
  bool is_destroyed = false;
  auto object = std::make_unique<Large>();
  object->is_destroyed = &is_destroyed;
  std::shared_ptr<Large> first =
      FreeOn(scheduler, Pool::kGraph, std::move(object));
  std::shared_ptr<Large> last = first;
  first.reset();
  scheduler.RunUntilIdle();
  EXPECT_FALSE(is_destroyed);
  last.reset();
  EXPECT_FALSE(is_destroyed) << "the caller does not destroy it";
  scheduler.RunUntilIdle();
  EXPECT_TRUE(is_destroyed);
}

}  // namespace
}  // namespace weft
