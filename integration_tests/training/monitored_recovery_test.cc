// MonitoredTrainingSession on clusters: workers wait for the chief, and
// training continues after a parameter server has restarted, with checkpoints
// and without.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/checkpoint/checkpoint_state.h"
#include "libs/checkpoint_writer/testing/gated_file_system.h"
#include "libs/fs/failing_file_system.h"
#include "libs/train/sessions/other_workers_hook.h"
#include "libs/train/sessions/training_members.h"

namespace weft {
namespace {

using testing::HasSubstr;
using train::MonitoredSession;
using train::MonitoredTrainingSession;
using train::MonitoredTrainingSessionOptions;

// Notifies when a line contains the given text.
class NotifyingLogger : public Logger {
 public:
  explicit NotifyingLogger(std::string text) : text_(std::move(text)) {}
  void Log(Severity severity, absl::string_view message) override {
    lines_.Log(severity, message);
    if (absl::StrContains(message, text_)) seen_->Set();
  }
  void Wait() { seen_->Wait(); }
  std::vector<std::string> lines() const { return lines_.lines(); }

 private:
  const std::string text_;
  RecordingLogger lines_;
  const SystemClock clock_;
  const std::unique_ptr<Scheduler> scheduler_ = NewThreadScheduler(clock_);
  const std::unique_ptr<Event> seen_ = scheduler_->NewEvent();
};

// The model of one task: a weight and a bias on two parameter servers, which
// each step adds one to.
struct Model {
  // `extra`: a variable more, at `device` or where the next one comes.
  explicit Model(absl::string_view extra = "", absl::string_view device = "") {
    const Scope scope =
        root.WithDeviceFunction(ReplicaDeviceSetter({.ps_tasks = 2}));
    step = train::GetOrCreateGlobalStep(scope);
    weight = ops::Variable(scope.WithName("weight"), 0.0f);
    ops::Variable(scope.WithName("bias"), 0.0f, {.use_resource = false});
    const Scope at = device.empty() ? scope : root.WithDevice(device);
    if (!extra.empty()) ops::Variable(at.WithName(extra), 0.0f);
    const Operation add = ops::AssignAdd(scope, weight, 1.0f);
    train = ops::AssignAdd(scope.WithControlDependencies({add}), step, 1);
    both = {step.Read(root.WithControlDependencies({train})), weight.value()};
  }
  Scope root = Scope::Root();
  ops::Variable step, weight;
  Operation train;
  std::vector<Output> both;
};

class MonitoredRecoveryTest : public testing::TestWithParam<ClusterKind> {
 protected:
  // `patience` is the timeout for missing tasks.
  explicit MonitoredRecoveryTest(absl::Duration patience = absl::Seconds(2))
      : cluster_(ClusterOptions(patience)) {}

  TestCluster::Options ClusterOptions(absl::Duration patience) {
    TestCluster::Options options;
    options.kind = GetParam();
    options.jobs = {{"ps", 2}, {"worker", 2}};
    options.patience = patience;
    options.file_system = [this](const std::string&) { return &disk_; };
    return options;
  }
  MonitoredTrainingSessionOptions Options(int worker, Logger& logger) {
    MonitoredTrainingSessionOptions options;
    options.master = cluster_.target("worker", worker);
    options.is_chief = worker == 0;
    options.config = cluster_.session_options();
    options.logger = &logger;
    if (GetParam() == ClusterKind::kSimulated) {
      options.scheduler = &cluster_.scheduler();
    }
    return options;
  }
  // The chief's task, without what a training adds.
  absl::StatusOr<std::unique_ptr<Session>> Connect(const Model& model) {
    return Session::Connect(cluster_.target("worker", 0), model.root,
                            cluster_.session_options());
  }
  void StartAgain(const std::string& job, int index) {
    cluster_.Stop(job, index);
    cluster_.Start(job, index);
  }
  // Up to step 30; the second server is new after step 12.
  void TrainThroughALoss(MonitoredTrainingSessionOptions options) {
    Model model;
    options.hooks.push_back(train::StopAtStep(30));
    ASSERT_OK_AND_ASSIGN(const auto session,
                         MonitoredTrainingSession(model.root, options));
    bool is_lost = false;
    while (!session->ShouldStop()) {
      ASSERT_OK_AND_ASSIGN(const auto values, session->Run({}, model.both));
      steps_.push_back(values[0].scalar<int64_t>());
      if (is_lost || steps_.back() < 12) continue;
      is_lost = true;
      StartAgain("ps", 1);
    }
    ASSERT_OK_AND_ASSIGN(const Tensor weight,
                         session->raw_session()->Run(model.weight));
    EXPECT_EQ(weight.scalar<float>(), 30.0f) << "as many as steps";
    ASSERT_OK(session->Close());
  }
  // The second program, on a thread: the global step that it reads first.
  std::thread StartWorker(const Model& model, Logger& logger,
                          absl::StatusOr<int64_t>& step) {
    return std::thread([&] {
      const auto session =
          MonitoredTrainingSession(model.root, Options(1, logger));
      if (!session.ok()) {
        step = session.status();
        return;
      }
      const auto value = (*session)->Run(model.step);
      step = value.ok() ? absl::StatusOr<int64_t>(value->scalar<int64_t>())
                        : value.status();
      EXPECT_OK((*session)->Close());
    });
  }

