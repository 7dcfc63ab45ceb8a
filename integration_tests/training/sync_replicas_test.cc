// Synchronous replicas on clusters: the nodes that TensorFlow makes, training
// against one big batch, backups, replicas and chiefs that are lost.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/checkpoint/checkpoint_state.h"
#include "libs/fs/local_file_system.h"
#include "libs/fs/memory_file_system.h"
#include "libs/graph/import/graph_def.h"
#include "libs/train/sessions/training_members.h"

namespace weft {
namespace {

using testing::HasSubstr;
using train::MonitoredSession;
using train::MonitoredTrainingSession;
using train::MonitoredTrainingSessionOptions;
using train::SyncReplicasOptimizer;
using train::SyncReplicasOptions;

constexpr int kInputs = 3;  // of a row
constexpr int kTable = 5;

// Notifies when a line contains the given text.
class NotifyingLogger : public Logger {
 public:
  explicit NotifyingLogger(std::string text) : text_(std::move(text)) {}
  void Log(Severity, absl::string_view message) override {
    if (absl::StrContains(message, text_)) seen_->Set();
  }
  // False when it has not come within a minute.
  bool Wait() { return seen_->WaitUntil(clock_.Now() + absl::Minutes(1)); }

 private:
  const std::string text_;
  const SystemClock clock_;
  const std::unique_ptr<Scheduler> scheduler_ = NewThreadScheduler(clock_);
  const std::unique_ptr<Event> seen_ = scheduler_->NewEvent();
};

struct NetOptions {
  DataType dtype = DT_DOUBLE;
  bool use_resource = true;  // of the dense variable
  int table_parts = 1;
};

// Threads wait here for each other, round after round.
class Meeting {
 public:
  explicit Meeting(int num_threads) : num_threads_(num_threads) {}
  void Wait() {
    std::shared_ptr<Event> round;
    {
      absl::MutexLock lock(&mutex_);
      ++num_here_;
      round = round_;
      EndRoundIfAllAreHere();
    }
    EXPECT_TRUE(round->WaitUntil(clock_.Now() + absl::Minutes(1)));
  }
  // Others do not wait for this thread any more.
  void Leave() {
    absl::MutexLock lock(&mutex_);
    --num_threads_;
    EndRoundIfAllAreHere();
  }

 private:
  void EndRoundIfAllAreHere() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (num_here_ < num_threads_) return;
    num_here_ = 0;
    round_->Set();
    round_ = scheduler_->NewEvent();
  }

