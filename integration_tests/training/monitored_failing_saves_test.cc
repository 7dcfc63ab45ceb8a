// Tests MonitoredTrainingSession on clusters whose files fail or hang. Training
// continues for a while, and final saves are retried.
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "integration_tests/testing/monitored_recovery_test.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/test_matchers.h"

namespace weft::monitored_recovery_tests {
namespace {

using testing::HasSubstr;
using train::MonitoredTrainingSession;

INSTANTIATE_TEST_SUITE_P(Clusters, FailingSavesTest,
                         testing::Values(ClusterKind::kSimulated),
                         [](const testing::TestParamInfo<ClusterKind>& kind) {
                           return ClusterKindName(kind.param);
                         });

TEST_P(FailingSavesTest, FailingSavesDoNotDisturbTraining) {
  for (const bool beside : {false, true}) {
    for (const auto code :
         {absl::StatusCode::kUnavailable, absl::StatusCode::kAborted,
          absl::StatusCode::kDeadlineExceeded,
          absl::StatusCode::kResourceExhausted}) {
      SCOPED_TRACE(absl::StrCat(absl::StatusCodeToString(code), beside));
      // Deletes the checkpoint that the first session has saved.
      files_.DeleteRecursively("/job").IgnoreError();
      steps_.clear();
      const int64_t num_failed = NumLines("could not be saved");
      Model model;
      const auto session = Start(model, beside);
      ASSERT_NE(session, nullptr);
      Session* const first = session->raw_session();
      disk_.FailAllFrom(0, absl::Status(code, "no disk"));
      Run(*session, model, 10);
      EXPECT_EQ(steps_.back(), 10) << "nothing was restored";
      EXPECT_EQ(session->raw_session(), first);
      EXPECT_EQ(NumLines("could not be saved"), num_failed + 1)
          << "not with each step";
      disk_.Heal();
      cluster_.scheduler().AdvanceBy(absl::Minutes(1));
      Run(*session, model, 2);
      EXPECT_OK(files_.FileExists("/job/model.ckpt-11.index"));
      ASSERT_OK(session->Close());
    }
  }
}

TEST_P(FailingSavesTest, FailingSavesEndTrainingAfterAnHour) {
  Model model;
  const auto session = Start(model, false);
  ASSERT_NE(session, nullptr);
  disk_.FailAllFrom(0, absl::UnavailableError("no disk"));
  const absl::Status status = RunOnceAMinute(*session, model);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDeadlineExceeded,
                               "No checkpoint could be saved for 1h"));
  EXPECT_GE(minutes_, 60);
  EXPECT_EQ(session->Close(status), status);
}

// If files hang forever, a save returns no error.
TEST_P(FailingSavesTest, HungAsyncSaveEndsTrainingAfterAnHour) {
  Model model;
  const auto session = Start(model, true);
  ASSERT_NE(session, nullptr);
  files_.Shut(cluster_.scheduler(), ".data");
  const absl::Status status = RunOnceAMinute(*session, model);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDeadlineExceeded,
                               "and none could be saved for 1h"));
  EXPECT_GE(minutes_, 60);
  EXPECT_EQ(NumLines("has not ended after"), 5) << "every ten minutes";
  files_.Open();
  EXPECT_EQ(session->Close(status), status);
}