  GatedFileSystem files_;
  FailingFileSystem disk_{files_};
  RecordingLogger logger_;
  TestCluster cluster_;
  std::vector<int64_t> steps_;  // that the program has seen
};

INSTANTIATE_TEST_SUITE_P(Clusters, MonitoredRecoveryTest,
                         testing::ValuesIn(kAllClusterKinds),
                         [](const testing::TestParamInfo<ClusterKind>& kind) {
                           return ClusterKindName(kind.param);
                         });

TEST_P(MonitoredRecoveryTest, ResumesFromLastCheckpoint) {
  auto options = Options(0, logger_);
  options.checkpoint_dir = "/job";
  options.save_checkpoint_steps = 5;
  TrainThroughALoss(std::move(options));
  ASSERT_FALSE(steps_.empty());
  EXPECT_EQ(steps_.back(), 30);
  // Back to a checkpoint, and no further.
  int64_t furthest_back = 0;
  for (size_t i = 1; i < steps_.size(); ++i) {
    furthest_back = std::max(furthest_back, steps_[i - 1] - steps_[i]);
  }
  EXPECT_LE(furthest_back, 12);
  EXPECT_THAT(logger_.lines(),
              testing::Contains(HasSubstr("Restoring parameters from /job/")));
}

TEST_P(MonitoredRecoveryTest, WithoutDirectoryStartsOver) {
  TrainThroughALoss(Options(0, logger_));
  ASSERT_FALSE(steps_.empty());
  EXPECT_EQ(steps_.back(), 30);
  EXPECT_EQ(steps_.size(), 12u + 30u);
}

// Without a checkpoint, values of variables may be of an earlier program.
TEST_P(MonitoredRecoveryTest, CheckpointAloneInitializesSession) {
  Model model;
  train::Saver saver(model.root);
  train::SessionManagerOptions options;
  options.ready_op = train::ReportUninitializedVariables(model.root);
  options.logger = &logger_;
  train::SessionManager manager(model.root, options);
  ASSERT_OK_AND_ASSIGN(const auto before, Connect(model));
  ASSERT_OK(before->Run(ops::GlobalVariablesInitializer(model.root)));
  ASSERT_OK_AND_ASSIGN(
      const auto recovered,
      manager.RecoverSession(cluster_.target("worker", 0),
                             cluster_.session_options(), {&saver, "/job", ""}));
  EXPECT_FALSE(recovered.is_initialized);
  EXPECT_OK(recovered.session->Run(model.train));
}

// The queue is on a live server, and a run finds that another server is gone:
// the queue must stay open for the next session.
TEST_P(MonitoredRecoveryTest, LossFoundByRunLeavesSharedQueuesOpen) {
  Model model;
  const Scope at = model.root.WithDevice("/job:ps/task:0");
  const auto queue = ops::Queue::Fifo(at.WithName("queue"), {DT_FLOAT},
                                      {.shapes = {PartialShape::Scalar()},
                                       .capacity = 2,
                                       .shared_name = "shared"});
  train::AddQueueRunner(
      model.root, {.queue = queue,
                   .enqueue_ops = {queue.Enqueue(at, {ops::Const(at, 1.0f)})}});
  const Output taken = queue.Dequeue(at)[0];
  const Output is_closed = queue.IsClosed(at);
  ASSERT_OK_AND_ASSIGN(
      const auto session,
      MonitoredTrainingSession(model.root, Options(0, logger_)));
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK(session->Run(taken).status());
    StartAgain("ps", 1);
    ASSERT_OK(session->Run(model.train));
    ASSERT_OK_AND_ASSIGN(const Tensor closed, session->Run(is_closed));
    EXPECT_FALSE(closed.scalar<bool>());
  }
  EXPECT_OK(session->Close());
}

// In simulated time, because the cluster waits long for missing tasks.
class MonitoredBoundTest : public MonitoredRecoveryTest {};

INSTANTIATE_TEST_SUITE_P(Clusters, MonitoredBoundTest,
                         testing::Values(ClusterKind::kSimulated),
                         [](const testing::TestParamInfo<ClusterKind>& kind) {
                           return ClusterKindName(kind.param);
                         });

TEST_P(MonitoredBoundTest, RecoveryTimeIsBounded) {
  Model model;
  auto options = Options(0, logger_);
  options.recovery.max_recovery = absl::Milliseconds(300);
  ASSERT_OK_AND_ASSIGN(const auto session,
                       MonitoredTrainingSession(model.root, options));
  ASSERT_OK(session->Run(model.train));
  cluster_.Stop("ps", 1);
  const absl::Status status = session->Run(model.train);
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kUnavailable,
                       "Sessions were lost for 300ms without progress"));
  EXPECT_TRUE(session->ShouldStop());
  EXPECT_EQ(session->Close(status), status);
  cluster_.Start("ps", 1);
}

// Simulates an input that ends in the next run.
void EndInput(MonitoredSession& session) {
  EXPECT_THAT(session.RunStepFn([](MonitoredSession::StepContext&) {
    return absl::OutOfRangeError("the input has ended");
  }),
              StatusIs(absl::StatusCode::kOutOfRange));
}

std::string AllOf(const RecordingLogger& logger) {
  return absl::StrJoin(logger.lines(), "\n");
}

// A worker that reports its state in the session of the chief, and no more.
class OtherWorker {
 public:
  using State = train::TrainingMembers::State;