  const SystemClock clock_;
  const std::unique_ptr<Scheduler> scheduler_ = NewThreadScheduler(clock_);
  absl::Mutex mutex_;
  int num_threads_ ABSL_GUARDED_BY(mutex_);
  int num_here_ ABSL_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<Event> round_ ABSL_GUARDED_BY(mutex_) =
      scheduler_->NewEvent();
};

// A linear model with a table, whose rows are looked up by ids.
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

// Training data of a replica's step: random rows, and all rows of the table in
// its own order, the first one twice.
struct Batch {
  std::vector<double> x;
  std::vector<int32_t> ids;
};
Batch BatchOf(int replica, int64_t step) {
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
FeedList Feeds(const Net& net, const Batch& batch) {
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

// The model of one replica.
struct Replica {
  // `worker_device` where it is not the task's.
  Replica(int worker, const SyncReplicasOptions& options,
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
  SyncReplicasOptimizer sync;
  Operation train;
};

struct Values {
  std::vector<Tensor> variables;  // w, table, global step
};

class SyncReplicasTest : public testing::TestWithParam<ClusterKind> {
 protected:
  SyncReplicasTest() : cluster_(ClusterOptions()) {}

  TestCluster::Options ClusterOptions() {
    TestCluster::Options options;
    options.kind = GetParam();
    options.jobs = {{"ps", 2}, {"worker", 3}};
    options.patience = absl::Seconds(2);
    options.file_system = [this](const std::string&) { return &files_; };
    return options;
  }
  MonitoredTrainingSessionOptions Options(const Replica& replica,
                                          int num_tokens = -1) {
    MonitoredTrainingSessionOptions options;
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
  // Runs of its own batches, and what the variables are afterwards.
  absl::StatusOr<Values> Train(Replica& replica, int num_runs, int num_tokens,
                               absl::FunctionRef<void()> after_each_run) {
    ASSIGN_OR_RETURN(
        const auto session,
        MonitoredTrainingSession(replica.root, Options(replica, num_tokens)));
    for (int step = 0; step < num_runs; ++step) {
      RETURN_IF_ERROR(session->Run(
          Feeds(replica.net, BatchOf(replica.index, step)), replica.train));
      after_each_run();
    }
    ASSIGN_OR_RETURN(auto values, ReadAll(*session->raw_session(), replica));
    RETURN_IF_ERROR(session->Close());
    return Values{std::move(values)};
  }
  absl::StatusOr<std::vector<Tensor>> ReadAll(Session& session,
                                              const Replica& replica) {
    return session.Run({},
                       {replica.net.w, replica.net.table, replica.net.step});
  }
  // A replica's session, after its first runs.
  absl::StatusOr<std::unique_ptr<MonitoredSession>> TrainRuns(
      Replica& replica, const MonitoredTrainingSessionOptions& options,
      int num_runs) {
    auto session = MonitoredTrainingSession(replica.root, options);
    EXPECT_OK(session);
    for (int run = 0; session.ok() && run < num_runs; ++run) {
      EXPECT_OK((*session)->Run(Feeds(replica.net, BatchOf(replica.index, run)),
                                replica.train));
    }
    return session;
  }
  // Runs one replica for some steps; then its task ends.
  void TrainAndDie(int index, const SyncReplicasOptions& sync, int num_runs) {
    Replica doomed(index, sync);
    auto with = Options(doomed);
    with.recovery.should_recover = false;
    const auto session = TrainRuns(doomed, with, num_runs);
    cluster_.Stop("worker", index);
  }
  // All replicas, each on a thread; what the chief's session sees at the end.
  // Those without numbers wait for each other after each run, or one of them
  // might give two gradients to an update and another one none.
  struct Together {
    int num_replicas = 2;
    int num_runs = 10;
    bool in_order = false;
    int num_tokens = 0;
  };
  Values TrainTogether(const Together& together, const NetOptions& net = {}) {
    std::vector<std::thread> threads;
    Meeting all_have_run(together.num_replicas);
    Values result;
    for (int i = 0; i < together.num_replicas; ++i) {
      threads.emplace_back([&, i] {
        SyncReplicasOptions options;
        options.replicas_to_aggregate = together.num_replicas;
        if (together.in_order) options.replica_index = i;
        Replica replica(i, options, net);
        auto values =
            Train(replica, together.num_runs, together.num_tokens, [&] {
              if (!together.in_order) all_have_run.Wait();
            });
        all_have_run.Leave();
        EXPECT_OK(values);
        if (i == 0 && values.ok()) result = *std::move(values);
      });
    }
    for (std::thread& thread : threads) thread.join();
    return result;
  }
  // Until the global step is `last` or more; `before_run` gets the number of
  // the run.
  absl::StatusOr<int64_t> TrainUntil(
      Replica& replica, int64_t last, MonitoredTrainingSessionOptions options,
      absl::FunctionRef<void(int64_t)> before_run = [](int64_t) {}) {
    options.hooks.push_back(train::StopAtStep(last));
    ASSIGN_OR_RETURN(const auto session,
                     MonitoredTrainingSession(replica.root, options));
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

INSTANTIATE_TEST_SUITE_P(Clusters, SyncReplicasTest,
                         testing::Values(ClusterKind::kOneProcess,
                                         ClusterKind::kSockets),
                         [](const testing::TestParamInfo<ClusterKind>& kind) {
                           return ClusterKindName(kind.param);
                         });

// The result of one program with all batches in one.
Values TrainAlone(int num_replicas, int num_runs) {
  const Scope root = Scope::Root();
  const Net net(root, {});
  train::GradientDescent optimizer(0.1f);
  const Operation train =
      optimizer.Minimize(root, net.loss, {.global_step = net.step});
  Values result;
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const auto session, Session::Connect("", root));
    RETURN_IF_ERROR(session->Run(ops::GlobalVariablesInitializer(root)));
    for (int step = 0; step < num_runs; ++step) {
      Batch all;
      for (int i = 0; i < num_replicas; ++i) {
        const Batch batch = BatchOf(i, step);
        all.x.insert(all.x.end(), batch.x.begin(), batch.x.end());
        all.ids.insert(all.ids.end(), batch.ids.begin(), batch.ids.end());
      }
      RETURN_IF_ERROR(session->Run(Feeds(net, all), train));
    }
    ASSIGN_OR_RETURN(result.variables,
                     session->Run({}, {net.w, net.table, net.step}));
    return absl::OkStatus();
  };
  EXPECT_OK(run());
  return result;
}

void ExpectNear(const Values& values, const Values& expected) {
  ASSERT_EQ(values.variables.size(), 3u);
  ASSERT_EQ(expected.variables.size(), 3u);
  for (int v = 0; v < 2; ++v) {
    const auto got = values.variables[v].flat<double>();
    const auto want = expected.variables[v].flat<double>();
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_NEAR(got[i], want[i], 1e-12) << v << " " << i;
    }
  }
  EXPECT_TRUE(SameBits(values.variables[2], expected.variables[2]));
}

// ---- Training ----

TEST_P(SyncReplicasTest, ReplicasMatchOneLargeBatch) {
  ExpectNear(TrainTogether({.num_replicas = 3}), TrainAlone(3, 10));
}

TEST_P(SyncReplicasTest, NumberedReplicasWithRefsMatchLargeBatch) {
  ExpectNear(TrainTogether({.in_order = true}, {.use_resource = false}),
             TrainAlone(2, 10));
}

TEST_P(SyncReplicasTest, ReplicasOfPartitionedTableMatchLargeBatch) {
  ExpectNear(TrainTogether({}, {.table_parts = 2}), TrainAlone(2, 10));
}

// In floats, whose sums depend on the order. Each replica's second gradient,
// which an initial token lets it make, is dropped.
TEST_P(SyncReplicasTest, NumberedReplicasAreBitExact) {
  const Together together = {
      .num_replicas = 3, .num_runs = 21, .in_order = true, .num_tokens = -1};
  const Values once = TrainTogether(together, {.dtype = DT_FLOAT});
  ASSERT_EQ(once.variables.size(), 3u);
  EXPECT_TRUE(SameBits(once.variables[2], Tensor::Scalar(int64_t{20})));
  for (int i = 0; i < 2; ++i) {
    RestartAll();
    const Values again = TrainTogether(together, {.dtype = DT_FLOAT});
    ASSERT_EQ(again.variables.size(), 3u);
    for (int v = 0; v < 3; ++v) {
      EXPECT_TRUE(SameBits(once.variables[v], again.variables[v])) << v;
    }
  }
}

// TensorFlow's known effect: with the initial token the second gradient is of
// step 0 too, and is dropped.
TEST_P(SyncReplicasTest, StaleGradientIsDropped) {
  Replica replica(0, {.replicas_to_aggregate = 1});
  ASSERT_OK_AND_ASSIGN(const auto session, MonitoredTrainingSession(
                                               replica.root, Options(replica)));
  const auto run = [&](int64_t batch) {
    return session->Run(Feeds(replica.net, BatchOf(0, batch)), replica.train);
  };
  const auto step = [&] {
    const auto value = session->raw_session()->Run(replica.net.step);
    return value.ok() ? value->scalar<int64_t>() : -1;
  };
  ASSERT_OK(run(0));
  while (step() == 0) {
  }
  ASSERT_OK(run(1));  // of step 0, as its token was
  ASSERT_OK(run(2));
  while (step() == 1) {
  }
  EXPECT_EQ(step(), 2);
  ASSERT_OK(session->Close());
}

// ---- Who is lost ----

TEST_P(SyncReplicasTest, KilledBackupCostsNoStep) {
  const SyncReplicasOptions options = {.replicas_to_aggregate = 2,
                                       .total_num_replicas = 3};
  std::vector<std::thread> threads;
  std::vector<absl::StatusOr<int64_t>> steps(2, absl::UnknownError("none"));
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      Replica replica(i, options);
      auto with = Options(replica);
      // A session that is lost, or a run that fails, would end it.
      with.recovery.should_recover = false;
      steps[i] = TrainUntil(replica, 40, with);
    });
  }
  TrainAndDie(2, options, 1);
  for (std::thread& thread : threads) thread.join();
  for (const auto& step : steps) {
    ASSERT_OK(step);
    EXPECT_GE(*step, 40);
  }
  cluster_.Start("worker", 2);
}

// No update goes without a gradient of each of them.
SyncReplicasOptions Numbered(int num_replicas, int index) {
  return {.replicas_to_aggregate = num_replicas, .replica_index = index};
}

TEST_P(SyncReplicasTest, WithoutBackupsOthersWaitAndLogIt) {
  NotifyingLogger chief("for gradients of replicas: 3 are needed");
  NotifyingLogger other(
      "for a token of the next step from queue 'sync_token_q_of_replica_1'. "
      "The next update "
      "waits for gradients of replicas: 3 are needed of each variable, and "
      "have not come of w (2), table (2). Are all replicas running?");
  std::vector<std::thread> threads;
  std::vector<absl::StatusOr<int64_t>> steps(3, absl::UnknownError("none"));
  const auto train = [&](int i, NotifyingLogger* logger) {
    Replica replica(i, Numbered(3, i));
    auto with = Options(replica);
    with.hooks = {replica.sync.MakeSessionRunHook(
        i == 0, {.log_waits_after = absl::Milliseconds(20), .logger = logger})};
    steps[i] = TrainUntil(replica, 20, with);
  };
  threads.emplace_back(train, 0, &chief);
  threads.emplace_back(train, 1, &other);
  TrainAndDie(2, Numbered(3, 2), 5);
  EXPECT_TRUE(chief.Wait());
  EXPECT_TRUE(other.Wait());
  cluster_.Start("worker", 2);
  threads.emplace_back(train, 2, &other);
  for (std::thread& thread : threads) thread.join();
  for (const auto& step : steps) {
    ASSERT_OK(step);
    EXPECT_EQ(*step, 20);
  }
}

TEST_P(SyncReplicasTest, ReplicaLogsMissingChief) {
  const SyncReplicasOptions options = {.replicas_to_aggregate = 1,
                                       .total_num_replicas = 2};
  NotifyingLogger logger("but the chief has made no update of them");
  Replica chief(0, options);
  auto first = Options(chief);
  first.recovery.should_recover = false;
  {
    const auto session = TrainRuns(chief, first, 0);
    cluster_.Stop("worker", 0);
  }
  absl::StatusOr<int64_t> others_step = absl::UnknownError("none");
  std::thread thread([&] {
    Replica other(1, options);
    auto with = Options(other);
    with.hooks = {other.sync.MakeSessionRunHook(
        false, {.log_waits_after = absl::Milliseconds(20), .logger = &logger})};
    others_step = TrainUntil(other, 20, with);
  });
  EXPECT_TRUE(logger.Wait());
  cluster_.Start("worker", 0);
  Replica next(0, options);
  const auto step = TrainUntil(next, 20, Options(next));
  thread.join();
  ASSERT_OK(step);
  ASSERT_OK(others_step);
}

TEST_P(SyncReplicasTest, ContinuesWithAnotherChief) {
  Replica chief(0, Numbered(2, 0));
  absl::StatusOr<int64_t> others_step = absl::UnknownError("none");
  std::thread thread([&] {
    Replica other(1, Numbered(2, 1));
    others_step = TrainUntil(other, 40, Options(other));
  });
  auto first = Options(chief);
  first.checkpoint_dir = "/job";
  first.save_checkpoint_steps = 5;
  first.recovery.should_recover = false;
  {
    const auto session = TrainRuns(chief, first, 12);
    cluster_.Stop("worker", 0);
  }
  cluster_.Start("worker", 0);
  Replica next(0, Numbered(2, 0));
  auto second = Options(next);
  second.checkpoint_dir = "/job";
  second.save_checkpoint_steps = 5;
  const auto step = TrainUntil(next, 40, second);
  thread.join();
  ASSERT_OK(step);
  ASSERT_OK(others_step);
  EXPECT_GE(*step, 40);
}

// On an error of its own, say.
TEST_P(SyncReplicasTest, EarlyReturnDoesNotEndOtherReplicas) {
  Replica chief(0, Numbered(2, 0));
  absl::StatusOr<int64_t> others_step = absl::UnknownError("none");
  std::thread thread([&] {
    Replica other(1, Numbered(2, 1));
    others_step = TrainUntil(other, 40, Options(other));
  });
  auto first = Options(chief);
  first.checkpoint_dir = "/job";
  EXPECT_OK(TrainRuns(chief, first, 12)) << "nobody closes it";
  EXPECT_OK(files_.FileExists("/job/checkpoint"));
  Replica next(0, Numbered(2, 0));
  auto second = Options(next);
  second.checkpoint_dir = "/job";
  const auto step = TrainUntil(next, 40, second);
  thread.join();
  ASSERT_OK(step);
  ASSERT_OK(others_step);
  EXPECT_GE(*others_step, 40);
}

// Which is lost when both have made ten runs.
TEST_P(SyncReplicasTest, ContinuesAfterLossOfParameterServer) {
  std::vector<std::thread> threads;
  std::vector<absl::StatusOr<int64_t>> steps(2, absl::UnknownError("none"));
  Meeting meeting(3);
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      Replica replica(i, Numbered(2, i));
      auto with = Options(replica);
      if (i == 0) {
        with.checkpoint_dir = "/job";
        with.save_checkpoint_steps = 5;
      }
      steps[i] = TrainUntil(replica, 30, with, [&](int64_t run) {
        if (run != 10) return;
        meeting.Wait();  // the server goes
        meeting.Wait();  // and is there again
      });
    });
  }
  meeting.Wait();
  cluster_.Stop("ps", 1);
  cluster_.Start("ps", 1);
  meeting.Wait();
  for (std::thread& thread : threads) thread.join();
  for (const auto& step : steps) {
    ASSERT_OK(step);
    EXPECT_GE(*step, 30);
  }
}

