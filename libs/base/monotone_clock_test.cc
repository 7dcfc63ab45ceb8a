#include "libs/base/monotone_clock.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(MonotoneClockTest, StartsAtSystemTimeAndNeverGoesBack) {
  const SystemClock machine;
  const absl::Time before = machine.Now();
  const MonotoneClock clock;
  absl::Time last = clock.Now();
  // The two clocks agree, unless the machine's clock is set by a year or more
  // at this point.
  EXPECT_LT(before - absl::Hours(24 * 365), last);
  EXPECT_GT(before + absl::Hours(24 * 365), last);
  for (int i = 0; i < 1000; ++i) {
    const absl::Time now = clock.Now();
    ASSERT_LE(last, now);
    last = now;
  }
}

// If the clock did not advance, all measured durations would be zero.
TEST(MonotoneClockTest, TimeAdvances) {
  const MonotoneClock clock;
  const absl::Time began = clock.Now();
  while (clock.Now() == began) {
  }
  EXPECT_GT(clock.Now(), began);
}

}  // namespace
}  // namespace weft