  OtherWorker(const Model& model, std::string name)
      : member_("training_members", std::move(name)) {
    EXPECT_OK(member_.AddNodes(model.root, model.step.handle()));
  }
  void Say(MonitoredSession& session, State state) {
    ASSERT_OK(member_.Say(*session.raw_session(), state));
  }

 private:
  train::TrainingMembers member_;
};

TEST_P(MonitoredBoundTest, ChiefDoesNotWaitForLostWorker) {
  Model model;
  OtherWorker lost(model, "zmq://lost:1#1");
  ASSERT_OK_AND_ASSIGN(
      const auto session,
      MonitoredTrainingSession(model.root, Options(0, logger_)));
  lost.Say(*session, OtherWorker::State::kTraining);
  EndInput(*session);
  ASSERT_OK(session->Close());
  EXPECT_THAT(AllOf(logger_),
              HasSubstr("until the other workers have ended: zmq://lost:1."));
  EXPECT_THAT(AllOf(logger_),
              HasSubstr("The worker of zmq://lost:1 has sent no heartbeat"));
}

// Its entry is on servers that keep running.
TEST_P(MonitoredBoundTest, LostWorkerDoesNotDelayNextChief) {
  const Clock& clock = cluster_.scheduler().clock();
  for (const bool is_first : {true, false}) {
    Model model;
    OtherWorker lost(model, "zmq://lost:1#1");
    RecordingLogger logger;
    ASSERT_OK_AND_ASSIGN(
        const auto session,
        MonitoredTrainingSession(model.root, Options(0, logger)));
    if (is_first) lost.Say(*session, OtherWorker::State::kTraining);
    EndInput(*session);
    const absl::Time ended = clock.Now();
    ASSERT_OK(session->Close());
    EXPECT_EQ(clock.Now() - ended < absl::Seconds(20), !is_first);
    EXPECT_EQ(
        absl::StrContains(AllOf(logger), "zmq://lost:1 has sent no heartbeat"),
        is_first);
  }
}

// Loses the session after all earlier hooks have ended.
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

// Fails to report the end in the first session, and runs a step in later ones.
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

// Creates one session as a chief does, and fails to create any other.
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

// No variable is restored, because others may still train.
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

// Workers are configured to begin a minute after the chief.
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
  lost.Say(*session, OtherWorker::State::kTraining);
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
  ASSERT_OK(chief.Say(*first, train::TrainingMembers::State::kTraining));
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

// The cluster has its default timeout, and a server stays away.
class PatientClusterTest : public MonitoredRecoveryTest {
 protected:
  PatientClusterTest() : MonitoredRecoveryTest(absl::Minutes(10)) {}

  absl::Time Now() { return cluster_.scheduler().clock().Now(); }
  // Asks in a minute.
  void AskToStopLater() {
    cluster_.scheduler().ScheduleAt(Now() + absl::Minutes(1),
                                    [this] { is_asked_to_stop_ = true; });
  }
  MonitoredTrainingSessionOptions StoppableOptions(int worker) {
    auto options = Options(worker, logger_);
    options.stop_requested = [this] { return is_asked_to_stop_; };
    return options;
  }

  bool is_asked_to_stop_ = false;
  const absl::Time begin_ = Now();
};

INSTANTIATE_TEST_SUITE_P(Clusters, PatientClusterTest,
                         testing::Values(ClusterKind::kSimulated),
                         [](const testing::TestParamInfo<ClusterKind>& kind) {
                           return ClusterKindName(kind.param);
                         });

TEST_P(PatientClusterTest, StopEndsWaitForServer) {
  cluster_.Stop("ps", 1);
  for (const int worker : {0, 1}) {
    is_asked_to_stop_ = false;
    const absl::Time begin = Now();
    AskToStopLater();
    Model model;
    EXPECT_THAT(MonitoredTrainingSession(model.root, StoppableOptions(worker)),
                StatusIs(absl::StatusCode::kCancelled, "stop request"));
    EXPECT_LE(Now() - begin, absl::Minutes(2)) << worker;
  }
  cluster_.Start("ps", 1);
}

TEST_P(PatientClusterTest, StopEndsRecovery) {
  Model model;
  ASSERT_OK_AND_ASSIGN(
      const auto session,
      MonitoredTrainingSession(model.root, StoppableOptions(0)));
  ASSERT_OK(session->Run(model.train));
  cluster_.Stop("ps", 1);
  const absl::Time begin = Now();
  AskToStopLater();
  const absl::Status status = session->Run(model.train);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(session->Close(status), status);
  EXPECT_LE(Now() - begin, absl::Minutes(2)) << status;
  cluster_.Start("ps", 1);
}

TEST_P(PatientClusterTest, WorkerWaitsUntilItsDeadline) {
  cluster_.Stop("ps", 1);
  Model model;
  auto options = Options(1, logger_);
  options.max_wait_secs = 60;
  EXPECT_THAT(MonitoredTrainingSession(model.root, options),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       "Session was not ready after waiting 60 secs."));
  EXPECT_LE(Now() - begin_, absl::Minutes(2));
  cluster_.Start("ps", 1);
}

// A server that stays away for a while and comes back is waited for.
TEST_P(PatientClusterTest, ServerReturningInTimeIsWaitedFor) {
  cluster_.Stop("ps", 1);
  cluster_.scheduler().ScheduleAt(Now() + absl::Minutes(5),
                                  [this] { cluster_.Start("ps", 1); });
  Model model;
  ASSERT_OK_AND_ASSIGN(
      const auto session,
      MonitoredTrainingSession(model.root, StoppableOptions(0)));
  EXPECT_OK(session->Run(model.train));
  EXPECT_OK(session->Close());
}