// ---- Who has ended ----

// Until the session says that it is over; the global step then.
absl::StatusOr<int64_t> TrainToItsEnd(
    Replica& replica, const MonitoredTrainingSessionOptions& options) {
  ASSIGN_OR_RETURN(const auto session,
                   MonitoredTrainingSession(replica.root, options));
  for (int64_t run = 0; !session->ShouldStop(); ++run) {
    RETURN_IF_ERROR(session->Run(
        Feeds(replica.net, BatchOf(replica.index, run)), replica.train));
  }
  ASSIGN_OR_RETURN(const Tensor step,
                   session->raw_session()->Run(replica.net.step));
  RETURN_IF_ERROR(session->Close());
  return step.scalar<int64_t>();
}

// The first chief is asked to leave, and is waited for; the second one has come
// to the end.
TEST_P(SyncReplicasTest, OthersEndWithTheChiefsTraining) {
  absl::StatusOr<int64_t> others_step = absl::UnknownError("none");
  std::thread thread([&] {
    Replica other(1, Numbered(2, 1));
    auto with = Options(other);
    with.hooks = {other.sync.MakeSessionRunHook(
        false,
        {.log_waits_after = absl::Milliseconds(20), .logger = &logger_})};
    others_step = TrainToItsEnd(other, with);
  });
  const auto chiefs_step = [&](const train::HookList& hooks, int num_runs) {
    Replica chief(0, Numbered(2, 0));
    auto with = Options(chief);
    with.checkpoint_dir = "/job";
    with.hooks.insert(with.hooks.end(), hooks.begin(), hooks.end());
    std::atomic<int> asked = 0;
    with.stop_requested = [&] { return asked++ > num_runs; };
    return TrainToItsEnd(chief, with);
  };
  const auto left = chiefs_step({}, 20);
  const auto ended = chiefs_step({train::StopAtStep(30)}, 1000000);
  thread.join();
  ASSERT_OK(left);
  EXPECT_LT(*left, 30);
  ASSERT_OK(ended);
  EXPECT_EQ(*ended, 30);
  ASSERT_OK(others_step);
  EXPECT_EQ(*others_step, 30);
}

