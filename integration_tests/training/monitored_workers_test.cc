// Tests workers of MonitoredTrainingSession. They wait until the chief has
// initialized the model. If it cannot, they get an error that explains why.
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

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
using train::MonitoredSession;
using train::MonitoredTrainingSession;

// A worker that waits for its chief is asked to stop.
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

INSTANTIATE_TEST_SUITE_P(Clusters, MonitoredWorkerTest,
                         testing::Values(ClusterKind::kOneProcess,
                                         ClusterKind::kSockets),
                         [](const testing::TestParamInfo<ClusterKind>& kind) {
                           return ClusterKindName(kind.param);
                         });

TEST_P(MonitoredWorkerTest, WorkerWaitsForTheChief) {
  Model chiefs, workers;
  NotifyingLogger waits(
      "Waiting for model to be ready. Variables not initialized: "
      "global_step, weight, bias");
  absl::StatusOr<int64_t> step;
  std::thread worker([&] { step = RunWorker(workers, waits); });
  waits.Wait();
  const auto session =
      MonitoredTrainingSession(chiefs.root, Options(0, logger_));
  worker.join();
  ASSERT_OK(session);
  ASSERT_OK(step);
  EXPECT_EQ(*step, 0);
}

// The worker waits for variables on a parameter server that is lost. It
// continues to wait on the replacement of the server.
TEST_P(MonitoredWorkerTest, WorkerKeepsWaitingAfterServerRestart) {
  Model chiefs, workers;
  NotifyingLogger waits("Waiting for model to be ready. Variables");
  absl::StatusOr<int64_t> step;
  std::thread worker([&] { step = RunWorker(workers, waits); });
  waits.Wait();
  StartAgain("ps", 1);
  StartAgain("ps", 0);
  const auto session =
      MonitoredTrainingSession(chiefs.root, Options(0, logger_));
  worker.join();
  ASSERT_OK(session);
  ASSERT_OK(step);
}

// A worker uses a variable that the chief's graph lacks. The parameter server
// detects this and fails the wait, without the chief.
TEST_P(MonitoredWorkerTest, WorkerLearnsWhichVariableChiefLacks) {
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

// A worker that starts before the chief uses a variable that the chief's graph
// lacks. It gets the error once the chief is ready.
TEST_P(MonitoredWorkerTest, WorkerLearnsMissingVariableFromReadyChief) {
  Model chiefs;
  Model workers("only_here");
  NotifyingLogger waits("Variables not initialized: global_step, weight, bias");
  absl::StatusOr<int64_t> step;
  std::thread worker([&] { step = RunWorker(workers, waits); });
  waits.Wait();
  ASSERT_OK_AND_ASSIGN(
      const auto session,
      MonitoredTrainingSession(chiefs.root, Options(0, logger_)));
  worker.join();
  EXPECT_THAT(step.status(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                      "Variables not initialized: only_here."));
}

// If a model is only partially initialized, its chief may be about to
// initialize the rest. Until the chief has checked whether it is ready, no
// error is reported.
TEST_P(MonitoredWorkerTest, WorkerWaitsForChiefThatIsNotReady) {
  Model chiefs("late");
  Model workers("late");
  ASSERT_OK_AND_ASSIGN(const auto begins, Connect(chiefs));
  ASSERT_OK(begins->Run(chiefs.step.initializer()));
  ASSERT_OK(begins->Run(chiefs.weight.initializer()));
  NotifyingLogger waits("All other variables have values");
  absl::StatusOr<int64_t> step;
  std::thread worker([&] { step = RunWorker(workers, waits); });
  waits.Wait();
  const auto session =
      MonitoredTrainingSession(chiefs.root, Options(0, logger_));
  worker.join();
  ASSERT_OK(session);
  EXPECT_OK(step);
}

// Tests that do not depend on whether tasks share a process.
class MonitoredProgramTest : public MonitoredRecoveryTest {};

INSTANTIATE_TEST_SUITE_P(Clusters, MonitoredProgramTest,
                         testing::Values(ClusterKind::kOneProcess),
                         [](const testing::TestParamInfo<ClusterKind>& kind) {
                           return ClusterKindName(kind.param);
                         });

TEST_P(MonitoredProgramTest, WaitEndsAtItsDeadline) {
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

// As with the first session of a graph, the second session waits on the tasks
// that have the variables, without polling.
TEST_P(MonitoredProgramTest, SecondSessionOfGraphWaitsForTheChief) {
  Model chiefs, workers;
  {
    NullLogger quiet;
    auto options = Options(1, quiet);
    options.max_wait_secs = 0.01;
    EXPECT_FALSE(MonitoredTrainingSession(workers.root, options).ok());
  }
  // This line shows that the worker waits. Polling would log "ready.
  // Ready_for_local_init_op: ..." instead.
  NotifyingLogger waits("Waiting for model to be ready. Variables not");
  absl::StatusOr<int64_t> step;
  std::thread worker([&] { step = RunWorker(workers, waits); });
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

// The chief's program creates a variable with the name of a worker's variable,
// but another shape.
TEST_P(MonitoredProgramTest, ShapeMismatchReportsBothShapes) {
  Model chiefs, workers;
  NotifyingLogger waits("Waiting for model to be ready. Variables not");
  absl::StatusOr<int64_t> step;
  std::thread worker([&] { step = RunWorker(workers, waits); });
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

// The missing variable would be placed on a task that the chief has not used.
TEST_P(MonitoredWorkerTest, WaitEndsIfChiefTrainsWithoutVariable) {
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

}  // namespace
}  // namespace weft::monitored_recovery_tests
