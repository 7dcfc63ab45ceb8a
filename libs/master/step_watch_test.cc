#include "libs/master/step_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/protocol/testing/recording_worker.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kPs[] = "/job:ps/replica:0/task:0";
constexpr char kWorker[] = "/job:worker/replica:0/task:1";

// A session, number 7, whose steps all need one ps and one worker.
class StepWatchTest : public ::testing::Test {
 protected:
  std::shared_ptr<StepWatch> Watch(absl::Duration interval,
                                   Logger* logger = nullptr) {
    return std::make_shared<StepWatch>(StepWatchOptions{
        .scheduler = &scheduler_,
        .logger = logger,
        .steps = &steps_,
        .interval = interval,
        .find = [this](uint64_t number) { return Find(number); },
        .why_no_values = [this](auto done) { done(missing_chief_); }});
  }

  std::vector<SlowStep> Find(uint64_t number) {
    ++finds_;
    const uint64_t oldest = steps_.finished_below();
    if (oldest >= number) return {};
    SlowStep slow{.session = 7,
                  .step = {11, oldest},
                  .what = "fetches [y:0], targets []",
                  .unanswered = {{kWorker, &worker_}, {kPs, &ps_}},
                  .others = static_cast<int>(number - oldest) - 1,
                  .awaits_variables = awaits_variables_};
    return {std::move(slow)};
  }

  uint64_t Begin() {
    const uint64_t step = steps_.Begin();
    watch_->StepBegan();
    return step;
  }

  ManualClock clock_;
  SimulatedScheduler scheduler_{clock_};
  StepCounter steps_;
  RecordingLogger logger_;
  protocol::RecordingWorker ps_, worker_;
  int finds_ = 0;
  bool awaits_variables_ = false;
  std::string missing_chief_;
  std::shared_ptr<StepWatch> watch_ = Watch(absl::Seconds(5), &logger_);
};

TEST_F(StepWatchTest, SlowStepIsLoggedWithItsWaits) {
  ps_.waits = {"node take (QueueDequeueV2) on jobs (FIFOQueueV2)"};
  worker_.waits = {"tensor x:0 from /job:ps", "tensor z:0 from /job:ps"};
  const uint64_t step = Begin();
  scheduler_.AdvanceBy(absl::Milliseconds(4900));
  EXPECT_THAT(logger_.lines(), SizeIs(0));
  scheduler_.AdvanceBy(absl::Milliseconds(1100));
  EXPECT_THAT(
      logger_.lines(),
      ElementsAre(
          "W Session 7 has waited more than 5s for step 1 (fetches [y:0], "
          "targets []): /job:ps/replica:0/task:0 waits for node take "
          "(QueueDequeueV2) on jobs (FIFOQueueV2); "
          "/job:worker/replica:0/task:1 waits for tensor x:0 from /job:ps, "
          "tensor z:0 from /job:ps"));
  steps_.End(step);
  scheduler_.AdvanceBy(absl::Minutes(1));
  EXPECT_THAT(logger_.lines(), SizeIs(1));
}

TEST_F(StepWatchTest, ReportsAtDoublingIntervals) {
  Begin();
  scheduler_.AdvanceBy(absl::Seconds(50));
  ASSERT_THAT(logger_.lines(), SizeIs(4));
  EXPECT_THAT(logger_.lines(),
              ElementsAre(HasSubstr("more than 5s for step 1"),
                          HasSubstr("more than 10s for step 1"),
                          HasSubstr("more than 20s for step 1"),
                          HasSubstr("more than 40s for step 1")));
}

TEST_F(StepWatchTest, NextSlowStepIsLoggedSoon) {
  const uint64_t first = Begin();
  scheduler_.AdvanceBy(absl::Seconds(45));
  ASSERT_THAT(logger_.lines(), SizeIs(4));
  steps_.End(first);
  Begin();
  scheduler_.AdvanceBy(absl::Seconds(7));
  ASSERT_THAT(logger_.lines(), SizeIs(5));
  EXPECT_THAT(logger_.lines()[4], HasSubstr("more than 5s for step 2"));
}