// The others wait for the next chief, and continue with it.
TEST_P(SyncReplicasTest, ChiefStoppedAtItsLastRunLeavesReplicas) {
  const SyncReplicasOptions sync = {.replicas_to_aggregate = 2,
                                    .total_num_replicas = 3};
  std::vector<absl::StatusOr<int64_t>> others(2, absl::UnknownError("none"));
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      Replica other(i + 1, sync);
      auto with = Options(other);
      with.hooks = {other.sync.MakeSessionRunHook(
          false,
          {.log_waits_after = absl::Milliseconds(20), .logger = &logger_})};
      others[i] = TrainToItsEnd(other, with);
    });
  }
  const auto end_input_and_leave = [&]() -> absl::Status {
    Replica chief(0, sync);
    auto with = Options(chief);
    with.checkpoint_dir = "/job";
    std::atomic<bool> is_to_leave = false;
    with.stop_requested = [&] { return is_to_leave.load(); };
    ASSIGN_OR_RETURN(const auto session, TrainRuns(chief, with, 20));
    EXPECT_THAT(session->RunStepFn([&](MonitoredSession::StepContext&) {
      is_to_leave = true;
      return absl::OutOfRangeError("the input has ended");
    }),
                StatusIs(absl::StatusCode::kOutOfRange));
    return session->Close();
  };
  EXPECT_OK(end_input_and_leave());
  Replica next(0, sync);
  auto with = Options(next);
  with.checkpoint_dir = "/job";
  with.hooks.push_back(std::make_shared<train::StopAtStepHook>(
      train::StopAtStepOptions{.num_steps = 30}));
  const auto step = TrainToItsEnd(next, with);
  for (std::thread& thread : threads) thread.join();
  ASSERT_OK(step);
  for (const auto& other : others) {
    ASSERT_OK(other);
    EXPECT_GE(*other, *step);
  }
}

TEST_P(SyncReplicasTest, LateReplicaWaitsBrieflyForAnotherChief) {
  Replica chief(0, {.replicas_to_aggregate = 1, .total_num_replicas = 2});
  ASSERT_OK(TrainUntil(chief, 5, Options(chief)));
  const auto train = [&](absl::Duration max_wait_for_chief, Logger* logger) {
    Replica other(1, {.replicas_to_aggregate = 1, .total_num_replicas = 2});
    auto with = Options(other);
    with.hooks = {other.sync.MakeSessionRunHook(
        false, {.log_waits_after = absl::Milliseconds(20),
                .max_wait_for_chief = max_wait_for_chief,
                .logger = logger})};
    return TrainToItsEnd(other, with);
  };
  const auto alone = train(absl::Milliseconds(40), &logger_);
  ASSERT_OK(alone);
  EXPECT_EQ(*alone, 5);
  NotifyingLogger waits(
      "The chief has ended training; it waits for another one to begin");
  absl::StatusOr<int64_t> others_step = absl::UnknownError("none");
  std::thread thread([&] { others_step = train(absl::Hours(1), &waits); });
  EXPECT_TRUE(waits.Wait());
  Replica next(0, {.replicas_to_aggregate = 1, .total_num_replicas = 2});
  const auto step = TrainUntil(next, 10, Options(next));
  thread.join();
  ASSERT_OK(step);
  ASSERT_OK(others_step);
}

// Replicas without log lines are notified, too.
TEST_P(SyncReplicasTest, SilentReplicaIsNotifiedOfEnd) {
  Replica chief(0, {.replicas_to_aggregate = 1, .total_num_replicas = 2});
  ASSERT_OK(TrainUntil(chief, 5, Options(chief)));
  Replica other(1, {.replicas_to_aggregate = 1, .total_num_replicas = 2});
  auto with = Options(other);
  with.hooks = {other.sync.MakeSessionRunHook(
      false, {.log_waits_after = absl::InfiniteDuration(),
              .max_wait_for_chief = absl::Milliseconds(40),
              .logger = &logger_})};
  const auto step = TrainToItsEnd(other, with);
  ASSERT_OK(step);
  EXPECT_EQ(*step, 5);
}

// Trains until its input of so many rows has ended, or all training has; the
// global step then.
absl::StatusOr<int64_t> TrainRows(Replica& replica,
                                  MonitoredTrainingSessionOptions options,
                                  int64_t num_rows) {
  const auto step = std::make_shared<train::FinalOpsHook>(
      train::SessionRunArgs{.fetches = {replica.net.step}});
  options.hooks.push_back(step);
  ASSIGN_OR_RETURN(const auto session,
                   MonitoredTrainingSession(replica.root, options));
  for (int64_t run = 0; !session->ShouldStop(); ++run) {
    if (run < num_rows) {
      RETURN_IF_ERROR(session->Run(
          Feeds(replica.net, BatchOf(replica.index, run)), replica.train));
    } else {
      EXPECT_THAT(session->RunStepFn([](MonitoredSession::StepContext&) {
        return absl::OutOfRangeError("the input has ended");
      }),
                  StatusIs(absl::StatusCode::kOutOfRange));
    }
  }
  RETURN_IF_ERROR(session->Close());
  return step->final_ops_values()[0].scalar<int64_t>();
}

