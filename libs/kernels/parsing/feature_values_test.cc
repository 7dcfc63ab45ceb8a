// Tests when the memory of records is counted. The kernel tests check the
// parsed values.
#include "libs/kernels/parsing/feature_values.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

using ::testing::ElementsAre;

constexpr size_t kMiB = size_t{1} << 20;

class FindBadRecordTest : public ::testing::Test {
 protected:
  // Returns the number of records parsed before each time that memory was
  // counted.
  std::vector<int> CountedAfter(const std::vector<std::string>& records) {
    std::vector<int> counted;
    int parsed = 0;
    const auto bad = FindBadRecord(
        scheduler_, records, [&](int64_t) { return ++parsed > 0; },
        [&] {
          counted.push_back(parsed);
          return absl::OkStatus();
        });
    EXPECT_OK(bad);
    EXPECT_EQ(bad.value_or(0), -1);
    return counted;
  }

  ManualClock clock_;
  SimulatedScheduler scheduler_{clock_};
};

TEST_F(FindBadRecordTest, ManyRecordsAreCountedInBatches) {
  EXPECT_THAT(CountedAfter(std::vector<std::string>(2500)),
              ElementsAre(1024, 2048, 2500));
  EXPECT_THAT(CountedAfter({}), ElementsAre());
}

TEST_F(FindBadRecordTest, LargeRecordsAreCountedInBatches) {
  const std::string large(20 * kMiB, 'a');
  EXPECT_THAT(CountedAfter({large, large, large, large, ""}),
              ElementsAre(2, 4, 5));
}

TEST_F(FindBadRecordTest, RecordIndicesContinueAfterABatch) {
  const std::vector<std::string> records(2000);
  const auto bad = FindBadRecord(
      scheduler_, records, [](int64_t n) { return n != 1500; },
      [] { return absl::OkStatus(); });
  ASSERT_OK(bad);
  EXPECT_EQ(*bad, 1500);
}

TEST_F(FindBadRecordTest, FailedChargeStopsParsing) {
  const std::vector<std::string> records(2000);
  int64_t last = 0;
  const auto bad = FindBadRecord(
      scheduler_, records,
      [&](int64_t n) {
        last = std::max(last, n);
        return true;
      },
      [] { return absl::ResourceExhaustedError("no room"); });
  EXPECT_THAT(bad.status(), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(last, 1023);
}

}  // namespace
}  // namespace weft
