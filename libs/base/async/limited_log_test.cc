#include "libs/base/async/limited_log.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/simulated_scheduler.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class LimitedLogTest : public testing::Test {
 protected:
  ManualClock clock_;
  SimulatedScheduler scheduler_{clock_};
  RecordingLogger logger_;
  LimitedLog log_{scheduler_, &logger_, /*max_lines=*/2};
};

TEST_F(LimitedLogTest, LinesBeyondTheLimitAreCounted) {
  for (int i = 0; i < 1000; ++i) {
    log_.Log(Severity::kWarning, absl::StrCat("line ", i));
    scheduler_.RunUntilIdle();
  }
  EXPECT_THAT(logger_.lines(), ElementsAre("W line 0", "W line 1"));
  scheduler_.AdvanceBy(LineLimit::kInterval);
  log_.Log(Severity::kInfo, "next");
  scheduler_.RunUntilIdle();
  log_.Log(Severity::kInfo, "last");
  scheduler_.RunUntilIdle();
  ASSERT_THAT(logger_.lines(), SizeIs(4));
  EXPECT_EQ(logger_.lines()[2],
            "I next (and 998 lines like this before, which were left out)");
  EXPECT_EQ(logger_.lines()[3], "I last");
}

TEST_F(LimitedLogTest, CallersDoNotWaitForTheLogger) {
  log_.Log(Severity::kInfo, "line");
  EXPECT_THAT(logger_.lines(), IsEmpty());
}

TEST_F(LimitedLogTest, DestructorWaitsForPendingLines) {
  {
    LimitedLog log(scheduler_, &logger_);
    log.Log(Severity::kInfo, "line");
  }
  EXPECT_THAT(logger_.lines(), ElementsAre("I line"));
}

TEST_F(LimitedLogTest, NullLoggerDiscardsLines) {
  LimitedLog log(scheduler_, nullptr);
  log.Log(Severity::kInfo, "line");
  scheduler_.RunUntilIdle();
  EXPECT_THAT(logger_.lines(), IsEmpty());
}

}  // namespace
}  // namespace weft