class EndingReplicasTest : public SyncReplicasTest {
 protected:
  // A replica for each number of rows, the chief's first.
  void Train(const std::vector<int64_t>& rows, int num_aggregated,
             bool is_numbered = false) {
    std::vector<std::thread> threads;
    steps_.assign(rows.size(), absl::UnknownError("none"));
    for (size_t i = 0; i < rows.size(); ++i) {
      threads.emplace_back([&, index = static_cast<int>(i)] {
        SyncReplicasOptions options = {
            .replicas_to_aggregate = num_aggregated,
            .total_num_replicas = static_cast<int>(rows.size())};
        if (is_numbered) options.replica_index = index;
        Replica replica(index, options, {}, worker_device_);
        auto with = Options(replica);
        with.hooks = {replica.sync.MakeSessionRunHook(
            index == 0,
            {.log_waits_after = absl::Milliseconds(50), .logger = &lines_})};
        if (index == 0) with.checkpoint_dir = "/job";
        steps_[index] = TrainRows(replica, with, rows[index]);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& step : steps_) EXPECT_OK(step);
  }
  // The step of the newest checkpoint, -1 if there is none.
  int64_t SavedStep() {
    const auto state = checkpoint::ReadCheckpointState(files_, "/job");
    int64_t step = -1;
    if (state.ok() &&
        !absl::SimpleAtoi(
            absl::StripPrefix(state->model_checkpoint_path, "/job/model.ckpt-"),
            &step)) {
      ADD_FAILURE() << state->model_checkpoint_path;
    }
    return step;
  }
  std::string Lines() const { return absl::StrJoin(lines_.lines(), "\n"); }

  std::optional<std::string> worker_device_;
  RecordingLogger lines_;
  std::vector<absl::StatusOr<int64_t>> steps_;
};

INSTANTIATE_TEST_SUITE_P(Clusters, EndingReplicasTest,
                         testing::Values(ClusterKind::kOneProcess,
                                         ClusterKind::kSockets),
                         [](const testing::TestParamInfo<ClusterKind>& kind) {
                           return ClusterKindName(kind.param);
                         });

TEST_P(EndingReplicasTest, EndOfReplicaEndsTraining) {
  Train({1000000, 10}, 2);
  ASSERT_OK(steps_[0]);
  // Gradients of others may make another update after the chief looked.
  EXPECT_GE(SavedStep(), *steps_[0]);
  EXPECT_THAT(Lines(), HasSubstr("have ended: /job:worker/task:1. An update "
                                 "needs gradients of 2 replicas, and left are "
                                 "1 of 2: training ends."));
}

// Restarts the server of the global step before later hooks report the end of
// training.
class RestartAtTheEnd : public train::SessionRunHook {
 public:
  explicit RestartAtTheEnd(TestCluster& cluster) : cluster_(cluster) {}
  absl::Status TrainingHasEnded(Session&) override {
    cluster_.Stop("ps", 0);
    cluster_.Start("ps", 0);
    return absl::OkStatus();
  }

 private:
  TestCluster& cluster_;
};

// The chief, whose session is lost as well, sees the end in its next session.
TEST_P(EndingReplicasTest, EndIsReportedToARestartedServer) {
  const auto train = [&](int index, int64_t num_rows,
                         train::HookList hooks) -> absl::StatusOr<int64_t> {
    Replica replica(index, Numbered(2, index));
    auto with = Options(replica);
    hooks.push_back(replica.sync.MakeSessionRunHook(
        index == 0, {.log_waits_after = absl::Milliseconds(50),
                     .max_wait_for_replicas = absl::Minutes(1),
                     .logger = &lines_}));
    with.hooks = std::move(hooks);
    if (index == 0) {
      with.checkpoint_dir = "/job";
      with.save_checkpoint_steps = 2;
    }
    return TrainRows(replica, with, num_rows);
  };
  absl::StatusOr<int64_t> others_step = absl::UnknownError("none");
  std::thread thread([&] {
    others_step = train(1, 10, {std::make_shared<RestartAtTheEnd>(cluster_)});
  });
  EXPECT_OK(train(0, 1000000, {}));
  thread.join();
  EXPECT_OK(others_step);
  EXPECT_THAT(Lines(), HasSubstr("have ended: replica 1 (/job:worker/task:1)"));
}

// Their devices, which are the same, name no task.
TEST_P(EndingReplicasTest, ReplicasOfOneDeviceEndTogether) {
  worker_device_ = "/job:worker";
  Train({1000000, 10}, 2);
  ASSERT_OK(steps_[0]);
  // Gradients of others may make another update after the chief looked.
  EXPECT_GE(SavedStep(), *steps_[0]);
  EXPECT_THAT(Lines(), HasSubstr("have ended: /job:worker. An update"));
}

TEST_P(EndingReplicasTest, ReplicasWithoutDeviceEndTogether) {
  worker_device_ = "";
  Train({1000000, 10}, 2);
  ASSERT_OK(steps_[0]);
  // Gradients of others may make another update after the chief looked.
  EXPECT_GE(SavedStep(), *steps_[0]);
  EXPECT_THAT(Lines(), HasSubstr("have ended: a replica without device. An"));
}

TEST_P(EndingReplicasTest, EndOfChiefEndsTraining) {
  Train({10, 1000000}, 2);
  ASSERT_OK(steps_[0]);
  // Gradients of others may make another update after the chief looked.
  EXPECT_GE(SavedStep(), *steps_[0]);
}

TEST_P(EndingReplicasTest, EndOfNumberedReplicaEndsTraining) {
  Train({1000000, 10, 1000000}, 3, /*is_numbered=*/true);
  EXPECT_THAT(Lines(), HasSubstr("have ended: replica 1 (/job:worker/task:1)"));
}

TEST_P(EndingReplicasTest, EqualInputsAreConsumedCompletely) {
  Train({50, 50}, 2);
  ASSERT_OK(steps_[0]);
  EXPECT_GE(*steps_[0], 20);
}

// The chief gives no gradients any more, and the second replica takes its place
// until it has ended, too.
TEST_P(EndingReplicasTest, TrainingContinuesWithEnoughReplicas) {
  Train({5, 60, 1000000}, 2);
  ASSERT_OK(steps_[0]);
  EXPECT_GE(*steps_[0], 15);
  // Gradients of others may make another update after the chief looked.
  EXPECT_GE(SavedStep(), *steps_[0]);
}

// MonitoredSession reports it again after an error.
TEST_P(SyncReplicasTest, UnrecordedReplicaEndIsAnError) {
  const SyncReplicasOptions options = {.replicas_to_aggregate = 2,
                                       .total_num_replicas = 2};
  Replica chief(0, options), other(1, options);
  ASSERT_OK_AND_ASSIGN(const auto chiefs,
                       MonitoredTrainingSession(chief.root, Options(chief)));
  const auto with = Options(other);
  ASSERT_OK_AND_ASSIGN(const auto session,
                       MonitoredTrainingSession(other.root, with));
  train::SessionRunHook& hook = *with.hooks[0];
  EXPECT_OK(hook.TrainingHasEnded(*session->raw_session()));
  cluster_.Stop("ps", 0);
  EXPECT_FALSE(hook.TrainingHasEnded(*session->raw_session()).ok());
  cluster_.Start("ps", 0);
  const absl::Status given_up = absl::CancelledError("the test ends");
  EXPECT_EQ(session->Close(given_up), given_up);
  EXPECT_EQ(chiefs->Close(given_up), given_up);
}

TEST_P(SyncReplicasTest, TrainingsHaveSeparateMembers) {
  const auto seen_by = [&](const std::string& member,
                           const std::string& container,
                           const std::string& step_name)
      -> absl::StatusOr<std::vector<std::string>> {
    const Scope root = Scope::Root();
    const ops::Variable step(root.WithDevice("/job:ps/task:0")
                                 .WithContainer(container)
                                 .WithName(step_name),
                             int64_t{0}, {.trainable = false});
    train::TrainingMembers members("members_of_test", member);
    RETURN_IF_ERROR(members.AddNodes(root, step.handle()));
    ASSIGN_OR_RETURN(const auto session,
                     Session::Connect(cluster_.target("worker", 0), root,
                                      cluster_.session_options()));
    RETURN_IF_ERROR(
        members.Say(*session, train::TrainingMembers::State::kTraining));
    ASSIGN_OR_RETURN(const auto all, members.Read(*session));
    std::vector<std::string> names;
    for (const auto& one : all) names.push_back(one.name);
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(seen_by("a", "one", "global_step").value(), Names({"a"}));
  EXPECT_EQ(seen_by("b", "two", "global_step").value(), Names({"b"}));
  EXPECT_EQ(seen_by("c", "two", "other_step").value(), Names({"c"}));
  EXPECT_EQ(seen_by("d", "one", "global_step").value(), Names({"a", "d"}));
}

TEST_P(SyncReplicasTest, LongWaitsNameMissingReplicas) {
  NotifyingLogger logger("Not begun: replica 1, replica 2.");
  Replica chief(0, Numbered(3, 0));
  auto with = Options(chief);
  with.hooks = {chief.sync.MakeSessionRunHook(
      true, {.log_waits_after = absl::Milliseconds(20), .logger = &logger})};
  ASSERT_OK_AND_ASSIGN(const auto session,
                       MonitoredTrainingSession(chief.root, with));
  EXPECT_TRUE(logger.Wait());
  ASSERT_OK(session->Close());
}

TEST_P(SyncReplicasTest, MissingHookIsNamed) {
  Replica chief(0, {.replicas_to_aggregate = 1});
  auto with = Options(chief);
  with.hooks.clear();
  const Operation group = ops::Group(chief.root, {chief.train});
  ASSERT_OK_AND_ASSIGN(const auto session,
                       MonitoredTrainingSession(chief.root, with));
  EXPECT_OK(session->Run(chief.net.step)) << "which needs no token";
  EXPECT_THAT(session->Run(Feeds(chief.net, BatchOf(0, 0)), group),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "Add the optimizer's MakeSessionRunHook(is_chief)"));
  ASSERT_OK(session->Close());
}

TEST_P(SyncReplicasTest, MissingHookIsNamedInStepFunction) {
  Replica chief(0, {.replicas_to_aggregate = 1});
  auto with = Options(chief);
  with.hooks.clear();
  ASSERT_OK_AND_ASSIGN(const auto session,
                       MonitoredTrainingSession(chief.root, with));
  EXPECT_THAT(session->RunStepFn([&](MonitoredSession::StepContext& context) {
    return context
        .RunWithHooks({.targets = {chief.train},
                       .feeds = Feeds(chief.net, BatchOf(0, 0))})
        .status();
  }),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "Add the optimizer's MakeSessionRunHook(is_chief)"));
  ASSERT_OK(session->Close());
}

TEST_P(SyncReplicasTest, HookServesOnlyItsOptimizer) {
  Replica chief(0, {.replicas_to_aggregate = 1});
  train::GradientDescent descent(0.1f);
  SyncReplicasOptimizer forgotten(
      descent, {.replicas_to_aggregate = 1, .name = "forgotten"});
  const Operation train = forgotten.Minimize(chief.scope, chief.net.loss,
                                             {.global_step = chief.net.step});
  ASSERT_OK_AND_ASSIGN(const auto session,
                       MonitoredTrainingSession(chief.root, Options(chief)));
  EXPECT_THAT(session->Run(Feeds(chief.net, BatchOf(0, 0)), train),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       absl::StrCat("The run of ", train.name())));
  EXPECT_OK(session->Run(Feeds(chief.net, BatchOf(0, 0)), chief.train));
  ASSERT_OK(session->Close());
}