// A task of another cluster has the address for a while, which the session's
// task tries to connect to only occasionally.
TEST_P(PatientClusterTest, ForeignTaskAtServerAddressIsWaitedOut) {
  Model model;
  auto options = StoppableOptions(0);
  options.checkpoint_dir = "/job";
  ASSERT_OK_AND_ASSIGN(const auto session,
                       MonitoredTrainingSession(model.root, options));
  ASSERT_OK(session->Run(model.train));
  ASSERT_OK_AND_ASSIGN(const std::string address,
                       cluster_.spec().TaskAddress("ps", 1));
  cluster_.Stop("ps", 1);
  RecordingLogger logger;
  const auto process = cluster_.NewProcess("stranger");
  ASSERT_OK_AND_ASSIGN(
      auto stranger,
      Server::Create({{"other", {address}}},
                     {.job_name = "other",
                      .process = process.get(),
                      .heartbeat_interval = absl::InfiniteDuration(),
                      .logger = &logger}));
  SimulatedScheduler& scheduler = cluster_.scheduler();
  scheduler.ScheduleAt(Now() + absl::Minutes(5), [&] {
    scheduler.Schedule(Pool::kBlocking, [&] {
      stranger = nullptr;
      cluster_.Start("ps", 1);
    });
  });
  EXPECT_OK(session->Run(model.train));
  EXPECT_EQ(stranger, nullptr);
  EXPECT_OK(session->Close());
}

// Failing saves: training continues in its session.
class FailingSavesTest : public MonitoredBoundTest {
 protected:
  std::unique_ptr<MonitoredSession> Start(
      const Model& model, bool beside,
      std::optional<absl::Duration> operation_timeout = std::nullopt) {
    auto options = Options(0, logger_);
    if (operation_timeout)
      options.config.operation_timeout = *operation_timeout;
    options.checkpoint_dir = "/job";
    options.save_checkpoint_steps = 2;
    options.save_summaries_steps = 0;
    options.save_asynchronously = beside;
    auto session = MonitoredTrainingSession(model.root, options);
    EXPECT_OK(session);
    return session.ok() ? *std::move(session) : nullptr;
  }
  void Run(MonitoredSession& session, const Model& model, int times) {
    for (int i = 0; i < times; ++i) {
      ASSERT_OK_AND_ASSIGN(const auto values, session.Run({}, model.both));
      steps_.push_back(values[0].scalar<int64_t>());
      cluster_.scheduler().RunUntilIdle();
    }
  }
  // Runs until a step fails, which is returned, with a limit: minutes_ is the
  // duration. `before` is called before each step.
  absl::Status RunOnceAMinute(
      MonitoredSession& session, const Model& model,
      const std::function<void()>& before = [] {}) {
    absl::Status status;
    for (minutes_ = 0; status.ok() && minutes_ < 200; ++minutes_) {
      before();
      status = session.Run(model.train);
      cluster_.scheduler().AdvanceBy(absl::Minutes(1));
    }
    return status;
  }
  int64_t NumLines(absl::string_view text) {
    const auto lines = logger_.lines();
    return std::count_if(
        lines.begin(), lines.end(),
        [&](const std::string& line) { return absl::StrContains(line, text); });
  }

  int64_t minutes_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Clusters, FailingSavesTest,
                         testing::Values(ClusterKind::kSimulated),
                         [](const testing::TestParamInfo<ClusterKind>& kind) {
                           return ClusterKindName(kind.param);
                         });

