// Fixtures for tests of MonitoredTrainingSession on clusters whose tasks, files
// or programs fail. MonitoredRecoveryTest has a cluster of two parameter
// servers and two workers; FailingSavesTest trains in simulated time.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_MONITORED_RECOVERY_TEST_H_
#define WEFT_INTEGRATION_TESTS_TESTING_MONITORED_RECOVERY_TEST_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/checkpoint_writer/testing/gated_file_system.h"
#include "libs/fs/failing_file_system.h"
#include "libs/train/sessions/training_members.h"

namespace weft::monitored_recovery_tests {

// A logger that notifies when a line contains the given text.
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

// The graph of one task: a weight and a bias on two parameter servers. Each
// step adds 1 to both variables.
struct Model {
  // `extra` is the name of an additional variable. It is placed on `device`, or
  // on the next server if `device` is empty.
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
  // `placement_timeout` is how long sessions wait for missing tasks.
  explicit MonitoredRecoveryTest(
      absl::Duration placement_timeout = absl::Seconds(2))
      : cluster_(ClusterOptions(placement_timeout)) {}

  TestCluster::Options ClusterOptions(absl::Duration placement_timeout) {
    TestCluster::Options options;
    options.kind = GetParam();
    options.jobs = {{"ps", 2}, {"worker", 2}};
    options.placement_timeout = placement_timeout;
    options.file_system = [this](const std::string&) { return &disk_; };
    return options;
  }
  train::MonitoredTrainingSessionOptions Options(int worker, Logger& logger) {
    train::MonitoredTrainingSessionOptions options;
    options.master = cluster_.target("worker", worker);
    options.is_chief = worker == 0;
    options.config = cluster_.session_options();
    options.logger = &logger;
    if (GetParam() == ClusterKind::kSimulated) {
      options.scheduler = &cluster_.scheduler();
    }
    return options;
  }
  // Connects to the chief's task without a MonitoredTrainingSession.
  absl::StatusOr<std::unique_ptr<Session>> Connect(const Model& model) {
    return Session::Connect(cluster_.target("worker", 0), model.root,
                            cluster_.session_options());
  }
  void StartAgain(const std::string& job, int index) {
    cluster_.Stop(job, index);
    cluster_.Start(job, index);
  }
  // Trains up to step 30. The second parameter server is restarted after step
  // 12 and loses its variable.
  void TrainThroughALoss(train::MonitoredTrainingSessionOptions options) {
    Model model;
    options.hooks.push_back(train::StopAtStep(30));
    ASSERT_OK_AND_ASSIGN(const auto session,
                         train::MonitoredTrainingSession(model.root, options));
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
    EXPECT_EQ(weight.scalar<float>(), 30.0f) << "the number of steps";
    ASSERT_OK(session->Close());
  }
  // Runs the program of the second worker. Returns the first global step that
  // it reads.
  absl::StatusOr<int64_t> RunWorker(const Model& model, Logger& logger) {
    ASSIGN_OR_RETURN(const auto session, train::MonitoredTrainingSession(
                                             model.root, Options(1, logger)));
    const auto value = session->Run(model.step);
    EXPECT_OK(session->Close());
    RETURN_IF_ERROR(value.status());
    return value->scalar<int64_t>();
  }

  GatedFileSystem files_;
  FailingFileSystem disk_{files_};
  RecordingLogger logger_;
  TestCluster cluster_;
  std::vector<int64_t> steps_;  // steps observed by the program
};

// Recovery tests in simulated time, because the cluster waits long for missing
// tasks.
class MonitoredBoundTest : public MonitoredRecoveryTest {};

// Ends the input, as if a step returned OUT_OF_RANGE.
inline void EndInput(train::MonitoredSession& session) {
  EXPECT_THAT(session.RunStepFn([](train::MonitoredSession::StepContext&) {
    return absl::OutOfRangeError("the input has ended");
  }),
              StatusIs(absl::StatusCode::kOutOfRange));
}

inline std::string AllOf(const RecordingLogger& logger) {
  return absl::StrJoin(logger.lines(), "\n");
}

// A worker that only reports its state to the chief's session.
class OtherWorker {
 public:
  using State = train::TrainingMembers::State;

  OtherWorker(const Model& model, std::string name)
      : member_("training_members", std::move(name)) {
    EXPECT_OK(member_.AddNodes(model.root, model.step.handle()));
  }
  void Report(train::MonitoredSession& session, State state) {
    ASSERT_OK(member_.Report(*session.raw_session(), state));
  }

 private:
  train::TrainingMembers member_;
};

// Tests saves that fail. Training continues in the same session.
class FailingSavesTest : public MonitoredBoundTest {
 protected:
  std::unique_ptr<train::MonitoredSession> Start(
      const Model& model, bool beside,
      std::optional<absl::Duration> operation_timeout = std::nullopt) {
    auto options = Options(0, logger_);
    if (operation_timeout)
      options.config.operation_timeout = *operation_timeout;
    options.checkpoint_dir = "/job";
    options.save_checkpoint_steps = 2;
    options.save_summaries_steps = 0;
    options.save_asynchronously = beside;
    auto session = train::MonitoredTrainingSession(model.root, options);
    EXPECT_OK(session);
    return session.ok() ? *std::move(session) : nullptr;
  }
  void Run(train::MonitoredSession& session, const Model& model, int times) {
    for (int i = 0; i < times; ++i) {
      ASSERT_OK_AND_ASSIGN(const auto values, session.Run({}, model.both));
      steps_.push_back(values[0].scalar<int64_t>());
      cluster_.scheduler().RunUntilIdle();
    }
  }
  // Runs a step once a minute until a step fails, and returns its error. Stops
  // after 200 minutes. Sets minutes_ to the number of minutes. Calls `before`
  // before each step.
  absl::Status RunOnceAMinute(
      train::MonitoredSession& session, const Model& model,
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

// Tests in real time, because chief and worker run on separate threads.
class MonitoredWorkerTest : public MonitoredRecoveryTest {};

}  // namespace weft::monitored_recovery_tests

#endif  // WEFT_INTEGRATION_TESTS_TESTING_MONITORED_RECOVERY_TEST_H_
