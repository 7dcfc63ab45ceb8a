#include "libs/base/doubling_times.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(DoublingTimesTest, IntervalDoublesAfterEachReport) {
  const absl::Time begin = absl::UnixEpoch();
  DoublingTimes times(begin, absl::Seconds(5));
  for (const int seconds : {5, 10, 20, 40, 80}) {
    EXPECT_EQ(times.age(), absl::Seconds(seconds));
    EXPECT_EQ(times.next(), begin + absl::Seconds(seconds));
    times.Advance();
  }
}

TEST(DoublingTimesTest, InfiniteIntervalNeverReports) {
  DoublingTimes times(absl::UnixEpoch(), absl::InfiniteDuration());
  EXPECT_EQ(times.next(), absl::InfiniteFuture());
  times.Advance();
  EXPECT_EQ(times.next(), absl::InfiniteFuture());
}

}  // namespace
}  // namespace weft