// The chief takes no more steps, without reporting its end.
TEST_P(SyncReplicasTest, ReplicaWithoutTokenTimesOut) {
  Replica chief(0, {.replicas_to_aggregate = 2, .total_num_replicas = 2});
  auto chiefs = Options(chief);
  // With initial tokens the other replica's own gradients make an update.
  chiefs.hooks = {chief.sync.MakeSessionRunHook(
      true, {.num_tokens = 0, .logger = &logger_})};
  ASSERT_OK_AND_ASSIGN(const auto session,
                       MonitoredTrainingSession(chief.root, chiefs));
  Replica other(1, {.replicas_to_aggregate = 2, .total_num_replicas = 2});
  auto with = Options(other);
  with.hooks = {other.sync.MakeSessionRunHook(
      false, {.log_waits_after = absl::Milliseconds(20),
              .max_wait = absl::Milliseconds(60),
              .logger = &logger_})};
  const auto step = TrainToItsEnd(other, with);
  EXPECT_THAT(
      step.status(),
      StatusIs(absl::StatusCode::kDeadlineExceeded,
               "for a token of the next step from queue 'sync_token_q"));
  EXPECT_THAT(step.status(), StatusIs(absl::StatusCode::kDeadlineExceeded,
                                      "else start the chief"));
}

TEST_P(SyncReplicasTest, ChiefWithoutGradientsTimesOut) {
  Replica chief(0, {.replicas_to_aggregate = 2, .total_num_replicas = 2});
  auto with = Options(chief);
  with.hooks = {chief.sync.MakeSessionRunHook(
      true, {.num_tokens = 0,
             .log_waits_after = absl::InfiniteDuration(),
             .max_wait_for_replicas = absl::Milliseconds(200),
             .logger = &logger_})};
  ASSERT_OK_AND_ASSIGN(const auto session,
                       MonitoredTrainingSession(chief.root, with));
  const auto run = session->Run(Feeds(chief.net, BatchOf(0, 0)), chief.train);
  EXPECT_THAT(run,
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       "(SyncReplicasHookOptions::max_wait_for_replicas)"));
  EXPECT_EQ(session->Close(run), run);
}

// ---- Stop requests ----

// One replica is gone when its run has made an update, and the other one waits
// for it.
TEST_P(SyncReplicasTest, StopRequestEndsWaitOfChiefWithSave) {
  NotifyingLogger logger("for gradients of replicas: 2 are needed");
  std::atomic<bool> is_to_leave = false;
  absl::StatusOr<int64_t> step = absl::UnknownError("none");
  std::thread thread([&] {
    Replica chief(0, Numbered(2, 0));
    auto with = Options(chief);
    with.checkpoint_dir = "/job";
    with.hooks = {chief.sync.MakeSessionRunHook(
        true, {.log_waits_after = absl::Milliseconds(20), .logger = &logger})};
    with.stop_requested = [&] { return is_to_leave.load(); };
    step = TrainToItsEnd(chief, with);
  });
  TrainAndDie(1, Numbered(2, 1), 5);
  EXPECT_TRUE(logger.Wait());
  is_to_leave = true;
  thread.join();
  cluster_.Start("worker", 1);
  ASSERT_OK(step);
  EXPECT_GT(*step, 0);
  ASSERT_OK_AND_ASSIGN(const auto state,
                       checkpoint::ReadCheckpointState(files_, "/job"));
  EXPECT_THAT(state.model_checkpoint_path,
              testing::EndsWith(absl::StrCat("model.ckpt-", *step)));
}

TEST_P(SyncReplicasTest, StopRequestEndsWaitOfOtherReplica) {
  Replica chief(0, Numbered(2, 0));
  ASSERT_OK_AND_ASSIGN(const auto session,
                       MonitoredTrainingSession(chief.root, Options(chief)));
  NotifyingLogger logger("for a token of the next step");
  std::atomic<bool> is_to_leave = false;
  absl::StatusOr<int64_t> step = absl::UnknownError("none");
  std::thread thread([&] {
    Replica other(1, Numbered(2, 1));
    auto with = Options(other);
    with.hooks = {other.sync.MakeSessionRunHook(
        false, {.log_waits_after = absl::Milliseconds(20), .logger = &logger})};
    with.stop_requested = [&] { return is_to_leave.load(); };
    step = TrainToItsEnd(other, with);
  });
  EXPECT_TRUE(logger.Wait());
  is_to_leave = true;
  thread.join();
  ASSERT_OK(step);
  EXPECT_EQ(*step, 0);
  ASSERT_OK(session->Close());
}

// ---- Saves ----

