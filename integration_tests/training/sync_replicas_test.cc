// Tests synchronous replicas on clusters: training equals that with one large
// batch. Also tests backups, lost replicas and chiefs, stop requests and saves.
#include "integration_tests/testing/sync_replicas_test.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/checkpoint/checkpoint_state.h"
#include "libs/train/sessions/training_members.h"

namespace weft::sync_replicas_tests {
namespace {

using train::MonitoredSession;
using train::MonitoredTrainingSession;
using train::SyncReplicasOptimizer;
using train::SyncReplicasOptions;

INSTANTIATE_TEST_SUITE_P(Clusters, SyncReplicasTest,
                         testing::Values(ClusterKind::kOneProcess,
                                         ClusterKind::kSockets),
                         [](const testing::TestParamInfo<ClusterKind>& kind) {
                           return ClusterKindName(kind.param);
                         });

// A reusable barrier: in each round, all threads wait for each other.
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
  // Leaves the barrier: other threads no longer wait for this one.
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

// Settings of a training in which each replica has a thread. Replicas without
// numbers wait for each other after each run. Otherwise one replica might
// contribute two gradients to an update and another none.
struct Together {
  int num_replicas = 2;
  int num_runs = 10;
  bool in_order = false;
  int num_tokens = 0;
};
Values TrainTogether(SyncReplicasTest& test, const Together& together,
                     const NetOptions& net = {}) {
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
          test.Train(replica, together.num_runs, together.num_tokens, [&] {
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

// Returns the result of a single program that trains with all batches combined.
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
  ExpectNear(TrainTogether(*this, {.num_replicas = 3}), TrainAlone(3, 10));
}

TEST_P(SyncReplicasTest, NumberedReplicasWithRefsMatchLargeBatch) {
  ExpectNear(TrainTogether(*this, {.in_order = true}, {.use_resource = false}),
             TrainAlone(2, 10));
}

TEST_P(SyncReplicasTest, ReplicasOfPartitionedTableMatchLargeBatch) {
  ExpectNear(TrainTogether(*this, {}, {.table_parts = 2}), TrainAlone(2, 10));
}

// Numbered replicas add their gradients in a fixed order, which determines the
// rounding of float sums. The second gradient of each replica, computed with an
// initial token, is dropped.
TEST_P(SyncReplicasTest, NumberedReplicasAreBitExact) {
  const Together together = {
      .num_replicas = 3, .num_runs = 21, .in_order = true, .num_tokens = -1};
  const Values once = TrainTogether(*this, together, {.dtype = DT_FLOAT});
  ASSERT_EQ(once.variables.size(), 3u);
  EXPECT_TRUE(SameBits(once.variables[2], Tensor::Scalar(int64_t{20})));
  for (int i = 0; i < 2; ++i) {
    RestartAll();
    const Values again = TrainTogether(*this, together, {.dtype = DT_FLOAT});
    ASSERT_EQ(again.variables.size(), 3u);
    for (int v = 0; v < 3; ++v) {
      EXPECT_TRUE(SameBits(once.variables[v], again.variables[v])) << v;
    }
  }
}

// As in TensorFlow, an initial token lets a replica compute its second gradient
// at step 0. This gradient is stale and is dropped.
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
  ASSERT_OK(run(1));  // computed at step 0, because its token is of step 0
  ASSERT_OK(run(2));
  while (step() == 1) {
  }
  EXPECT_EQ(step(), 2);
  ASSERT_OK(session->Close());
}

// ---- Lost replicas ----

TEST_P(SyncReplicasTest, KilledBackupCostsNoStep) {
  const SyncReplicasOptions options = {.replicas_to_aggregate = 2,
                                       .total_num_replicas = 3};
  std::vector<std::thread> threads;
  std::vector<absl::StatusOr<int64_t>> steps(2, absl::UnknownError("none"));
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      Replica replica(i, options);
      auto with = Options(replica);
      // Without recovery, a lost session or a failed run would end training.
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

TEST_P(SyncReplicasTest, OthersWaitWithoutBackupsAndLogTheWait) {
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

TEST_P(SyncReplicasTest, TrainingContinuesWithAnotherChief) {
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

// A program may return early, for example after an error of its own. This does
// not end the other replicas.
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

// A parameter server is lost after each of the two replicas has made ten runs.
TEST_P(SyncReplicasTest, TrainingContinuesAfterLossOfServer) {
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
        meeting.Wait();  // the server has been stopped
        meeting.Wait();  // the server has been restarted
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
        members.Report(*session, train::TrainingMembers::State::kTraining));
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

TEST_P(SyncReplicasTest, MissingHookIsNamedInError) {
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

TEST_P(SyncReplicasTest, StepFunctionErrorNamesMissingHook) {
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

// The chief takes no more steps, but does not report its end.
TEST_P(SyncReplicasTest, ReplicaWithoutTokenTimesOut) {
  Replica chief(0, {.replicas_to_aggregate = 2, .total_num_replicas = 2});
  auto chiefs = Options(chief);
  // There are no initial tokens. With initial tokens, the gradients of the
  // other replica alone would make an update.
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

// The other replica has ended after an update. The chief waits for its
// gradients until a stop is requested.
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

// The run ends with the initial token. The update with its gradient waits until
// the running save has ended.
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

// A session is closed while an update waits for the end of a save. The update
// must not be blocked.
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

// An update fails. The replica that waits for a token gets the error.
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

}  // namespace
}  // namespace weft::sync_replicas_tests