// The final save hangs, and so does a step on the session's own task. The wait
// is logged, and ends after an hour.
TEST_P(FailingSavesTest, HungFinalSaveEndsAfterAnHour) {
  for (const bool beside : {false, true}) {
    SCOPED_TRACE(beside);
    files_.DeleteRecursively("/job").IgnoreError();
    Model model("extra", "/job:worker/task:0");
    auto session = Start(model, beside, absl::InfiniteDuration());
    ASSERT_NE(session, nullptr);
    // If `beside` is set, the save already hangs when training ends.
    if (!beside) Run(*session, model, 1);
    files_.Shut(cluster_.scheduler(), ".data");
    if (beside) Run(*session, model, 3);
    const int64_t num_lines = NumLines("has not ended after");
    const absl::Time begin = cluster_.scheduler().clock().Now();
    EXPECT_THAT(session->Close(),
                StatusIs(absl::StatusCode::kDeadlineExceeded,
                         "which is saved into /job/model.ckpt, has not ended "
                         "after 1h"));
    const absl::Duration time = cluster_.scheduler().clock().Now() - begin;
    EXPECT_GE(time, absl::Hours(1));
    EXPECT_LE(time, absl::Minutes(70));
    EXPECT_GE(NumLines("has not ended after") - num_lines, 55);
    EXPECT_GE(NumLines("The session has not ended after 2m"), 1);
    files_.Open();
    cluster_.scheduler().RunUntilIdle();
    session.reset();
  }
}

TEST_P(FailingSavesTest, HungSyncSaveEndsTrainingAfterAnHour) {
  Model model;
  const auto session = Start(model, false, absl::InfiniteDuration());
  ASSERT_NE(session, nullptr);
  Run(*session, model, 1);
  files_.Shut(cluster_.scheduler(), ".data");
  absl::Status status;
  for (int i = 0; status.ok() && i < 3; ++i) status = session->Run(model.train);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDeadlineExceeded,
                               "which is saved into /job/model.ckpt, has not "
                               "ended after 1h"));
  EXPECT_EQ(NumLines("has not ended after"), 59) << "every minute";
  files_.Open();
  EXPECT_EQ(session->Close(status), status);
}

// The save is slow, but takes less than an hour.
TEST_P(FailingSavesTest, SlowSaveIsAwaited) {
  Model model;
  const auto session = Start(model, false);
  ASSERT_NE(session, nullptr);
  Run(*session, model, 1);
  SimulatedScheduler& scheduler = cluster_.scheduler();
  files_.Shut(scheduler, ".data");
  scheduler.ScheduleAt(scheduler.clock().Now() + absl::Minutes(50),
                       [this] { files_.Open(); });
  EXPECT_OK(session->Close());
  EXPECT_OK(files_.FileExists("/job/model.ckpt-1.index"));
}

// Saves have failed for an hour. The disk works again when the final save runs,
// but takes some minutes.
TEST_P(FailingSavesTest, FinalSaveRunsAfterLongFailures) {
  Model model;
  const auto session = Start(model, false);
  ASSERT_NE(session, nullptr);
  SimulatedScheduler& scheduler = cluster_.scheduler();
  disk_.FailAllFrom(0, absl::UnavailableError("no disk"));
  for (int minutes = 0; minutes < 60; ++minutes) {
    Run(*session, model, 1);
    scheduler.AdvanceBy(absl::Minutes(1));
  }
  disk_.Heal();
  files_.Shut(scheduler, ".data");
  scheduler.ScheduleAt(scheduler.clock().Now() + absl::Minutes(3),
                       [this] { files_.Open(); });
  EXPECT_OK(session->Close());
  EXPECT_OK(files_.FileExists("/job/model.ckpt-60.index"));
}

// A hook that fails at the start of its n-th session.
class LateHook : public train::SessionRunHook {
 public:
  explicit LateHook(int n) : until_(n) {}
  absl::Status AfterCreateSession(Session&, train::Coordinator&) override {
    return --until_ == 0 ? absl::UnavailableError("a task is late")
                         : absl::OkStatus();
  }

 private:
  int until_;
};

