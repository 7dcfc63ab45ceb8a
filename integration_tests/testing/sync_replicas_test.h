// SyncReplicasTest is a fixture for tests of synchronous replicas. It has a
// small model with its data, and a cluster of two parameter servers and three
// workers.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_SYNC_REPLICAS_TEST_H_
#define WEFT_INTEGRATION_TESTS_TESTING_SYNC_REPLICAS_TEST_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/memory_file_system.h"

namespace weft::sync_replicas_tests {

inline constexpr int kInputs = 3;  // inputs in a row
inline constexpr int kTable = 5;

// A logger that notifies when a line contains the given text.
class NotifyingLogger : public Logger {
 public:
  explicit NotifyingLogger(std::string text) : text_(std::move(text)) {}
  void Log(Severity, absl::string_view message) override {
    if (absl::StrContains(message, text_)) seen_->Set();
  }
  // Waits until the line was logged. Returns false after a minute.
  bool Wait() { return seen_->WaitUntil(clock_.Now() + absl::Minutes(1)); }

 private:
  const std::string text_;
  const SystemClock clock_;
  const std::unique_ptr<Scheduler> scheduler_ = NewThreadScheduler(clock_);
  const std::unique_ptr<Event> seen_ = scheduler_->NewEvent();
};

struct NetOptions {
  DataType dtype = DT_DOUBLE;
  // whether the dense variable is a resource variable
  bool use_resource = true;
  int table_parts = 1;
};

// The graph of a linear model with an embedding table.
struct Net {
  Net(const Scope& scope, const NetOptions& net) {
    x = ops::Placeholder(scope.WithName("x"), net.dtype,
                         {.shape = {-1, kInputs}});
    ids = ops::Placeholder(scope.WithName("ids"), DT_INT32, {.shape = {-1}});
    ops::VariableOptions options;
    options.dtype = net.dtype;
    options.use_resource = net.use_resource;
    w = ops::Variable(scope.WithName("w"), ops::initializers::Zeros(),
                      TensorShape({kInputs, 1}), options);
    ops::GetVariableOptions table_options = {
        .dtype = net.dtype,
        .initializer = ops::initializers::Ones(),
        .use_resource = false};
    if (net.table_parts > 1) {
      table_options.partitioner = ops::FixedSizePartitioner(net.table_parts);
    }
    const ops::PartitionedVariable parts = ops::GetPartitionedVariable(
        scope, "table", TensorShape({kTable, 1}), table_options);
    table = parts.AsTensor(scope);
    step = train::GetOrCreateGlobalStep(scope);
    const Output sum = ops::Add(
        scope, ops::MatMul(scope, x, w),
        nn::EmbeddingLookup(scope, parts, ids, {.partition_strategy = "div"}));
    loss = ops::Mean(scope, ops::Square(scope, sum), {0, 1});
  }
  Output x, ids, loss, table;
  ops::Variable w, step;
};

// The training data of one step of a replica: random rows of x, and the ids of
// all rows of the table in random order. Id 0 occurs twice.
struct Batch {
  std::vector<double> x;
  std::vector<int32_t> ids;
};
inline Batch BatchOf(int replica, int64_t step) {
  std::mt19937_64 random(static_cast<uint64_t>(replica * 1000 + step));
  Batch batch;
  for (int32_t id = 0; id < kTable; ++id) batch.ids.push_back(id);
  std::shuffle(batch.ids.begin(), batch.ids.end(), random);
  batch.ids.push_back(0);
  for (size_t i = 0; i < batch.ids.size() * kInputs; ++i) {
    batch.x.push_back(static_cast<double>(random() % 2001) / 1000 - 1);
  }
  return batch;
}
inline FeedList Feeds(const Net& net, const Batch& batch) {
  const auto rows = static_cast<int64_t>(batch.ids.size());
  Tensor x(net.x.dtype(), TensorShape({rows, kInputs}));
  for (size_t i = 0; i < batch.x.size(); ++i) {
    if (net.x.dtype() == DT_DOUBLE) {
      x.mutable_flat<double>()[i] = batch.x[i];
    } else {
      x.mutable_flat<float>()[i] = static_cast<float>(batch.x[i]);
    }
  }
  return {{net.x, x}, {net.ids, Tensor::Vector<int32_t>(batch.ids)}};
}

// The graph of one replica with its optimizer.
struct Replica {
  // `worker_device` overrides the device of the replica, which by default is
  // that of its worker task.
  Replica(int worker, const train::SyncReplicasOptions& options,
          const NetOptions& net_options = {},
          const std::optional<std::string>& worker_device = std::nullopt)
      : index(worker),
        device(absl::StrCat("/job:worker/task:", worker)),
        scope(root.WithDeviceFunction(ReplicaDeviceSetter(
            {.ps_tasks = 2, .worker_device = worker_device.value_or(device)}))),
        net(scope, net_options),
        optimizer(0.1f),
        sync(optimizer, options) {
    train = sync.Minimize(scope, net.loss, {.global_step = net.step});
  }
  const int index;
  const std::string device;
  Scope root = Scope::Root();
  Scope scope;
  Net net;
  train::GradientDescent optimizer;
  train::SyncReplicasOptimizer sync;
  Operation train;
};

struct Values {
  std::vector<Tensor> variables;  // values of w, the table and the global step
};

class SyncReplicasTest : public testing::TestWithParam<ClusterKind> {
 public:
  // Runs `num_runs` steps on the batches of the replica. Returns the variables
  // afterwards.
  absl::StatusOr<Values> Train(Replica& replica, int num_runs, int num_tokens,
                               absl::FunctionRef<void()> after_each_run) {
    ASSIGN_OR_RETURN(const auto session,
                     train::MonitoredTrainingSession(
                         replica.root, Options(replica, num_tokens)));
    for (int step = 0; step < num_runs; ++step) {
      RETURN_IF_ERROR(session->Run(
          Feeds(replica.net, BatchOf(replica.index, step)), replica.train));
      after_each_run();
    }
    ASSIGN_OR_RETURN(auto values, ReadAll(*session->raw_session(), replica));
    RETURN_IF_ERROR(session->Close());
    return Values{std::move(values)};
  }