TEST_P(FailingSavesTest, DoNotDisturbTraining) {
  for (const bool beside : {false, true}) {
    for (const auto code :
         {absl::StatusCode::kUnavailable, absl::StatusCode::kAborted,
          absl::StatusCode::kDeadlineExceeded,
          absl::StatusCode::kResourceExhausted}) {
      SCOPED_TRACE(absl::StrCat(absl::StatusCodeToString(code), beside));
      files_.DeleteRecursively("/job").IgnoreError();  // the first has none
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

TEST_P(FailingSavesTest, EndTrainingAfterAnHour) {
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

// Files that hang for good give no error.
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

// The wait is logged, and neither the save nor the session is waited for
// forever, though a step of the session's own task hangs.
TEST_P(FailingSavesTest, HungFinalSaveEndsAfterAnHour) {
  for (const bool beside : {false, true}) {
    SCOPED_TRACE(beside);
    files_.DeleteRecursively("/job").IgnoreError();
    Model model("extra", "/job:worker/task:0");
    auto session = Start(model, beside, absl::InfiniteDuration());
    ASSERT_NE(session, nullptr);
    // Beside, it is one that hangs already when the end comes.
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

// For less than an hour.
TEST_P(FailingSavesTest, SlowSaveIsWaitedFor) {
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

// The hour of those before it is over while it is made.
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

// Fails in its n-th session.
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

// Time without a session does not count as a failure of the files.
TEST_P(FailingSavesTest, TimeWithoutSessionIsNotCounted) {
  Model model;
  auto options = Options(0, logger_);
  options.checkpoint_dir = "/job";
  options.save_checkpoint_steps = 2;
  options.recovery.initial_backoff = absl::Minutes(3);
  options.recovery.max_backoff = absl::Minutes(3);
  // The first after the loss ends before there is one.
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

// A server that is lost every 50 minutes does not hide a full disk.
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

// In each session a thread fails after a while: after the next of `lives`,
// finally after the last one.
class SourceHook : public train::SessionRunHook {
 public:
  explicit SourceHook(std::vector<absl::Duration> lives)
      : lives_(std::move(lives)) {}
  absl::Status AfterCreateSession(Session&,
                                  train::Coordinator& coordinator) override {
    const absl::Duration life = lives_.front();
    if (lives_.size() > 1) lives_.erase(lives_.begin());
    coordinator.Start("source", [&coordinator, life] {
      coordinator.WaitForStop(life);
      return absl::UnavailableError("the source is away");
    });
    return absl::OkStatus();
  }

 private:
  std::vector<absl::Duration> lives_;
};

// Runs succeed in each session, which is lost then.
class LostSessionsTest : public FailingSavesTest {
 protected:
  MonitoredTrainingSessionOptions OptionsWith(
      std::vector<absl::Duration> lives) {
    auto options = Options(0, logger_);
    options.hooks = {std::make_shared<SourceHook>(std::move(lives))};
    options.recovery.max_recovery = absl::Minutes(10);
    options.recovery.initial_backoff = absl::Seconds(40);
    options.recovery.max_backoff = absl::Seconds(40);
    return options;
  }
  // A run a second, for so long or until it ends.
  absl::Status TrainFor(MonitoredSession& session, const Model& model,
                        absl::Duration time) {
    SimulatedScheduler& scheduler = cluster_.scheduler();
    const absl::Time last = scheduler.clock().Now() + time;
    absl::Status status;
    while (status.ok() && !session.ShouldStop() &&
           scheduler.clock().Now() < last) {
      status = session.Run(model.train);
      scheduler.AdvanceBy(absl::Seconds(1));
    }
    return status;
  }
};

INSTANTIATE_TEST_SUITE_P(Clusters, LostSessionsTest,
                         testing::Values(ClusterKind::kSimulated),
                         [](const testing::TestParamInfo<ClusterKind>& kind) {
                           return ClusterKindName(kind.param);
                         });

TEST_P(LostSessionsTest, AreBounded) {
  Model model;
  ASSERT_OK_AND_ASSIGN(
      const auto session,
      MonitoredTrainingSession(model.root, OptionsWith({absl::Seconds(3)})));
  SimulatedScheduler& scheduler = cluster_.scheduler();
  const absl::Time begin = scheduler.clock().Now();
  const absl::Status status = TrainFor(*session, model, absl::Hours(1));
  EXPECT_THAT(session->Close(status),
              StatusIs(absl::StatusCode::kUnavailable,
                       "Sessions were lost for 10m without progress, so "
                       "training is given up: the source is away"));
  EXPECT_GE(scheduler.clock().Now() - begin, absl::Minutes(10));
  EXPECT_LE(scheduler.clock().Now() - begin, absl::Minutes(12));
}

TEST_P(LostSessionsTest, AreUnboundedWhileCheckpointsAdvance) {
  Model model;
  auto options = OptionsWith({absl::Seconds(3)});
  options.checkpoint_dir = "/job";
  options.save_checkpoint_steps = 1;
  ASSERT_OK_AND_ASSIGN(const auto session,
                       MonitoredTrainingSession(model.root, options));
  ASSERT_OK(TrainFor(*session, model, absl::Minutes(15)));
  EXPECT_FALSE(session->ShouldStop());
  EXPECT_GE(NumLines("An error was raised"), 15);
  EXPECT_OK(session->Close());
}

// In the session that lasts longer than max_recovery, no run succeeds after its
// first minute.
TEST_P(LostSessionsTest, LongSessionsAreNotFailedAttempts) {
  Model model;
  ASSERT_OK_AND_ASSIGN(
      const auto session,
      MonitoredTrainingSession(
          model.root,
          OptionsWith({absl::Seconds(3), absl::Minutes(15), absl::Hours(10)})));
  ASSERT_OK(TrainFor(*session, model, absl::Seconds(5)));
  ASSERT_OK(session->Run(model.train));
  EXPECT_EQ(NumLines("An error was raised"), 1);
  cluster_.scheduler().AdvanceBy(absl::Minutes(16));
  EXPECT_FALSE(session->ShouldStop());
  ASSERT_OK(session->Run(model.train));
  EXPECT_EQ(NumLines("An error was raised"), 2);
  EXPECT_OK(session->Close());
}

// Longer than max_wait, but others are training.
TEST_P(FailingSavesTest, ChiefWaitsWhileStepAdvances) {
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

// Reads of the global step take longer than calls to the cluster may.
TEST_P(FailingSavesTest, StalledServerKeepsWaitForWorkers) {
  Model model;
  OtherWorker worker(model, "zmq://other:1#1");
  const auto session = Start(model, false, absl::Seconds(5));
  ASSERT_NE(session, nullptr);
  worker.Say(*session, OtherWorker::State::kTraining);
  Run(*session, model, 3);
  SimulatedScheduler& scheduler = cluster_.scheduler();
  SimulatedScheduler::Part& server = cluster_.pools("ps", 0);
  const absl::Time now = scheduler.clock().Now();
  scheduler.ScheduleAt(now + absl::Seconds(5), [&] { server.Stop(); });
  scheduler.ScheduleAt(now + absl::Seconds(25), [&] { server.GoOn(); });
  EndInput(*session);
  EXPECT_OK(session->Close());
  EXPECT_GE(scheduler.clock().Now() - now, absl::Seconds(25));
  EXPECT_OK(files_.FileExists("/job/model.ckpt-3.index"));
}

// The table of workers is lost with the server, and the worker has no session
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

// The session is lost while the chief waits for other workers; there are none.
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

// The last step was saved before the loss.
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

// Later checkpoints already contain the values that the worker left behind.
TEST_P(FailingSavesTest, WorkerFailureBeforeASaveAllowsLaterSaves) {
  Model model;
  OtherWorker worker(model, "zmq://other:1#1");
  const auto chief = Start(model, false);
  ASSERT_NE(chief, nullptr);
  Run(*chief, model, 1);
  worker.Say(*chief, OtherWorker::State::kFailed);
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
  worker.Say(*chief, OtherWorker::State::kFailed);
  EndInput(*chief);
  EXPECT_THAT(chief->Close(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "The worker of zmq://other:1 has failed"));
  EXPECT_FALSE(files_.FileExists("/job/model.ckpt-3.index").ok());
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

// The number of attempts is fixed, also if the disk's error looks like that of
// a lost session.
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

// It may be killed soon.
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
              HasSubstr("Steps 3 to about 3 are lost: another start goes on "
                        "from the checkpoint of step 2."));
  EXPECT_EQ(NumLines("Steps 3 to about 3 are lost"), 1);
  EXPECT_LE(cluster_.scheduler().clock().Now() - before, absl::Seconds(2));
}

TEST_P(FailingSavesTest, StoppingChiefWaitsForNoTask) {
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
              HasSubstr("are lost: another start goes on from the checkpoint "
                        "of step 2."));
  EXPECT_LE(cluster_.scheduler().clock().Now() - before, absl::Seconds(5));
  cluster_.Start("ps", 1);
}

// Aborted by a task that has lost the session, while the task with the global
// step has not.
TEST_P(FailingSavesTest, AbortedFinalSaveIsALoss) {
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

// After a stop request it does not restart from the last checkpoint.
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

// Files that are silent, whichever of them, are waited for.
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

// A disk that is full for events when a lost session is replaced.
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

// A directory of events that does not answer when a session is lost.
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

// On the first day of a week, not at its end; once a minute, not with each.
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

// A program's own thread adds events while the session is closed.
TEST_P(FailingSavesTest, EventsAreClosedBeforeTheSession) {
  Model model;
  ASSERT_OK_AND_ASSIGN(auto session, Connect(model));
  SimulatedScheduler& scheduler = cluster_.scheduler();
  train::Coordinator coordinator({.scheduler = &scheduler});
  // Its lines take a second.
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

// A worker that looks for its chief is asked to stop.
TEST_P(FailingSavesTest, StopEndsWaitForTheChief) {
  Model model;
  auto options = Options(1, logger_);
  options.hooks = {};
  MonitoredSession* waiting = nullptr;
  auto chief = Start(model, false);
  ASSERT_NE(chief, nullptr);
  Model workers;
  ASSERT_OK_AND_ASSIGN(const auto worker,
                       MonitoredTrainingSession(workers.root, options));
  waiting = worker.get();
  ASSERT_OK(worker->Run(workers.train));
  StartAgain("ps", 0);
  StartAgain("ps", 1);
  SimulatedScheduler& scheduler = cluster_.scheduler();
  const absl::Time before = scheduler.clock().Now();
  scheduler.ScheduleAt(before + absl::Minutes(1),
                       [&] { waiting->RequestStop(); });
  const absl::Status status = worker->Run(workers.train);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kCancelled, "stop request"));
  EXPECT_LE(scheduler.clock().Now() - before, absl::Minutes(2));
  EXPECT_EQ(worker->Close(status), status);
}

TEST_P(MonitoredRecoveryTest, SingularSessionsDoNotRecover) {
  Model model;
  train::SessionCreatorOptions creator;
  creator.master = cluster_.target("worker", 0);
  creator.config = cluster_.session_options();
  creator.logger = &logger_;
  train::MonitoredSessionOptions options;
  options.logger = &logger_;
  if (GetParam() == ClusterKind::kSimulated) {
    creator.scheduler = options.scheduler = &cluster_.scheduler();
  }
  ASSERT_OK_AND_ASSIGN(const auto session, train::SingularMonitoredSession(
                                               model.root, creator, options));
  ASSERT_OK(session->Run(model.train));
  StartAgain("ps", 1);
  EXPECT_TRUE(train::IsSessionLost(session->Run(model.train)));
}

// The others run on real threads.
class MonitoredWorkerTest : public MonitoredRecoveryTest {};

INSTANTIATE_TEST_SUITE_P(Clusters, MonitoredWorkerTest,
                         testing::Values(ClusterKind::kOneProcess,
                                         ClusterKind::kSockets),
                         [](const testing::TestParamInfo<ClusterKind>& kind) {
                           return ClusterKindName(kind.param);
                         });

TEST_P(MonitoredWorkerTest, WaitsForTheChief) {
  Model chiefs, workers;
  NotifyingLogger waits(
      "Waiting for model to be ready. Variables not initialized: "
      "global_step, weight, bias");
  absl::StatusOr<int64_t> step;
  std::thread worker = StartWorker(workers, waits, step);
  waits.Wait();
  const auto session =
      MonitoredTrainingSession(chiefs.root, Options(0, logger_));
  worker.join();
  ASSERT_OK(session);
  ASSERT_OK(step);
  EXPECT_EQ(*step, 0);
}

class EndedChiefTest : public MonitoredWorkerTest {
 protected:
  // The chief's thread: 20 steps, then its input has ended.
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

TEST_P(EndedChiefTest, SavesWorkAfterEndOfItsInput) {
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
  }  // by its usual schedule
  for (int i = 0; i < 200; ++i) ASSERT_OK(session->Run(model.train));
  ASSERT_OK(session->Close());
  thread.join();
  ASSERT_OK(chief);
  EXPECT_THAT(SavedPath(), testing::EndsWith("model.ckpt-420"));
}

// The weight that a step gets to be NaN is not saved.
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
  session.reset();  // as a program does that returns the error
  thread.join();
  EXPECT_THAT(chief, StatusIs(absl::StatusCode::kFailedPrecondition,
                              absl::StrCat("The worker of ",
                                           cluster_.target("worker", 1),
                                           " has failed")));
  EXPECT_THAT(SavedPath(), testing::EndsWith("model.ckpt-0"));
  // The failure belongs to that training and does not affect the next one.
  EXPECT_OK(TrainChief(Options(0, logger_)));
  EXPECT_THAT(SavedPath(), testing::EndsWith("model.ckpt-20"));
}

// A chief that ends at its last step does not save that step, either.
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
  worker.reset();  // like a program that returns the error
  while (!chief->ShouldStop()) ASSERT_OK(chief->Run(model.train));
  EXPECT_THAT(
      chief->Close(),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               "has failed since the last checkpoint: a hook has refused"));
  EXPECT_THAT(SavedPath(), testing::EndsWith("model.ckpt-0"));
}

TEST_P(EndedChiefTest, StopEndsItsWait) {
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

// A wait at a parameter server that is lost continues at its replacement.
TEST_P(MonitoredWorkerTest, KeepsWaitingAfterServerRestart) {
  Model chiefs, workers;
  NotifyingLogger waits("Waiting for model to be ready. Variables");
  absl::StatusOr<int64_t> step;
  std::thread worker = StartWorker(workers, waits, step);
  waits.Wait();
  StartAgain("ps", 1);
  StartAgain("ps", 0);
  const auto session =
      MonitoredTrainingSession(chiefs.root, Options(0, logger_));
  worker.join();
  ASSERT_OK(session);
  ASSERT_OK(step);
}

// The chief has nothing to do: its parameter server knows.
TEST_P(MonitoredWorkerTest, LearnsWhichVariableTheChiefLacks) {
  Model chiefs;
  Model workers("only_here");
  ASSERT_OK_AND_ASSIGN(
      const auto session,
      MonitoredTrainingSession(chiefs.root, Options(0, logger_)));
  RecordingLogger lines;
  const absl::Status status =
      MonitoredTrainingSession(workers.root, Options(1, lines)).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                               "Variables not initialized: only_here. "));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("has no variables of these names"));
  EXPECT_THAT(lines.lines(), testing::Not(testing::Contains(
                                 HasSubstr("Waiting for model to be ready"))));
}

// The same when the worker has come first.
TEST_P(MonitoredWorkerTest, LearnsMissingVariableOnceChiefIsReady) {
  Model chiefs;
  Model workers("only_here");
  NotifyingLogger waits("Variables not initialized: global_step, weight, bias");
  absl::StatusOr<int64_t> step;
  std::thread worker = StartWorker(workers, waits, step);
  waits.Wait();
  ASSERT_OK_AND_ASSIGN(
      const auto session,
      MonitoredTrainingSession(chiefs.root, Options(0, logger_)));
  worker.join();
  EXPECT_THAT(step.status(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                      "Variables not initialized: only_here."));
}

// If a model is partially initialized, its chief may be about to initialize the
// rest: before it has checked its readiness, no error is reported.
TEST_P(MonitoredWorkerTest, WaitsForChiefThatIsNotReady) {
  Model chiefs("late");
  Model workers("late");
  ASSERT_OK_AND_ASSIGN(const auto begins, Connect(chiefs));
  ASSERT_OK(begins->Run(chiefs.step.initializer()));
  ASSERT_OK(begins->Run(chiefs.weight.initializer()));
  NotifyingLogger waits("All other variables have values");
  absl::StatusOr<int64_t> step;
  std::thread worker = StartWorker(workers, waits, step);
  waits.Wait();
  const auto session =
      MonitoredTrainingSession(chiefs.root, Options(0, logger_));
  worker.join();
  ASSERT_OK(session);
  EXPECT_OK(step);
}

// Independent of the placement of tasks.
class MonitoredProgramTest : public MonitoredRecoveryTest {};

INSTANTIATE_TEST_SUITE_P(Clusters, MonitoredProgramTest,
                         testing::Values(ClusterKind::kOneProcess),
                         [](const testing::TestParamInfo<ClusterKind>& kind) {
                           return ClusterKindName(kind.param);
                         });

TEST_P(MonitoredProgramTest, WaitsUntilItsDeadline) {
  Model workers;
  NullLogger quiet;
  auto options = Options(1, quiet);
  options.max_wait_secs = 0.01;
  const absl::Status status =
      MonitoredTrainingSession(workers.root, options).status();
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       "Session was not ready after waiting 0.01 secs."));
  EXPECT_THAT(
      std::string(status.message()),
      HasSubstr("Variables not initialized: global_step, weight, bias"));
}

