// Tests recovery of MonitoredTrainingSession on clusters, with and without
// checkpoints. Training continues after a parameter server has restarted, a
// session is lost or containers are reset.
#include "integration_tests/testing/monitored_recovery_test.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/test_matchers.h"

namespace weft::monitored_recovery_tests {
namespace {

using testing::HasSubstr;
using train::MonitoredSession;
using train::MonitoredTrainingSession;
using train::MonitoredTrainingSessionOptions;

INSTANTIATE_TEST_SUITE_P(Clusters, MonitoredRecoveryTest,
                         testing::ValuesIn(kAllClusterKinds),
                         [](const testing::TestParamInfo<ClusterKind>& kind) {
                           return ClusterKindName(kind.param);
                         });

TEST_P(MonitoredRecoveryTest, TrainingResumesFromLastCheckpoint) {
  auto options = Options(0, logger_);
  options.checkpoint_dir = "/job";
  options.save_checkpoint_steps = 5;
  TrainThroughALoss(std::move(options));
  ASSERT_FALSE(steps_.empty());
  EXPECT_EQ(steps_.back(), 30);
  // The global step must not fall back beyond the last checkpoint.
  int64_t furthest_back = 0;
  for (size_t i = 1; i < steps_.size(); ++i) {
    furthest_back = std::max(furthest_back, steps_[i - 1] - steps_[i]);
  }
  EXPECT_LE(furthest_back, 12);
  EXPECT_THAT(logger_.lines(),
              testing::Contains(HasSubstr("Restoring parameters from /job/")));
}

TEST_P(MonitoredRecoveryTest, TrainingStartsOverWithoutDirectory) {
  TrainThroughALoss(Options(0, logger_));
  ASSERT_FALSE(steps_.empty());
  EXPECT_EQ(steps_.back(), 30);
  EXPECT_EQ(steps_.size(), 12u + 30u);
}

// RecoverSession initializes a session only from a checkpoint. Without a
// checkpoint, variables may contain values of an earlier program.
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

// A run detects that a server is lost, while the queue is on another server.
// The queue must stay open for the next session.
TEST_P(MonitoredRecoveryTest, TaskLostDuringRunLeavesQueuesOpen) {
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

// A server is down, and the cluster uses its default timeout.
class PatientClusterTest : public MonitoredRecoveryTest {
 protected:
  PatientClusterTest() : MonitoredRecoveryTest(absl::Minutes(10)) {}

  absl::Time Now() { return cluster_.scheduler().clock().Now(); }
  // Requests a stop after a minute.
  void AskToStopLater() {
    cluster_.scheduler().ScheduleAt(Now() + absl::Minutes(1),
                                    [this] { is_stop_requested_ = true; });
  }
  MonitoredTrainingSessionOptions StoppableOptions(int worker) {
    auto options = Options(worker, logger_);
    options.stop_requested = [this] { return is_stop_requested_; };
    return options;
  }

  bool is_stop_requested_ = false;
  const absl::Time begin_ = Now();
};

INSTANTIATE_TEST_SUITE_P(Clusters, PatientClusterTest,
                         testing::Values(ClusterKind::kSimulated),
                         [](const testing::TestParamInfo<ClusterKind>& kind) {
                           return ClusterKindName(kind.param);
                         });

TEST_P(PatientClusterTest, StopRequestEndsWaitForServer) {
  cluster_.Stop("ps", 1);
  for (const int worker : {0, 1}) {
    is_stop_requested_ = false;
    const absl::Time begin = Now();
    AskToStopLater();
    Model model;
    EXPECT_THAT(MonitoredTrainingSession(model.root, StoppableOptions(worker)),
                StatusIs(absl::StatusCode::kCancelled, "stop request"));
    EXPECT_LE(Now() - begin, absl::Minutes(2)) << worker;
  }
  cluster_.Start("ps", 1);
}

TEST_P(PatientClusterTest, StopRequestEndsRecovery) {
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

// A server is down for a while, and the session waits for it.
TEST_P(PatientClusterTest, SessionWaitsForReturningServer) {
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

// For a while a task of another cluster has the address of the server. Until
// the server returns, the session's task tries to connect only occasionally.
TEST_P(PatientClusterTest, SessionWaitsWhileForeignTaskHasAddress) {
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

// A hook with a thread that fails in each session, after the next duration in
// `lives`. The last duration is used repeatedly.
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

// Tests sessions that are lost repeatedly. Runs succeed in each session until
// it is lost.
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
  // Runs a step per second until `time` has passed or training has ended.
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

TEST_P(LostSessionsTest, RepeatedLossesEndTrainingAfterAWhile) {
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

TEST_P(LostSessionsTest, LossesAreUnlimitedIfCheckpointsAdvance) {
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

// A session lasts longer than max_recovery. After its first minute no run is
// made in it. It still does not count as a failed attempt.
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

// Tests training while another program resets the containers, through the
// master of the session or through another master. Training continues.
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

TEST_P(ResetTrainingTest, TrainingResumesAfterResetByItsMaster) {
  TrainThroughAReset(cluster_.target("worker", 0), {"stranger"});
}

TEST_P(ResetTrainingTest, TrainingResumesAfterResetByAnotherMaster) {
  TrainThroughAReset(cluster_.target("worker", 1), {"ps"});
}

}  // namespace
}  // namespace weft::monitored_recovery_tests
