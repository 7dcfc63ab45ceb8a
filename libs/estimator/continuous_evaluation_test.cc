#include "libs/estimator/continuous_evaluation.h"

#include <optional>
#include <string>

#include "libs/base/clock.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"

namespace weft::estimator {
namespace {

const absl::Status kFull = absl::ResourceExhaustedError("the disk is full");
const absl::Status kGone = absl::UnavailableError("the disk is gone");
const absl::Time kStart = absl::FromUnixSeconds(1700000000);

TEST(CheckpointProgressTest, LastStepEndsTheTraining) {
  EXPECT_FALSE(CheckpointProgress{.step = 9}.IsLast(10));
  EXPECT_TRUE(CheckpointProgress{.step = 10}.IsLast(10));
  EXPECT_TRUE(CheckpointProgress{.step = 11}.IsLast(10));
  EXPECT_FALSE(CheckpointProgress{.step = 11}.IsLast(std::nullopt));
  EXPECT_TRUE((CheckpointProgress{.step = 1, .stopped_early = true}.IsLast(
      std::nullopt)));
}

TEST(MayBeTransientTest, OutagesAndFullDisksMayBeTransient) {
  EXPECT_TRUE(MayBeTransient(kFull));
  EXPECT_TRUE(MayBeTransient(kGone));
  EXPECT_TRUE(MayBeTransient(absl::DeadlineExceededError("late")));
  EXPECT_FALSE(MayBeTransient(absl::NotFoundError("no file")));
  EXPECT_FALSE(MayBeTransient(absl::InvalidArgumentError("bad")));
  EXPECT_FALSE(MayBeTransient(absl::OkStatus()));
}

TEST(FailureToleranceTest, OtherErrorsEndTheEvaluation) {
  FailureTolerance tolerance;
  EXPECT_THAT(tolerance.Tolerate(absl::NotFoundError("no file"), kStart),
              StatusIs(absl::StatusCode::kNotFound, "no file"));
}

TEST(FailureToleranceTest, OutagesAreToleratedWithoutLimit) {
  FailureTolerance tolerance;
  for (int hour = 0; hour < 48; ++hour) {
    EXPECT_OK(tolerance.Tolerate(kGone, kStart + absl::Hours(hour)));
  }
}

TEST(FailureToleranceTest, FullDiskIsToleratedForAnHour) {
  FailureTolerance tolerance;
  EXPECT_OK(tolerance.Tolerate(kFull, kStart));
  EXPECT_OK(tolerance.Tolerate(kFull, kStart + absl::Minutes(20)));
  EXPECT_OK(tolerance.Tolerate(kFull, kStart + absl::Minutes(59)));
  EXPECT_THAT(
      tolerance.Tolerate(kFull, kStart + absl::Minutes(60)),
      StatusIs(absl::StatusCode::kResourceExhausted, "for 1h and 4 tries"));
}

TEST(FailureToleranceTest, FullDiskIsTriedThreeTimes) {
  FailureTolerance tolerance;
  EXPECT_OK(tolerance.Tolerate(kFull, kStart));
  EXPECT_OK(tolerance.Tolerate(kFull, kStart + absl::Hours(5)));
  EXPECT_THAT(tolerance.Tolerate(kFull, kStart + absl::Hours(10)),
              StatusIs(absl::StatusCode::kResourceExhausted, "3 tries"));
}

TEST(FailureToleranceTest, SuccessRestartsTheHour) {
  FailureTolerance tolerance;
  for (int hour = 0; hour < 10; ++hour) {
    const absl::Time now = kStart + absl::Hours(hour);
    EXPECT_OK(tolerance.Tolerate(kFull, now));
    EXPECT_OK(tolerance.Succeeded(absl::OkStatus(), now));
  }
}

TEST(FailureToleranceTest, EventsLostToAFullDiskCount) {
  FailureTolerance tolerance;
  EXPECT_OK(tolerance.Succeeded(kFull, kStart));
  EXPECT_OK(tolerance.Succeeded(kFull, kStart + absl::Minutes(30)));
  EXPECT_THAT(tolerance.Succeeded(kFull, kStart + absl::Minutes(60)),
              StatusIs(absl::StatusCode::kResourceExhausted));
  FailureTolerance other;
  for (int hour = 0; hour < 10; ++hour) {
    EXPECT_OK(other.Succeeded(kGone, kStart + absl::Hours(hour)));
  }
}

TEST(WasStoppedTest, OnlyCancellationByStopRequestCounts) {
  const absl::Status cancelled = absl::CancelledError("stopped");
  EXPECT_TRUE(WasStopped(cancelled, [] { return true; }));
  EXPECT_FALSE(WasStopped(cancelled, [] { return false; }));
  EXPECT_FALSE(WasStopped(cancelled, nullptr));
  EXPECT_FALSE(WasStopped(absl::OkStatus(), [] { return true; }));
}

TEST(WaitUntilTest, ReturnsAtTheGivenTime) {
  ManualClock clock;
  SimulatedScheduler scheduler(clock);
  const absl::Time until = scheduler.clock().Now() + absl::Seconds(90);
  EXPECT_TRUE(WaitUntil(scheduler, until, nullptr));
  EXPECT_EQ(scheduler.clock().Now(), until);
  EXPECT_TRUE(WaitUntil(scheduler, until, nullptr)) << "it is over";
}

TEST(WaitUntilTest, StopRequestIsPolledEveryHalfSecond) {
  ManualClock clock;
  SimulatedScheduler scheduler(clock);
  const absl::Time start = scheduler.clock().Now();
  int asked = 0;
  EXPECT_FALSE(WaitUntil(scheduler, start + absl::Seconds(90),
                         [&] { return ++asked > 4; }));
  EXPECT_EQ(scheduler.clock().Now(), start + absl::Seconds(2));
}

}  // namespace
}  // namespace weft::estimator