// Time during which there is no session does not count as time of failing
// saves.
TEST_P(FailingSavesTest, TimeWithoutSessionIsNotCounted) {
  Model model;
  auto options = Options(0, logger_);
  options.checkpoint_dir = "/job";
  options.save_checkpoint_steps = 2;
  options.recovery.initial_backoff = absl::Minutes(3);
  options.recovery.max_backoff = absl::Minutes(3);
  // The hook makes the first new session after the loss fail.
  options.chief_only_hooks = {std::make_shared<LateHook>(2)};
  ASSERT_OK_AND_ASSIGN(const auto session,
                       MonitoredTrainingSession(model.root, options));
  const auto fail = [this] {
    disk_.FailAllFrom(0, absl::ResourceExhaustedError("full"));
  };
  fail();
  Run(*session, model, 3);
  EXPECT_EQ(NumLines("could not be saved"), 1);
  disk_.Heal();
  cluster_.Stop("ps", 1);
  SimulatedScheduler& scheduler = cluster_.scheduler();
  scheduler.ScheduleAt(scheduler.clock().Now() + absl::Minutes(70),
                       [this] { cluster_.Start("ps", 1); });
  Run(*session, model, 1);
  EXPECT_EQ(steps_.back(), 1) << "from the first checkpoint";
  fail();
  scheduler.AdvanceBy(absl::Minutes(1));
  Run(*session, model, 3);
  EXPECT_EQ(NumLines("could not be saved"), 2);
  disk_.Heal();
  EXPECT_OK(session->Close());
}

// The disk is full, and a server is lost every 50 minutes. New sessions must
// not restart the hour after which failing saves end training.
TEST_P(FailingSavesTest, NewSessionDoesNotRestartTheHour) {
  Model model;
  const auto session = Start(model, false);
  ASSERT_NE(session, nullptr);
  disk_.LimitSpace(0);
  const absl::Status status = RunOnceAMinute(*session, model, [this] {
    if (minutes_ % 50 == 49) StartAgain("ps", 1);
  });
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                               "No checkpoint could be saved for 1h"));
  EXPECT_GE(minutes_, 60);
  EXPECT_LE(minutes_, 70);
  EXPECT_EQ(session->Close(status), status);
}

TEST_P(FailingSavesTest, FinalSaveIsRetried) {
  Model model;
  const auto session = Start(model, false);
  ASSERT_NE(session, nullptr);
  Run(*session, model, 1);
  disk_.FailAllFrom(0, absl::ResourceExhaustedError("full"));
  cluster_.scheduler().ScheduleAt(
      cluster_.scheduler().clock().Now() + absl::Seconds(10),
      [this] { disk_.Heal(); });
  EXPECT_OK(session->Close());
  EXPECT_OK(files_.FileExists("/job/model.ckpt-1.index"));
}

// The number of attempts is limited, even if the error of the disk looks like
// that of a lost session.
TEST_P(FailingSavesTest, FinalSaveRetriesAreBounded) {
  Model model;
  const auto session = Start(model, false);
  ASSERT_NE(session, nullptr);
  Run(*session, model, 1);
  disk_.FailAllFrom(0, absl::UnavailableError("no disk"));
  const absl::Time before = cluster_.scheduler().clock().Now();
  const absl::Status status = session->Close();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDeadlineExceeded,
                               "The last checkpoint, of step 1, could not be "
                               "saved into /job/model.ckpt, tried 20 times"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("no disk"));
  EXPECT_EQ(NumLines("Saving checkpoints for 1 into"), 20);
  EXPECT_LE(cluster_.scheduler().clock().Now() - before, absl::Minutes(5));
}

// A chief that was asked to stop retries its save only briefly, because its
// process may be killed soon.
TEST_P(FailingSavesTest, StoppingChiefRetriesBriefly) {
  Model model;
  const auto session = Start(model, false);
  ASSERT_NE(session, nullptr);
  Run(*session, model, 3);
  disk_.FailAllFrom(0, absl::UnavailableError("no disk"));
  session->RequestStop();
  const absl::Time before = cluster_.scheduler().clock().Now();
  const absl::Status status = session->Close();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDeadlineExceeded, "no disk"));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("Steps 3 to about 3 are lost: a restart continues "
                        "from the checkpoint of step 2."));
  EXPECT_EQ(NumLines("Steps 3 to about 3 are lost"), 1);
  EXPECT_LE(cluster_.scheduler().clock().Now() - before, absl::Seconds(2));
}

