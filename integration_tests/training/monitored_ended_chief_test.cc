// Tests chiefs of MonitoredTrainingSession that have ended their training: how
// long they wait for workers, what they save, and what they report.
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "integration_tests/testing/monitored_recovery_test.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/checkpoint/checkpoint_state.h"
#include "libs/train/sessions/other_workers_hook.h"
#include "libs/train/sessions/training_members.h"

namespace weft::monitored_recovery_tests {
namespace {

using testing::HasSubstr;
using train::MonitoredSession;
using train::MonitoredTrainingSession;
using train::MonitoredTrainingSessionOptions;

INSTANTIATE_TEST_SUITE_P(Clusters, MonitoredBoundTest,
                         testing::Values(ClusterKind::kSimulated),
                         [](const testing::TestParamInfo<ClusterKind>& kind) {
                           return ClusterKindName(kind.param);
                         });

TEST_P(MonitoredBoundTest, ChiefDoesNotWaitForLostWorker) {
  Model model;
  OtherWorker lost(model, "zmq://lost:1#1");
  ASSERT_OK_AND_ASSIGN(
      const auto session,
      MonitoredTrainingSession(model.root, Options(0, logger_)));
  lost.Report(*session, OtherWorker::State::kTraining);
  EndInput(*session);
  ASSERT_OK(session->Close());
  EXPECT_THAT(AllOf(logger_),
              HasSubstr("until the other workers have ended: zmq://lost:1."));
  EXPECT_THAT(AllOf(logger_),
              HasSubstr("The worker of zmq://lost:1 has sent no heartbeat"));
}

// A worker is lost. Its entry remains on the servers, which keep running. The
// first chief waits until the worker counts as lost, but the next chief does
// not wait.
TEST_P(MonitoredBoundTest, LostWorkerDoesNotDelayNextChief) {
  const Clock& clock = cluster_.scheduler().clock();
  for (const bool is_first : {true, false}) {
    Model model;
    OtherWorker lost(model, "zmq://lost:1#1");
    RecordingLogger logger;
    ASSERT_OK_AND_ASSIGN(
        const auto session,
        MonitoredTrainingSession(model.root, Options(0, logger)));
    if (is_first) lost.Report(*session, OtherWorker::State::kTraining);
    EndInput(*session);
    const absl::Time ended = clock.Now();
    ASSERT_OK(session->Close());
    EXPECT_EQ(clock.Now() - ended < absl::Seconds(20), !is_first);
    EXPECT_EQ(
        absl::StrContains(AllOf(logger), "zmq://lost:1 has sent no heartbeat"),
        is_first);
  }
}

// A hook that reports the loss of the session in its End, after the End of all
// earlier hooks.
class LossAtTheEnd : public train::SessionRunHook {
 public:
  absl::Status AfterCreateSession(Session&,
                                  train::Coordinator& coordinator) override {
    coordinator_ = &coordinator;
    return absl::OkStatus();
  }
  absl::Status End(Session&) override {
    coordinator_->RequestStop(absl::UnavailableError("the server is gone"));
    return absl::OkStatus();
  }

 private:
  train::Coordinator* coordinator_ = nullptr;
};

// A hook that fails to report the end of training in the first session. In
// later sessions it runs a step when it reports the end.
class ReportingHook : public train::SessionRunHook {
 public:
  absl::Status AfterCreateSession(Session& session,
                                  train::Coordinator&) override {
    first_ = &session;
    return absl::OkStatus();
  }
  absl::Status TrainingHasEnded(Session& session) override {
    if (&session == first_) return absl::UnavailableError("it is lost");
    reported = session.Run(fetched);
    return reported.status();
  }
  Output fetched;
  absl::StatusOr<Tensor> reported = absl::UnknownError("none");