// The initial token lets the run end: the update of its gradient may come
// whenever the save lets it.
TEST_P(SyncReplicasTest, UpdatesWaitForRunningSave) {
  Replica chief(0, {.replicas_to_aggregate = 1});
  const auto options = Options(chief);
  ASSERT_OK_AND_ASSIGN(const auto session,
                       MonitoredTrainingSession(chief.root, options));
  const auto step = [&] {
    const auto value = session->raw_session()->Run(chief.net.step);
    return value.ok() ? value->scalar<int64_t>() : -1;
  };
  ASSERT_OK(options.hooks[0]->SaveBetweenUpdates([&] {
    RETURN_IF_ERROR(session->Run(Feeds(chief.net, BatchOf(0, 0)), chief.train));
    for (int i = 0; i < 20; ++i) EXPECT_EQ(step(), 0);
    return absl::OkStatus();
  }));
  while (step() == 0) {
  }
  EXPECT_EQ(options.hooks[0]->SaveBetweenUpdates(
                [] { return absl::DataLossError("the disk is full"); }),
            absl::DataLossError("the disk is full"));
  ASSERT_OK(session->Close());
}

// A session that ends while an update waits for the end of a save.
TEST_P(SyncReplicasTest, SaveOutlivingSessionBlocksNoUpdate) {
  Replica chief(0, {.replicas_to_aggregate = 1});
  const auto options = Options(chief);
  ASSERT_OK_AND_ASSIGN(const auto session,
                       MonitoredTrainingSession(chief.root, options));
  ASSERT_OK(options.hooks[0]->SaveBetweenUpdates([&] {
    RETURN_IF_ERROR(session->Run(Feeds(chief.net, BatchOf(0, 0)), chief.train));
    return session->Close();
  }));
}

// The update fails: its replica, which waits for a token, gets the error.
TEST_P(SyncReplicasTest, FailedUpdateEndsWaitingRun) {
  Replica model(0, {.replicas_to_aggregate = 1});
  const Output rate = ops::Placeholder(model.root.WithName("rate"), DT_FLOAT);
  train::GradientDescent optimizer(rate);
  SyncReplicasOptimizer sync(optimizer,
                             {.replicas_to_aggregate = 1, .name = "again"});
  const Operation train = sync.Minimize(model.scope, model.net.loss,
                                        {.global_step = model.net.step});
  auto options = Options(model);
  options.hooks = {
      sync.MakeSessionRunHook(true, {.num_tokens = 0, .logger = &logger_})};
  ASSERT_OK_AND_ASSIGN(const auto session,
                       MonitoredTrainingSession(model.root, options));
  const absl::Status status =
      session->Run(Feeds(model.net, BatchOf(0, 0)), train);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, "rate"));
  EXPECT_TRUE(session->ShouldStop());
  EXPECT_EQ(session->Close(status), status);
}

// ---- The graph ----

// But for what updates a variable, which is the optimizer's within.
bool IsOfSync(const Node& node) {
  if (absl::StartsWith(node.name(), "GradientDescent/update_")) return false;
  for (const char* prefix :
       {"sync_", "NoOp", "Assign", "Fill", "GradientDescent"}) {
    if (absl::StartsWith(node.name(), prefix)) return true;
  }
  return false;
}

std::string InputName(const OutputTensor& input) {
  // TensorFlow's gradient reshapes the ids, Weft's takes them as they are.
  return absl::StartsWith(input.node->name(), "gradients/") ||
                 input.node->name() == "ids"
             ? "a gradient"
             : absl::StrCat(input.node->name(), ":", input.index);
}

// Only control inputs that are no inputs of the node: TensorFlow omits the
// others.
std::set<std::string> Controls(const Node& node) {
  std::set<std::string> names;
  for (const Node* control : node.control_inputs())
    names.insert(control->name());
  for (const auto& input : node.inputs()) {
    for (const Node* control : input.node->control_inputs()) {
      names.erase(control->name());
    }
  }
  return names;
}

// Name, op, inputs, control inputs.
std::set<std::string> Describe(const Graph& graph) {
  std::set<std::string> lines;
  for (const auto& node : graph.nodes()) {
    if (!IsOfSync(*node)) continue;
    // It closes the queue when a chief's threads stop, for good.
    if (absl::StartsWith(node->name(), "sync_token_q_Close")) continue;
    std::string line = absl::StrCat(node->name(), " ", node->type());
    for (const auto& input : node->inputs()) {
      absl::StrAppend(&line, " ", InputName(input));
    }
    for (const std::string& control : Controls(*node)) {
      absl::StrAppend(&line, " ^", control);
    }
    lines.insert(std::move(line));
  }
  return lines;
}

TEST(SyncReplicasGraphTest, NodesMatchTensorFlow) {
  LocalFileSystem files;
  ASSERT_OK_AND_ASSIGN(
      const std::string bytes,
      files.ReadFile("integration_tests/testdata/conformance/training/"
                     "sync_replicas/worker0.pb"));
  const Scope imported = Scope::Root();
  ASSERT_OK(ImportGraphDef(bytes, imported.graph()));

  const Scope root = Scope::Root();
  const Scope scope = root.WithDeviceFunction(ReplicaDeviceSetter(
      {.ps_tasks = 1, .worker_device = "/job:worker/task:0"}));
  const Output x =
      ops::Placeholder(scope.WithName("x"), DT_FLOAT, {.shape = {-1, kInputs}});
  const Output ids =
      ops::Placeholder(scope.WithName("ids"), DT_INT32, {.shape = {-1}});
  const ops::VariableOptions reference = {.use_resource = false};
  const ops::Variable w(scope.WithName("w"), Tensor(DT_FLOAT, {kInputs, 1}),
                        reference);
  const ops::Variable table(scope.WithName("table"),
                            Tensor(DT_FLOAT, {kTable, 1}), reference);
  ops::VariableOptions step_options = reference;
  step_options.trainable = false;
  const ops::Variable step(scope.WithName("global_step"),
                           Tensor::Scalar(int64_t{0}), step_options);
  const Output sum =
      ops::Add(scope, ops::MatMul(scope, x, w), ops::Gather(scope, table, ids));
  const Output loss =
      ops::Mean(scope.WithName("loss"), ops::Square(scope, sum), {0, 1});
  train::GradientDescent optimizer(0.1f);
  SyncReplicasOptimizer sync(optimizer, {.replicas_to_aggregate = 2});
  const Operation train = sync.Minimize(scope, loss, {.global_step = step});
  const Operation tokens = sync.GetInitTokensOp(scope);
  ASSERT_OK(root.status());
  EXPECT_EQ(train.name(), "Assign_1");
  EXPECT_EQ(tokens.name(), "sync_token_q_EnqueueMany_1");
  EXPECT_EQ(Describe(root.graph()), Describe(imported.graph()));
  EXPECT_EQ(root.graph().FindNode("sync_rep_local_step")->requested_device(),
            "/job:worker/task:0");
}

// A node whose resource is shared by name.
struct SharedNode {
  std::string node, container, shared_name;
};
std::vector<SharedNode> SharedNodes(const Graph& graph) {
  std::vector<SharedNode> shared;
  for (const auto& node : graph.nodes()) {
    const auto* const name = node->attr<std::string>("shared_name");
    if (name == nullptr || name->empty()) continue;
    const auto* const container = node->attr<std::string>("container");
    shared.push_back(
        {node->name(), container == nullptr ? "" : *container, *name});
  }
  return shared;
}

