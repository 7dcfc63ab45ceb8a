// MonitoredTrainingSession on clusters: workers wait for the chief, training
// goes on when a parameter server has started again, with checkpoints and
// without.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/memory_file_system.h"

namespace weft {
namespace {

using testing::HasSubstr;
using train::MonitoredSession;
using train::MonitoredTrainingSession;
using train::MonitoredTrainingSessionOptions;

// Tells when a line comes that has this in it.
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
  explicit Model(absl::string_view extra = "") {
    const Scope scope =
        root.WithDeviceFunction(ReplicaDeviceSetter({.ps_tasks = 2}));
    step = train::GetOrCreateGlobalStep(scope);
    weight = ops::Variable(scope.WithName("weight"), 0.0f);
    ops::Variable(scope.WithName("bias"), 0.0f, {.use_resource = false});
    if (!extra.empty()) ops::Variable(scope.WithName(extra), 0.0f);
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
  MonitoredRecoveryTest() : cluster_(ClusterOptions()) {}

  TestCluster::Options ClusterOptions() {
    TestCluster::Options options;
    options.kind = GetParam();
    options.jobs = {{"ps", 2}, {"worker", 2}};
    options.patience = absl::Seconds(2);
    options.file_system = [this](const std::string&) { return &files_; };
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
  // What Session::Connect is asked for by others than the chief.
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

  MemoryFileSystem files_;
  RecordingLogger logger_;
  TestCluster cluster_;
  std::vector<int64_t> steps_;  // that the program has seen
};

INSTANTIATE_TEST_SUITE_P(Clusters, MonitoredRecoveryTest,
                         testing::ValuesIn(kAllClusterKinds),
                         [](const testing::TestParamInfo<ClusterKind>& kind) {
                           return ClusterKindName(kind.param);
                         });

TEST_P(MonitoredRecoveryTest, GoesOnFromTheLastCheckpoint) {
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

TEST_P(MonitoredRecoveryTest, WithoutADirectoryBeginsAnew) {
  TrainThroughALoss(Options(0, logger_));
  ASSERT_FALSE(steps_.empty());
  EXPECT_EQ(steps_.back(), 30);
  EXPECT_EQ(steps_.size(), 12u + 30u);
}

// In simulated time, for the cluster is patient with what is missing.
class MonitoredBoundTest : public MonitoredRecoveryTest {};

INSTANTIATE_TEST_SUITE_P(Clusters, MonitoredBoundTest,
                         testing::Values(ClusterKind::kSimulated),
                         [](const testing::TestParamInfo<ClusterKind>& kind) {
                           return ClusterKindName(kind.param);
                         });

TEST_P(MonitoredBoundTest, RecoveryHasABound) {
  Model model;
  auto options = Options(0, logger_);
  options.recovery.max_recovery = absl::Milliseconds(300);
  ASSERT_OK_AND_ASSIGN(const auto session,
                       MonitoredTrainingSession(model.root, options));
  ASSERT_OK(session->Run(model.train));
  cluster_.Stop("ps", 1);
  const absl::Status status = session->Run(model.train);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable,
                               "No run has succeeded for 300ms"));
  EXPECT_TRUE(session->ShouldStop());
  EXPECT_EQ(session->Close(status), status);
  cluster_.Start("ps", 1);
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

// What waits at a parameter server that goes waits at the next one.
TEST_P(MonitoredWorkerTest, WaitsOnWhenAParameterServerHasStartedAgain) {
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

TEST_P(MonitoredWorkerTest, HearsWhichVariableTheChiefHasNot) {
  Model chiefs;
  Model workers("only_here");
  ASSERT_OK_AND_ASSIGN(
      const auto session,
      MonitoredTrainingSession(chiefs.root, Options(0, logger_)));
  NotifyingLogger tells("only_here");
  auto options = Options(1, tells);
  options.max_wait_secs = 2;
  const absl::Status status =
      MonitoredTrainingSession(workers.root, options).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDeadlineExceeded,
                               "Session was not ready after waiting 2 secs."));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("Variables not initialized: only_here"));
  EXPECT_THAT(tells.lines(), testing::Contains(HasSubstr(
                                 "its graph has no variables of these names")));
}

TEST_P(MonitoredWorkerTest, EndsWhenTheChiefTrainsWithoutItsVariable) {
  Model chiefs;
  Model workers("only_here");
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

// A reset of the master is somebody else's doing: training goes on.
TEST_P(MonitoredRecoveryTest, GoesOnAfterAReset) {
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
    ASSERT_OK(Session::Reset(cluster_.target("worker", 0), {"stranger"},
                             cluster_.session_options()));
  }
  ASSERT_OK(session->Close());
  EXPECT_EQ(steps_.back(), 12);
  EXPECT_EQ(steps_.size(), 12u + 2u) << "from the checkpoint of step 5 again";
}

}  // namespace
}  // namespace weft
