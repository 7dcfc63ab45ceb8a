#include "libs/train/sessions/coordinator.h"

#include <atomic>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"

namespace weft::train {
namespace {

constexpr absl::StatusCode kDeadlineExceeded =
    absl::StatusCode::kDeadlineExceeded;

TEST(CoordinatorTest, ThreadsEndTogether) {
  Coordinator coordinator;
  int ended = 0;
  absl::Mutex mutex;
  for (const char* name : {"a", "b", "c"}) {
    coordinator.Start(name, [&]() -> absl::Status {
      coordinator.WaitForStop();
      absl::MutexLock lock(&mutex);
      ++ended;
      return absl::OkStatus();
    });
  }
  EXPECT_FALSE(coordinator.ShouldStop());
  coordinator.RequestStop();
  EXPECT_TRUE(coordinator.ShouldStop());
  ASSERT_OK(coordinator.Join());
  EXPECT_EQ(ended, 3);
}

// Each thread waits for the last one to start.
TEST(CoordinatorTest, EachThreadRunsAtOnce) {
  constexpr int kMany = 200;
  Coordinator coordinator;
  std::atomic<int> started{0};
  for (int i = 0; i < kMany; ++i) {
    coordinator.Start("one of many", [&]() -> absl::Status {
      if (++started == kMany) coordinator.RequestStop();
      coordinator.WaitForStop();
      return absl::OkStatus();
    });
  }
  EXPECT_OK(coordinator.Join());
}

TEST(CoordinatorTest, JoinWithoutStopReturnsWhenThreadsEnd) {
  Coordinator coordinator;
  EXPECT_OK(coordinator.Join());
  coordinator.Start("short", [] { return absl::OkStatus(); });
  EXPECT_OK(coordinator.Join());
  EXPECT_FALSE(coordinator.ShouldStop());
}

TEST(CoordinatorTest, FirstErrorIsReturned) {
  Coordinator coordinator;
  coordinator.Start("waits", [&]() -> absl::Status {
    coordinator.WaitForStop();
    return absl::InternalError("because of the first");
  });
  coordinator.Start("fails", [] { return absl::DataLossError("first"); });
  EXPECT_THAT(coordinator.Join(),
              StatusIs(absl::StatusCode::kDataLoss, "first"));
  coordinator.RequestStop(absl::InternalError("later"));
  EXPECT_THAT(coordinator.Join(), StatusIs(absl::StatusCode::kDataLoss));
}

// Errors after a requested stop are consequences of that stop.
TEST(CoordinatorTest, ErrorsAfterStopAreIgnored) {
  Coordinator coordinator;
  coordinator.RequestStop();
  coordinator.Start("late", [] { return absl::CancelledError("closed"); });
  EXPECT_OK(coordinator.Join());
}

TEST(CoordinatorTest, EndOfInputIsCleanStop) {
  Coordinator coordinator;
  coordinator.Start("reader", [] { return absl::OutOfRangeError("no more"); });
  EXPECT_OK(coordinator.Join());
  EXPECT_TRUE(coordinator.ShouldStop());

  Coordinator strict({.clean_stop_codes = {}});
  strict.Start("reader", [] { return absl::OutOfRangeError("no more"); });
  EXPECT_THAT(strict.Join(), StatusIs(absl::StatusCode::kOutOfRange));
}

TEST(CoordinatorTest, RestartsAfterClearStop) {
  Coordinator coordinator;
  coordinator.RequestStop(absl::InternalError("once"));
  EXPECT_FALSE(coordinator.Join().ok());
  coordinator.ClearStop();
  EXPECT_FALSE(coordinator.ShouldStop());
  coordinator.Start("again", [] { return absl::OkStatus(); });
  EXPECT_OK(coordinator.Join());
}

// The coordinator runs on simulated time.
class CoordinatorTimeTest : public testing::Test {
 protected:
  CoordinatorTimeTest() : coordinator_({.scheduler = &scheduler_}) {}
  ~CoordinatorTimeTest() override { release_->Set(); }

  // Starts a thread that ignores ShouldStop.
  void StartStubborn(const std::string& name) {
    coordinator_.Start(name, [this] {
      release_->Wait();
      return absl::OkStatus();
    });
  }

  ManualClock clock_;
  SimulatedScheduler scheduler_{clock_};
  std::unique_ptr<Event> release_ = scheduler_.NewEvent();
  Coordinator coordinator_;
};

TEST_F(CoordinatorTimeTest, JoinNamesThreadsThatKeepRunning) {
  StartStubborn("stubborn");
  StartStubborn("deaf");
  coordinator_.Start("good", [] { return absl::OkStatus(); });
  coordinator_.RequestStop();
  const absl::Time before = clock_.Now();
  EXPECT_THAT(coordinator_.Join({.stop_grace_period = absl::Seconds(5)}),
              StatusIs(kDeadlineExceeded,
                       "stopped with threads still running: stubborn, deaf."));
  EXPECT_EQ(clock_.Now() - before, absl::Seconds(5));
  EXPECT_OK(coordinator_.Join({.stop_grace_period = absl::ZeroDuration(),
                               .ignore_live_threads = true}));
  release_->Set();
  EXPECT_OK(coordinator_.Join());
}

TEST_F(CoordinatorTimeTest, ThreadErrorPrecedesGracePeriodError) {
  StartStubborn("stubborn");
  coordinator_.RequestStop(absl::DataLossError("why"));
  EXPECT_THAT(coordinator_.Join({.stop_grace_period = absl::Seconds(5)}),
              StatusIs(absl::StatusCode::kDataLoss, "why"));
}

TEST_F(CoordinatorTimeTest, WaitForStopHasTimeout) {
  EXPECT_FALSE(coordinator_.WaitForStop(absl::Seconds(3)));
  EXPECT_FALSE(coordinator_.WaitForStop(absl::ZeroDuration()));
  scheduler_.ScheduleAt(clock_.Now() + absl::Seconds(2),
                        [this] { coordinator_.RequestStop(); });
  const absl::Time before = clock_.Now();
  EXPECT_TRUE(coordinator_.WaitForStop(absl::Seconds(3)));
  EXPECT_EQ(clock_.Now() - before, absl::Seconds(2));
}

}  // namespace
}  // namespace weft::train