TEST_P(FailingSavesTest, StoppingChiefDoesNotWaitForTasks) {
  Model model;
  const auto session = Start(model, false);
  ASSERT_NE(session, nullptr);
  Run(*session, model, 3);
  cluster_.Stop("ps", 1);
  session->RequestStop();
  const absl::Time before = cluster_.scheduler().clock().Now();
  const absl::Status status = session->Close();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDeadlineExceeded,
                               "task:1 has ended"));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("are lost: a restart continues from the checkpoint "
                        "of step 2."));
  EXPECT_LE(cluster_.scheduler().clock().Now() - before, absl::Seconds(5));
  cluster_.Start("ps", 1);
}

// One task has lost the session and aborts the save. The task with the global
// step still has the session.
TEST_P(FailingSavesTest, AbortedFinalSaveCountsAsLostSession) {
  Model model;
  const auto session = Start(model, false);
  ASSERT_NE(session, nullptr);
  Run(*session, model, 1);
  StartAgain("ps", 1);
  const absl::Status status = session->Close();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kAborted,
                               "The session was lost when training had ended"));
  EXPECT_LE(NumLines("Saving checkpoints for 1 into"), 7);
}

// After a stop request, a lost session is not replaced to train again from the
// last checkpoint.
TEST_P(FailingSavesTest, LostSessionIsNotReplacedAfterStop) {
  Model model;
  const auto session = Start(model, false);
  ASSERT_NE(session, nullptr);
  Run(*session, model, 3);
  StartAgain("ps", 1);
  session->RequestStop();
  const absl::Status status = session->Run(model.train);
  EXPECT_TRUE(train::IsSessionLost(status)) << status;
  EXPECT_TRUE(session->ShouldStop());
  EXPECT_EQ(session->Close(), status) << "of the loss";
  EXPECT_EQ(NumLines("Restoring parameters"), 0);
  EXPECT_EQ(NumLines("Steps 3 to about"), 1);
  EXPECT_FALSE(files_.FileExists("/job/model.ckpt-3.index").ok());
}

// Recovery waits for hung files, whichever file operation hangs first.
TEST_P(FailingSavesTest, HungFilesDelayRecoveryOnlyWhileHung) {
  for (int first = 0; first < 12; ++first) {
    SCOPED_TRACE(first);
    files_.DeleteRecursively("/job").IgnoreError();
    steps_.clear();
    Model model;
    const auto session = Start(model, false, absl::InfiniteDuration());
    ASSERT_NE(session, nullptr);
    Run(*session, model, 3);
    StartAgain("ps", 1);
    disk_.FailAllFrom(first, absl::DeadlineExceededError("silent"));
    cluster_.scheduler().ScheduleAt(
        cluster_.scheduler().clock().Now() + absl::Seconds(10),
        [this] { disk_.Heal(); });
    Run(*session, model, 1);
    EXPECT_EQ(steps_.back(), 3) << "from the checkpoint of step 2";
    disk_.Heal();
    ASSERT_OK(session->Close());
  }
}

// A lost session must be replaced while the disk is full for event files.
TEST_P(FailingSavesTest, EventErrorsDoNotBlockRecovery) {
  Model model;
  const auto session = Start(model, false);
  ASSERT_NE(session, nullptr);
  Run(*session, model, 3);
  disk_.LimitSpace(0);
  StartAgain("ps", 1);
  Run(*session, model, 1);
  EXPECT_EQ(steps_.back(), 3) << "from the checkpoint of step 2";
  disk_.Heal();
  EXPECT_OK(session->Close());
}