// The second session of a graph waits on the variables' tasks, like the first.
TEST_P(MonitoredProgramTest, SecondSessionOfGraphWaitsForTheChief) {
  Model chiefs, workers;
  {
    NullLogger quiet;
    auto options = Options(1, quiet);
    options.max_wait_secs = 0.01;
    EXPECT_FALSE(MonitoredTrainingSession(workers.root, options).ok());
  }
  // Polling would log "ready.  Ready_for_local_init_op: ...".
  NotifyingLogger waits("Waiting for model to be ready. Variables not");
  absl::StatusOr<int64_t> step;
  std::thread worker = StartWorker(workers, waits, step);
  waits.Wait();
  const auto session =
      MonitoredTrainingSession(chiefs.root, Options(0, logger_));
  worker.join();
  ASSERT_OK(session);
  ASSERT_OK(step);
  EXPECT_THAT(
      waits.lines(),
      testing::Not(testing::Contains(HasSubstr("Ready_for_local_init_op"))));
}

// A chief whose program creates a different variable with a name that workers
// use.
TEST_P(MonitoredProgramTest, ShapeMismatchReportsBothShapes) {
  Model chiefs, workers;
  NotifyingLogger waits("Waiting for model to be ready. Variables not");
  absl::StatusOr<int64_t> step;
  std::thread worker = StartWorker(workers, waits, step);
  waits.Wait();
  for (const Tensor& wrong :
       {Tensor(DT_FLOAT, {3}), Tensor::Scalar(int64_t{0})}) {
    const Scope root = Scope::Root();
    const Scope scope =
        root.WithDeviceFunction(ReplicaDeviceSetter({.ps_tasks = 2}));
    train::GetOrCreateGlobalStep(scope);
    ops::Variable(scope.WithName("weight"), wrong);
    const absl::Status status =
        MonitoredTrainingSession(root, Options(0, logger_)).status();
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kFailedPrecondition, "weight"));
    const std::string of_others = wrong.dtype() == DT_FLOAT ? "[]" : "float";
    const std::string of_its_own = wrong.dtype() == DT_FLOAT ? "[3]" : "int64";
    EXPECT_THAT(std::string(status.message()),
                testing::AllOf(HasSubstr(of_others), HasSubstr(of_its_own)));
  }
  const auto session =
      MonitoredTrainingSession(chiefs.root, Options(0, logger_));
  worker.join();
  ASSERT_OK(session);
  EXPECT_OK(step);
}