// A training in another container may have variables of the same names.
TEST(SyncReplicasGraphTest, SharedResourcesUseContainerOfStep) {
  const Scope root = Scope::Root();
  const Net net(root.WithContainer("one"), {});
  train::GradientDescent optimizer(0.1f);
  SyncReplicasOptimizer sync(optimizer, {.replicas_to_aggregate = 2});
  sync.Minimize(root, net.loss, {.global_step = net.step});
  ASSERT_OK(sync.MakeSessionRunHook(true)->Begin(root));
  ASSERT_OK(root.status());
  const std::vector<SharedNode> shared = SharedNodes(root.graph());
  EXPECT_GE(shared.size(), 9u)
      << "three variables, two accumulators, three queues and a table";
  for (const SharedNode& one : shared) {
    EXPECT_EQ(one.container, "one") << one.node;
  }
}

// A training in the same container may count another step.
TEST(SyncReplicasGraphTest, QueueAndTableNamesContainStepName) {
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), 0.0f);
  const ops::Variable step(root.WithName("my_step"), int64_t{0},
                           {.trainable = false});
  train::GradientDescent optimizer(0.1f);
  SyncReplicasOptimizer sync(optimizer, {.replicas_to_aggregate = 2});
  sync.Minimize(root, ops::Square(root, w), {.global_step = step});
  ASSERT_OK(sync.MakeSessionRunHook(true)->Begin(root));
  ASSERT_OK(root.status());
  std::set<std::string> names;
  for (const SharedNode& one : SharedNodes(root.graph())) {
    names.insert(one.shared_name);
  }
  for (const char* name : {"sync_token_q", "sync_ends_q", "sync_last_end_q",
                           "sync_replicas_members"}) {
    EXPECT_THAT(names, testing::Contains(absl::StrCat("my_step/", name)));
  }
}

absl::Status StatusOf(const SyncReplicasOptions& options) {
  Replica replica(0, options);
  return replica.root.status();
}

// For the requested variables, after each update; with one replica.
TEST(SyncReplicasAveragesTest, AveragesFollowTheUpdates) {
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), 0.0f);
  const ops::Variable b(root.WithName("b"), 0.0f);
  const auto step = train::GetOrCreateGlobalStep(root);
  const Output loss =
      ops::Add(root, ops::Mul(root, w, -1.0f), ops::Mul(root, b, -1.0f));
  train::GradientDescent descent(1.0f);
  train::ExponentialMovingAverage averages(0.5f);
  train::SyncReplicasOptimizer sync(descent, {.replicas_to_aggregate = 1,
                                              .variable_averages = &averages,
                                              .variables_to_average = {w}});
  const Operation train = sync.Minimize(root, loss, {.global_step = step});
  NullLogger logger;
  MonitoredTrainingSessionOptions options;
  options.logger = &logger;
  options.hooks = {
      sync.MakeSessionRunHook(true, {.num_tokens = 0, .logger = &logger})};
  ASSERT_OK_AND_ASSIGN(const auto session,
                       MonitoredTrainingSession(root, options));
  ASSERT_OK(session->Run(train));
  ASSERT_OK(session->Run(train));
  EXPECT_FALSE(averages.Average(b)) << "it is not asked for";
  const ops::Variable average = averages.Average(w);
  ASSERT_TRUE(average);
  // The run ends by its token, the averages follow: 0.5, then 1.25 at the end.
  float value = 0;
  while (value < 1.25f) {
    ASSERT_OK_AND_ASSIGN(const Tensor now, session->Run(average));
    value = now.scalar<float>();
  }
  EXPECT_EQ(value, 1.25f);
  ASSERT_OK(session->Close());
}

TEST(SyncReplicasGraphTest, InvalidOptionsAreRejected) {
  EXPECT_OK(StatusOf({.replicas_to_aggregate = 3, .total_num_replicas = 2}));
  EXPECT_THAT(StatusOf({}),
              StatusIs(absl::StatusCode::kInvalidArgument, "must be positive"));
  EXPECT_THAT(StatusOf({.replicas_to_aggregate = 1, .total_num_replicas = 0}),
              StatusIs(absl::StatusCode::kInvalidArgument, "must be positive"));
  EXPECT_THAT(StatusOf({.replicas_to_aggregate = 2, .replica_index = 2}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "one of 2 replicas, from 0, but is 2"));
  for (const int total : {2, 4}) {
    EXPECT_THAT(
        StatusOf({.replicas_to_aggregate = 3,
                  .total_num_replicas = total,
                  .replica_index = 0}),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 absl::StrCat("so 3 of ", total, " replicas can't be")));
  }
}

TEST(SyncReplicasGraphTest, CallsOutOfOrderAreRejected) {
  const Scope root = Scope::Root();
  const Net net(root, {});
  train::GradientDescent optimizer(0.1f);
  const SyncReplicasOptions options = {.replicas_to_aggregate = 2,
                                       .total_num_replicas = 1};
  const auto new_scope = [] { return Scope::Root(); };
  SyncReplicasOptimizer unused(optimizer, options);
  EXPECT_THAT(unused.MakeSessionRunHook(true)->Begin(root),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "ApplyGradients should be called before"));
  const Scope early = new_scope();
  unused.GetInitTokensOp(early);
  EXPECT_THAT(early.status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "GetInitTokensOp() should be called after"));
  const Scope runner = new_scope();
  unused.GetChiefQueueRunner(runner);
  EXPECT_THAT(runner.status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "GetChiefQueueRunner() should be called after"));
  const Scope no_gradients = new_scope();
  unused.ApplyGradients(no_gradients, {}, {});
  EXPECT_THAT(no_gradients.status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "Must supply at least one variable"));
  SyncReplicasOptimizer sync(optimizer, options);
  sync.Minimize(root, net.loss, {.global_step = net.step});
  const train::SyncReplicasHookOptions no_waits[] = {
      {.log_waits_after = absl::ZeroDuration()},
      {.max_wait_for_chief = absl::Seconds(-1)},
      {.max_wait = absl::ZeroDuration()},
      {.max_wait_for_ended_replicas = absl::ZeroDuration()},
      {.max_wait_for_replicas = absl::ZeroDuration()}};
  for (const auto& waits : no_waits) {
    EXPECT_THAT(sync.MakeSessionRunHook(true, waits)->Begin(root),
                StatusIs(absl::StatusCode::kInvalidArgument, "must"));
  }
  EXPECT_EQ(sync.GetChiefQueueRunner(root).enqueue_ops.size(), 1u);
  ASSERT_OK(root.status());
  sync.GetInitTokensOp(root, 0);
  EXPECT_THAT(root.status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "Too few tokens to finish the first step: 0 (given) vs "
                       "1 (needed)"));
  const Scope no_step = new_scope();
  const Net other(no_step, {});
  SyncReplicasOptimizer(optimizer, options).Minimize(no_step, other.loss, {});
  EXPECT_THAT(no_step.status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                         "Global step is required"));
}

}  // namespace
}  // namespace weft