 protected:
  SyncReplicasTest() : cluster_(ClusterOptions()) {}

  TestCluster::Options ClusterOptions() {
    TestCluster::Options options;
    options.kind = GetParam();
    options.jobs = {{"ps", 2}, {"worker", 3}};
    options.placement_timeout = absl::Seconds(2);
    options.file_system = [this](const std::string&) { return &files_; };
    return options;
  }
  train::MonitoredTrainingSessionOptions Options(const Replica& replica,
                                                 int num_tokens = -1) {
    train::MonitoredTrainingSessionOptions options;
    options.master = cluster_.target("worker", replica.index);
    options.is_chief = replica.index == 0;
    options.config = cluster_.session_options();
    options.config.device_filters = {"/job:ps", replica.device};
    options.hooks = {replica.sync.MakeSessionRunHook(
        options.is_chief, {.num_tokens = num_tokens, .logger = &logger_})};
    options.logger = &logger_;
    return options;
  }
  void RestartAll() {
    for (const auto& [job, num_tasks] : ClusterOptions().jobs) {
      for (int task = 0; task < num_tasks; ++task) {
        cluster_.Stop(job, task);
        cluster_.Start(job, task);
      }
    }
  }
  absl::StatusOr<std::vector<Tensor>> ReadAll(Session& session,
                                              const Replica& replica) {
    return session.Run({},
                       {replica.net.w, replica.net.table, replica.net.step});
  }
  // Runs `num_runs` steps of a replica in a new session. Returns the session.
  absl::StatusOr<std::unique_ptr<train::MonitoredSession>> TrainRuns(
      Replica& replica, const train::MonitoredTrainingSessionOptions& options,
      int num_runs) {
    auto session = train::MonitoredTrainingSession(replica.root, options);
    EXPECT_OK(session);
    for (int run = 0; session.ok() && run < num_runs; ++run) {
      EXPECT_OK((*session)->Run(Feeds(replica.net, BatchOf(replica.index, run)),
                                replica.train));
    }
    return session;
  }
  // Runs `num_runs` steps of one replica, and then stops its task.
  void TrainAndDie(int index, const train::SyncReplicasOptions& sync,
                   int num_runs) {
    Replica doomed(index, sync);
    auto with = Options(doomed);
    with.recovery.should_recover = false;
    const auto session = TrainRuns(doomed, with, num_runs);
    cluster_.Stop("worker", index);
  }
  // Trains until the global step is `last` or more. Calls `before_run` with the
  // number of each run.
  absl::StatusOr<int64_t> TrainUntil(
      Replica& replica, int64_t last,
      train::MonitoredTrainingSessionOptions options,
      absl::FunctionRef<void(int64_t)> before_run = [](int64_t) {}) {
    options.hooks.push_back(train::StopAtStep(last));
    ASSIGN_OR_RETURN(const auto session,
                     train::MonitoredTrainingSession(replica.root, options));
    for (int64_t run = 0; !session->ShouldStop(); ++run) {
      before_run(run);
      RETURN_IF_ERROR(session->Run(
          Feeds(replica.net, BatchOf(replica.index, run)), replica.train));
    }
    ASSIGN_OR_RETURN(const Tensor step,
                     session->raw_session()->Run(replica.net.step));
    RETURN_IF_ERROR(session->Close());
    return step.scalar<int64_t>();
  }

  MemoryFileSystem files_;
  NullLogger logger_;
  TestCluster cluster_;
};

// Returns options in which each update needs a gradient from each replica.
inline train::SyncReplicasOptions Numbered(int num_replicas, int index) {
  return {.replicas_to_aggregate = num_replicas, .replica_index = index};
}

// Trains until the session reports the end of training. Returns the global
// step.
inline absl::StatusOr<int64_t> TrainToItsEnd(
    Replica& replica, const train::MonitoredTrainingSessionOptions& options) {
  ASSIGN_OR_RETURN(const auto session,
                   train::MonitoredTrainingSession(replica.root, options));
  for (int64_t run = 0; !session->ShouldStop(); ++run) {
    RETURN_IF_ERROR(session->Run(
        Feeds(replica.net, BatchOf(replica.index, run)), replica.train));
  }
  ASSIGN_OR_RETURN(const Tensor step,
                   session->raw_session()->Run(replica.net.step));
  RETURN_IF_ERROR(session->Close());
  return step.scalar<int64_t>();
}

}  // namespace weft::sync_replicas_tests

#endif  // WEFT_INTEGRATION_TESTS_TESTING_SYNC_REPLICAS_TEST_H_