// The variable would be on a task that has not seen the chief.
TEST_P(MonitoredWorkerTest, EndsIfChiefTrainsWithoutItsVariable) {
  Model chiefs;
  Model workers("only_here", "/job:worker/task:1");
  ASSERT_OK_AND_ASSIGN(
      const auto session,
      MonitoredTrainingSession(chiefs.root, Options(0, logger_)));
  std::atomic<bool> has_heard = false;
  std::thread chief([&] {
    while (!has_heard) ASSERT_OK(session->Run(chiefs.train));
  });
  NullLogger quiet;
  const absl::Status status =
      MonitoredTrainingSession(workers.root, Options(1, quiet)).status();
  has_heard = true;
  chief.join();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                               "Variables not initialized: only_here."));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("the chief's graph has no variables of these names"));
}

// Another program resets the containers, by the session's own master or by
// another one: training continues.
class ResetTrainingTest : public MonitoredRecoveryTest {
 protected:
  void TrainThroughAReset(const std::string& target,
                          const std::vector<std::string>& containers);
};

INSTANTIATE_TEST_SUITE_P(Clusters, ResetTrainingTest,
                         testing::ValuesIn(kAllClusterKinds),
                         [](const testing::TestParamInfo<ClusterKind>& kind) {
                           return ClusterKindName(kind.param);
                         });