 private:
  Session* first_ = nullptr;
};

// A SessionCreator that creates one session for a chief, and fails to create
// another one.
class OneSession : public train::SessionCreator {
 public:
  OneSession(train::SessionCreatorOptions options, int& num_tries)
      : chiefs_(std::move(options)), num_tries_(num_tries) {}
  absl::Status FinalizeGraph(const Scope& scope) override {
    return chiefs_.FinalizeGraph(scope);
  }
  absl::StatusOr<std::unique_ptr<Session>> CreateSession() override {
    if (++num_tries_ > 1) return absl::UnavailableError("the server is gone");
    return chiefs_.CreateSession();
  }

 private:
  train::ChiefSessionCreator chiefs_;
  int& num_tries_;
};

TEST_P(MonitoredBoundTest, EndOfTrainingIsReportedForOneMinute) {
  Scheduler& scheduler = cluster_.scheduler();
  int num_tries = 0;
  const auto time_to_close = [&](train::HookList hooks) {
    Model model;
    for (int i = 0; i < 4; ++i) {
      hooks.push_back(std::make_shared<train::SessionRunHook>());
    }
    hooks.push_back(std::make_shared<LossAtTheEnd>());
    num_tries = 0;
    const train::SessionCreatorOptions creator = {
        .master = cluster_.target("worker", 0),
        .config = cluster_.session_options(),
        .scheduler = &scheduler,
        .logger = &logger_};
    auto session = MonitoredSession::Create(
        model.root, std::make_unique<OneSession>(creator, num_tries),
        {.hooks = hooks, .scheduler = &scheduler, .logger = &logger_});
    EXPECT_OK(session);
    if (!session.ok()) return absl::InfiniteDuration();
    EXPECT_OK((*session)->Run(model.train));
    const absl::Time ended = scheduler.clock().Now();
    EXPECT_OK((*session)->Close());
    return scheduler.clock().Now() - ended;
  };
  EXPECT_LT(time_to_close({}), absl::Seconds(10));
  EXPECT_EQ(num_tries, 1) << "the hooks have nothing to report";
  const absl::Duration reporting = time_to_close(
      {std::make_shared<ReportingHook>(), std::make_shared<ReportingHook>()});
  EXPECT_GT(reporting, absl::Seconds(50));
  EXPECT_LT(reporting, absl::Seconds(70));
  EXPECT_GT(num_tries, 1);
}

// A session that only reports the end of training restores no variable, because
// other workers may still train.
TEST_P(MonitoredBoundTest, ReportOfTheEndRestoresNoVariables) {
  Model model;
  const auto hook = std::make_shared<ReportingHook>();
  hook->fetched = model.step.value();
  auto options = Options(0, logger_);
  options.checkpoint_dir = "/job";
  options.save_checkpoint_steps = 100;
  options.hooks = {hook, std::make_shared<LossAtTheEnd>()};
  ASSERT_OK_AND_ASSIGN(const auto session,
                       MonitoredTrainingSession(model.root, options));
  for (int i = 0; i < 3; ++i) ASSERT_OK(session->Run(model.train));
  ASSERT_OK(session->Close());
  ASSERT_OK(hook->reported);
  EXPECT_EQ(hook->reported->scalar<int64_t>(), 3);
  EXPECT_THAT(logger_.lines(),
              testing::Not(testing::Contains(HasSubstr("Restoring"))));
}

// Workers are configured to start a minute after the chief. The chief waits
// until they have started.
TEST_P(MonitoredBoundTest, ChiefWaitsUntilDelayedWorkersHaveBegun) {
  Scheduler& scheduler = cluster_.scheduler();
  const auto time_to_close = [&](absl::Duration training) {
    Model model;
    train::HookList hooks;
    train::AddOtherWorkersHook({.is_chief = true,
                                .target = cluster_.target("worker", 0),
                                .logger = &logger_,
                                .delay_of_others = absl::Minutes(1)},
                               hooks);
    auto session = MonitoredSession::Create(
        model.root,
        std::make_unique<train::ChiefSessionCreator>(
            train::SessionCreatorOptions{.master = cluster_.target("worker", 0),
                                         .config = cluster_.session_options(),
                                         .scheduler = &scheduler,
                                         .logger = &logger_}),
        {.hooks = hooks, .scheduler = &scheduler, .logger = &logger_});
    EXPECT_OK(session);
    if (!session.ok()) return absl::InfiniteDuration();
    scheduler.NewEvent()->WaitUntil(scheduler.clock().Now() + training);
    EndInput(**session);
    const absl::Time ended = scheduler.clock().Now();
    EXPECT_OK((*session)->Close());
    return scheduler.clock().Now() - ended;
  };
  EXPECT_GT(time_to_close(absl::Seconds(10)), absl::Seconds(50));
  EXPECT_LT(time_to_close(absl::Minutes(10)), absl::Seconds(20));
}

TEST_P(MonitoredBoundTest, ChiefEndsSoonAfterALossDuringTraining) {
  Model model;
  OtherWorker lost(model, "zmq://lost:1#1");
  ASSERT_OK_AND_ASSIGN(
      const auto session,
      MonitoredTrainingSession(model.root, Options(0, logger_)));
  lost.Report(*session, OtherWorker::State::kTraining);
  Scheduler& scheduler = cluster_.scheduler();
  scheduler.NewEvent()->WaitUntil(scheduler.clock().Now() + absl::Minutes(1));
  EndInput(*session);
  const absl::Time ended = scheduler.clock().Now();
  ASSERT_OK(session->Close());
  EXPECT_LT(scheduler.clock().Now() - ended, absl::Seconds(20));
}

TEST_P(MonitoredBoundTest, WorkerWithoutChiefLogsUnsavedTraining) {
  Model model;
  train::TrainingMembers chief("training_members", "chief");
  ASSERT_OK(chief.AddNodes(model.root, model.step.handle()));
  const Operation init = ops::GlobalVariablesInitializer(model.root);
  ASSERT_OK_AND_ASSIGN(const auto first, Connect(model));
  ASSERT_OK(first->Run(init));
  ASSERT_OK_AND_ASSIGN(
      const auto session,
      MonitoredTrainingSession(model.root, Options(1, logger_)));
  ASSERT_OK(chief.Report(*first, train::TrainingMembers::State::kTraining));
  Scheduler& scheduler = cluster_.scheduler();
  const auto wait = [&](absl::Duration duration) {
    scheduler.NewEvent()->WaitUntil(scheduler.clock().Now() + duration);
  };
  wait(absl::Seconds(10));
  EXPECT_THAT(AllOf(logger_), Not(HasSubstr("nothing that it does is saved")));
  wait(absl::Seconds(70));
  const std::string lines = AllOf(logger_);
  EXPECT_THAT(
      lines,
      HasSubstr("nothing that it does is saved: the chief sends no heartbeat"));
  const std::vector<std::string> parts =
      absl::StrSplit(lines, "nothing that it does");
  EXPECT_EQ(parts.size(), 3u) << "every thirty seconds";
  ASSERT_OK(session->Close());
}

// A wait for a global step exceeds max_wait, but continues because other
// workers still advance the step.
TEST_P(FailingSavesTest, WaitContinuesWhileStepAdvances) {
  Model model;
  const auto chief = Start(model, false);
  ASSERT_NE(chief, nullptr);
  SimulatedScheduler& scheduler = cluster_.scheduler();
  scheduler.Schedule(Pool::kBlocking, [&] {
    for (int i = 0; i < 5; ++i) {
      scheduler.NewEvent()->WaitUntil(scheduler.clock().Now() +
                                      absl::Seconds(6));
      EXPECT_OK(chief->Run(model.train));
    }
  });
  Model other;
  auto options = Options(1, logger_);
  options.hooks = {std::make_shared<train::GlobalStepWaiterHook>(
      train::GlobalStepWaiterOptions{.wait_until_step = 5,
                                     .max_wait = absl::Seconds(10),
                                     .logger = &logger_})};
  ASSERT_OK_AND_ASSIGN(const auto worker,
                       MonitoredTrainingSession(other.root, options));
  EXPECT_OK(worker->Run(other.train));
  EXPECT_OK(worker->Close());
  EXPECT_OK(chief->Close());
}

// A server stalls, so reads of the global step take longer than the timeout of
// calls to the cluster. The chief continues to wait for workers.
TEST_P(FailingSavesTest, StalledServerDoesNotEndWaitForWorkers) {
  Model model;
  OtherWorker worker(model, "zmq://other:1#1");
  const auto session = Start(model, false, absl::Seconds(5));
  ASSERT_NE(session, nullptr);
  worker.Report(*session, OtherWorker::State::kTraining);
  Run(*session, model, 3);
  SimulatedScheduler& scheduler = cluster_.scheduler();
  SimulatedScheduler::Part& server = cluster_.pools("ps", 0);
  const absl::Time now = scheduler.clock().Now();
  scheduler.ScheduleAt(now + absl::Seconds(5), [&] { server.Stop(); });
  scheduler.ScheduleAt(now + absl::Seconds(25), [&] { server.Resume(); });
  EndInput(*session);
  EXPECT_OK(session->Close());
  EXPECT_GE(scheduler.clock().Now() - now, absl::Seconds(25));
  EXPECT_OK(files_.FileExists("/job/model.ckpt-3.index"));
}

// The table of workers is lost with its server, and the worker has no session
// for a while.
TEST_P(FailingSavesTest, EndedChiefWaitsForWorkersAfterLoss) {
  Model model, other;
  const auto chief = Start(model, false);
  ASSERT_NE(chief, nullptr);
  Run(*chief, model, 3);
  ASSERT_OK_AND_ASSIGN(const auto worker, MonitoredTrainingSession(
                                              other.root, Options(1, logger_)));
  SimulatedScheduler& scheduler = cluster_.scheduler();
  absl::Status closed = absl::UnknownError("none");
  scheduler.Schedule(Pool::kBlocking, [&] {
    EndInput(*chief);
    closed = chief->Close();
  });
  scheduler.AdvanceBy(absl::Seconds(10));
  StartAgain("ps", 0);
  scheduler.AdvanceBy(absl::Seconds(10));
  for (int i = 0; i < 3; ++i) EXPECT_OK(worker->Run(other.train));
  EXPECT_OK(worker->Close());
  scheduler.AdvanceBy(absl::Minutes(5));
  EXPECT_OK(closed);
  EXPECT_OK(files_.FileExists("/job/model.ckpt-5.index"))
      << "three steps after the checkpoint of step 2";
}

// The chief's input has ended, and the chief waits for other workers, although
// there are none. Meanwhile the session is lost, and unsaved steps with it.
TEST_P(FailingSavesTest, SessionLossAfterEndOfInputIsReturned) {
  Model model;
  const auto chief = Start(model, false);
  ASSERT_NE(chief, nullptr);
  Run(*chief, model, 3);
  SimulatedScheduler& scheduler = cluster_.scheduler();
  absl::Status closed = absl::UnknownError("none");
  scheduler.Schedule(Pool::kBlocking, [&] {
    EndInput(*chief);
    closed = chief->Close();
  });
  scheduler.AdvanceBy(absl::Seconds(2));
  StartAgain("ps", 0);
  scheduler.AdvanceBy(absl::Minutes(5));
  EXPECT_TRUE(train::IsSessionLost(closed)) << closed;
  EXPECT_THAT(std::string(closed.message()),
              HasSubstr("The session was lost when training had ended"));
  EXPECT_GE(NumLines("Restoring parameters from /job/model.ckpt-2"), 1);
}

// The session is lost after the end of the input, but its last step was saved
// before.
TEST_P(FailingSavesTest, LossWithoutLostStepsAfterInputIsNoError) {
  Model model;
  const auto chief = Start(model, false);
  ASSERT_NE(chief, nullptr);
  Run(*chief, model, 2);
  SimulatedScheduler& scheduler = cluster_.scheduler();
  absl::Status closed = absl::UnknownError("none");
  scheduler.Schedule(Pool::kBlocking, [&] {
    EndInput(*chief);
    closed = chief->Close();
  });
  scheduler.AdvanceBy(absl::Seconds(2));
  StartAgain("ps", 0);
  scheduler.AdvanceBy(absl::Minutes(5));
  EXPECT_OK(closed);
}

// A worker fails before a checkpoint is saved. Later saves are allowed, because
// that checkpoint already contains the values that the worker left.
TEST_P(FailingSavesTest, WorkerFailureBeforeASaveAllowsLaterSaves) {
  Model model;
  OtherWorker worker(model, "zmq://other:1#1");
  const auto chief = Start(model, false);
  ASSERT_NE(chief, nullptr);
  Run(*chief, model, 1);
  worker.Report(*chief, OtherWorker::State::kFailed);
  Run(*chief, model, 2);
  EXPECT_OK(files_.FileExists("/job/model.ckpt-2.index"));
  EndInput(*chief);
  EXPECT_OK(chief->Close());
  EXPECT_OK(files_.FileExists("/job/model.ckpt-3.index"));
}

TEST_P(FailingSavesTest, WorkerFailureAfterLastSavePreventsSaves) {
  Model model;
  OtherWorker worker(model, "zmq://other:1#1");
  const auto chief = Start(model, false);
  ASSERT_NE(chief, nullptr);
  Run(*chief, model, 3);
  worker.Report(*chief, OtherWorker::State::kFailed);
  EndInput(*chief);
  EXPECT_THAT(chief->Close(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "The worker of zmq://other:1 has failed"));
  EXPECT_FALSE(files_.FileExists("/job/model.ckpt-3.index").ok());
}

class EndedChiefTest : public MonitoredWorkerTest {
 protected:
  // Trains as the chief, whose input ends after 20 steps.
  absl::Status TrainChief(MonitoredTrainingSessionOptions options) {
    Model model;
    options.checkpoint_dir = "/job";
    options.save_checkpoint_steps = 100;
    ASSIGN_OR_RETURN(const auto session,
                     MonitoredTrainingSession(model.root, options));
    for (int i = 0; i < 20; ++i) RETURN_IF_ERROR(session->Run(model.train));
    EndInput(*session);
    return session->Close();
  }
  std::string SavedPath() {
    const auto state = checkpoint::ReadCheckpointState(disk_, "/job");
    return state.ok() ? state->model_checkpoint_path : "none";
  }
};

INSTANTIATE_TEST_SUITE_P(Clusters, EndedChiefTest,
                         testing::Values(ClusterKind::kOneProcess,
                                         ClusterKind::kSockets),
                         [](const testing::TestParamInfo<ClusterKind>& kind) {
                           return ClusterKindName(kind.param);
                         });

TEST_P(EndedChiefTest, SavesContinueAfterEndOfChiefInput) {
  NotifyingLogger waits("The input of the chief has ended. It stays");
  absl::Status chief = absl::UnknownError("none");
  std::thread thread([&] { chief = TrainChief(Options(0, waits)); });
  Model model;
  ASSERT_OK_AND_ASSIGN(
      const auto session,
      MonitoredTrainingSession(model.root, Options(1, logger_)));
  waits.Wait();
  for (int i = 0; i < 200; ++i) ASSERT_OK(session->Run(model.train));
  while (absl::EndsWith(SavedPath(), "model.ckpt-0")) {
  }  // waits until the regular schedule has saved
  for (int i = 0; i < 200; ++i) ASSERT_OK(session->Run(model.train));
  ASSERT_OK(session->Close());
  thread.join();
  ASSERT_OK(chief);
  EXPECT_THAT(SavedPath(), testing::EndsWith("model.ckpt-420"));
}

// A worker's loss becomes NaN. The chief must not save the NaN weight.
TEST_P(EndedChiefTest, DivergingWorkerEndsWaitWithoutSave) {
  NotifyingLogger waits("The input of the chief has ended. It stays");
  absl::Status chief = absl::UnknownError("none");
  std::thread thread([&] { chief = TrainChief(Options(0, waits)); });
  Model model;
  const Output loss =
      model.weight.Read(model.root.WithControlDependencies({model.train}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Operation diverge = ops::Assign(model.root, model.weight, nan);
  auto options = Options(1, logger_);
  options.hooks.push_back(std::make_shared<train::NanTensorHook>(loss));
  ASSERT_OK_AND_ASSIGN(auto session,
                       MonitoredTrainingSession(model.root, options));
  waits.Wait();
  ASSERT_OK(session->Run(model.train));
  ASSERT_OK(session->raw_session()->Run(diverge));
  EXPECT_THAT(session->Run(model.train),
              StatusIs(absl::StatusCode::kInvalidArgument, "NaN loss"));
  session.reset();  // as in a program that returns the error
  thread.join();
  EXPECT_THAT(chief, StatusIs(absl::StatusCode::kFailedPrecondition,
                              absl::StrCat("The worker of ",
                                           cluster_.target("worker", 1),
                                           " has failed")));
  EXPECT_THAT(SavedPath(), testing::EndsWith("model.ckpt-0"));
  // The failure belongs to the previous training and does not affect this one.
  EXPECT_OK(TrainChief(Options(0, logger_)));
  EXPECT_THAT(SavedPath(), testing::EndsWith("model.ckpt-20"));
}

// If a worker fails, a chief that ends at its last step does not save this
// step.
TEST_P(EndedChiefTest, WorkerFailurePreventsSaveOfTheLastStep) {
  Model model, others;
  auto options = Options(0, logger_);
  options.checkpoint_dir = "/job";
  options.save_checkpoint_steps = 100;
  options.hooks.push_back(train::StopAtStep(5));
  ASSERT_OK_AND_ASSIGN(const auto chief,
                       MonitoredTrainingSession(model.root, options));
  const Output loss =
      others.weight.Read(others.root.WithControlDependencies({others.train}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Operation diverge = ops::Assign(others.root, others.weight, nan);
  auto with = Options(1, logger_);
  with.hooks.push_back(std::make_shared<train::NanTensorHook>(loss));
  ASSERT_OK_AND_ASSIGN(auto worker,
                       MonitoredTrainingSession(others.root, with));
  ASSERT_OK(worker->raw_session()->Run(diverge));
  EXPECT_THAT(worker->Run(others.train),
              StatusIs(absl::StatusCode::kInvalidArgument, "NaN loss"));
  worker.reset();  // as in a program that returns the error
  while (!chief->ShouldStop()) ASSERT_OK(chief->Run(model.train));
  EXPECT_THAT(
      chief->Close(),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               "has failed since the last checkpoint: a hook has refused"));
  EXPECT_THAT(SavedPath(), testing::EndsWith("model.ckpt-0"));
}

TEST_P(EndedChiefTest, StopRequestEndsWaitOfEndedChief) {
  NotifyingLogger waits("The input of the chief has ended. It stays");
  std::atomic<bool> is_to_leave = false;
  absl::Status chief = absl::UnknownError("none");
  std::thread thread([&] {
    auto options = Options(0, waits);
    options.stop_requested = [&] { return is_to_leave.load(); };
    chief = TrainChief(std::move(options));
  });
  Model model;
  ASSERT_OK_AND_ASSIGN(
      const auto session,
      MonitoredTrainingSession(model.root, Options(1, logger_)));
  waits.Wait();
  for (int i = 0; i < 10; ++i) ASSERT_OK(session->Run(model.train));
  is_to_leave = true;
  thread.join();
  ASSERT_OK(chief);
  EXPECT_THAT(SavedPath(), testing::EndsWith("model.ckpt-30"));
  ASSERT_OK(session->Close());
}

}  // namespace
}  // namespace weft::monitored_recovery_tests