// A lost session must be replaced while the directory of event files hangs.
TEST_P(FailingSavesTest, HungEventsDoNotBlockRecovery) {
  Model model;
  const auto session = Start(model, false);
  ASSERT_NE(session, nullptr);
  Run(*session, model, 3);
  files_.Shut(cluster_.scheduler(), "tfevents");
  StartAgain("ps", 1);
  const absl::Time before = cluster_.scheduler().clock().Now();
  Run(*session, model, 1);
  EXPECT_LE(cluster_.scheduler().clock().Now() - before, absl::Minutes(5));
  EXPECT_EQ(steps_.back(), 3);
  files_.Open();
  cluster_.scheduler().RunUntilIdle();
  EXPECT_OK(session->Close());
}

TEST_P(FailingSavesTest, HungTimelinesDoNotBlockTraining) {
  Model model;
  SimulatedScheduler& scheduler = cluster_.scheduler();
  auto options = Options(0, logger_);
  options.hooks = {std::make_shared<train::ProfilerHook>(
      train::ProfilerOptions{.save_steps = 2,
                             .output_dir = "/job/profile",
                             .clock = &scheduler.clock(),
                             .logger = &logger_})};
  ASSERT_OK_AND_ASSIGN(const auto session,
                       MonitoredTrainingSession(model.root, options));
  files_.Shut(scheduler, "timeline");
  const absl::Time before = scheduler.clock().Now();
  Run(*session, model, 9);
  EXPECT_EQ(steps_.back(), 9);
  EXPECT_LE(scheduler.clock().Now() - before, absl::Seconds(40));
  EXPECT_EQ(NumLines("profile has not answered for 30s"), 1);
  EXPECT_GE(NumLines("is still being written"), 2);
  files_.Open();
  scheduler.RunUntilIdle();
  Run(*session, model, 3);
  EXPECT_EQ(NumLines("has not answered"), 1);
  EXPECT_OK(session->Close());
}

// Lost events are logged while training continues, not only at its end. They
// are logged once a minute, not for each event.
TEST_P(FailingSavesTest, LostEventsAreLoggedDuringTraining) {
  Model model;
  ASSERT_OK_AND_ASSIGN(auto session, Connect(model));
  SimulatedScheduler& scheduler = cluster_.scheduler();
  train::Coordinator coordinator({.scheduler = &scheduler});
  train::SessionSummaryWriter writer("/job", &logger_);
  ASSERT_OK(writer.Open(*session, coordinator));
  disk_.LimitSpace(0);
  for (int step = 1; step <= 100; ++step) {
    writer.AddScalar("loss", 1.0f, step);
    scheduler.AdvanceBy(absl::Seconds(2));
  }
  EXPECT_GE(NumLines("Events for /job were lost"), 2);
  EXPECT_LE(NumLines("Events for /job were lost"), 4);
  disk_.Heal();
  writer.Close();
  session = nullptr;
}

// A thread of the program adds events while the session is closed.
TEST_P(FailingSavesTest, EventsAreClosedBeforeTheSession) {
  Model model;
  ASSERT_OK_AND_ASSIGN(auto session, Connect(model));
  SimulatedScheduler& scheduler = cluster_.scheduler();
  train::Coordinator coordinator({.scheduler = &scheduler});
  // A logger that needs a second for each line.
  class SlowLogger : public Logger {
   public:
    explicit SlowLogger(Scheduler& scheduler) : scheduler_(scheduler) {}
    void Log(Severity, absl::string_view) override {
      scheduler_.NewEvent()->WaitUntil(scheduler_.clock().Now() +
                                       absl::Seconds(1));
    }

   private:
    Scheduler& scheduler_;
  } logger(scheduler);
  train::SessionSummaryWriter writer("/job", &logger);
  ASSERT_OK(writer.Open(*session, coordinator));
  bool has_ended = false;
  scheduler.Schedule(Pool::kBlocking, [&] {
    writer.AddSummary("no summary", 1);
    has_ended = true;
  });
  scheduler.RunUntilIdle();
  EXPECT_FALSE(has_ended);
  writer.Close();
  EXPECT_TRUE(has_ended);
  session = nullptr;
}

}  // namespace
}  // namespace weft::monitored_recovery_tests