// Weft adds the wait, and it lasts until the chief has begun.
TEST_F(StepWatchTest, WaitForVariablesNamesTheChief) {
  awaits_variables_ = true;
  Begin();
  scheduler_.AdvanceBy(absl::Seconds(12));
  EXPECT_THAT(logger_.lines(), SizeIs(0));
  missing_chief_ = "the chief, worker 0, has not joined";
  scheduler_.AdvanceBy(absl::Seconds(10));
  EXPECT_THAT(logger_.lines(),
              ElementsAre("I Session 7 has waited more than 20s until its "
                          "variables have values: the chief, worker 0, has not "
                          "joined"));
}

TEST_F(StepWatchTest, UnresponsiveTasksAreLogged) {
  ps_.answer = absl::DeadlineExceededError("late");
  worker_.answer = absl::UnavailableError("not connected");
  Begin();
  Begin();
  scheduler_.AdvanceBy(absl::Seconds(11));
  ASSERT_THAT(logger_.lines(), SizeIs(2));
  const std::string line = logger_.lines()[1];
  EXPECT_THAT(line, HasSubstr("targets []) and 1 more: "));
  EXPECT_THAT(line, HasSubstr("/job:ps/replica:0/task:0 does not answer"));
  EXPECT_THAT(line, HasSubstr("task:1 can't be asked: not connected"));
}

TEST_F(StepWatchTest, RunningKernelsAndDoneTasksAreLogged) {
  ps_.answer = absl::NotFoundError("no such step");
  Begin();
  scheduler_.AdvanceBy(absl::Seconds(6));
  ASSERT_THAT(logger_.lines(), SizeIs(1));
  EXPECT_THAT(logger_.lines()[0], HasSubstr("task:0 has not begun it"));
  EXPECT_THAT(logger_.lines()[0], HasSubstr("task:1 runs it"));
}

TEST_F(StepWatchTest, QuickStepsAreNotChecked) {
  for (int i = 0; i < 100; ++i) {
    const uint64_t step = Begin();
    scheduler_.AdvanceBy(absl::Milliseconds(300));
    steps_.End(step);
  }
  EXPECT_EQ(finds_, 0);
  EXPECT_THAT(logger_.lines(), SizeIs(0));
}

TEST_F(StepWatchTest, NoTimerRunsWithoutSteps) {
  steps_.End(Begin());
  scheduler_.AdvanceBy(absl::Seconds(1));
  const int64_t before = scheduler_.num_steps();
  scheduler_.AdvanceBy(absl::Hours(1));
  EXPECT_EQ(scheduler_.num_steps(), before);
  // The timer begins again with the next step.
  Begin();
  scheduler_.AdvanceBy(absl::Seconds(6));
  EXPECT_THAT(logger_.lines(), SizeIs(1));
}

TEST_F(StepWatchTest, CanBeDisabledAndStopped) {
  watch_ = Watch(absl::InfiniteDuration(), &logger_);
  Begin();
  scheduler_.AdvanceBy(absl::Minutes(1));
  EXPECT_EQ(finds_, 0);
  watch_ = Watch(absl::Seconds(5), nullptr);
  Begin();
  scheduler_.AdvanceBy(absl::Minutes(1));
  EXPECT_EQ(finds_, 0);
  watch_ = Watch(absl::Seconds(5), &logger_);
  Begin();
  scheduler_.AdvanceBy(absl::Seconds(6));
  EXPECT_EQ(finds_, 1) << "this one is on";
  watch_->Stop();
  Begin();
  scheduler_.AdvanceBy(absl::Minutes(1));
  EXPECT_EQ(finds_, 1);
}

}  // namespace
}  // namespace weft