void ResetTrainingTest::TrainThroughAReset(
    const std::string& target, const std::vector<std::string>& containers) {
  Model model;
  auto options = Options(0, logger_);
  options.checkpoint_dir = "/job";
  options.save_checkpoint_steps = 5;
  options.hooks = {train::StopAtStep(12)};
  ASSERT_OK_AND_ASSIGN(const auto session,
                       MonitoredTrainingSession(model.root, options));
  while (!session->ShouldStop()) {
    ASSERT_OK_AND_ASSIGN(const auto values, session->Run({}, model.both));
    steps_.push_back(values[0].scalar<int64_t>());
    if (steps_.size() != 7) continue;
    ASSERT_OK(Session::Reset(target, containers, cluster_.session_options()));
  }
  ASSERT_OK(session->Close());
  EXPECT_EQ(steps_.back(), 12);
  EXPECT_EQ(steps_.size(), 12u + 2u) << "from the checkpoint of step 5 again";
}

TEST_P(ResetTrainingTest, ResumesAfterResetByItsMaster) {
  TrainThroughAReset(cluster_.target("worker", 0), {"stranger"});
}

TEST_P(ResetTrainingTest, ResumesAfterResetByAnotherMaster) {
  TrainThroughAReset(cluster_.target("worker", 1), {"ps"});
}

}  // namespace
}  // namespace weft
