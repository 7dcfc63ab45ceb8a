// Tests the end of synchronous training: the end of a chief, of the input of
// one replica, and of all training.
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "integration_tests/testing/sync_replicas_test.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/logging.h"
#include "libs/base/test_matchers.h"
#include "libs/checkpoint/checkpoint_state.h"

namespace weft::sync_replicas_tests {
namespace {

using testing::HasSubstr;
using train::MonitoredSession;
using train::MonitoredTrainingSession;
using train::MonitoredTrainingSessionOptions;
using train::SyncReplicasOptions;

// The first chief is asked to stop, and the other replica waits for the next
// chief. The second chief reaches the end of training, which also ends the
// other replica.
TEST_P(SyncReplicasTest, OtherReplicasEndWithTheTraining) {
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

// The chief is asked to stop during its last run. The other replicas wait for
// the next chief, and continue with it.
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

// A replica that logs no waits is notified of the end, too.
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

// Trains until the input of `num_rows` rows has ended or all training has
// ended. Returns the global step.
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
  // Runs one replica for each element of `rows`, the number of rows in its
  // input. The first replica is the chief.
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
  // Returns the step of the newest checkpoint, or -1 if there is no checkpoint.
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

TEST_P(EndingReplicasTest, EndOfOneReplicaEndsTraining) {
  Train({1000000, 10}, 2);
  ASSERT_OK(steps_[0]);
  // After the chief's last read of the step, gradients of other replicas may
  // lead to another update.
  EXPECT_GE(SavedStep(), *steps_[0]);
  EXPECT_THAT(Lines(), HasSubstr("have ended: /job:worker/task:1. An update "
                                 "needs gradients of 2 replicas, and left are "
                                 "1 of 2: training ends."));
}

// A hook that restarts the server of the global step before later hooks report
// the end of training.
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

// The server of the global step is restarted while a replica reports its end.
// The chief also loses its session, and sees the end in its next session.
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

// Both replicas have the same device name, which does not name a task.
TEST_P(EndingReplicasTest, ReplicasOfOneDeviceEndTogether) {
  worker_device_ = "/job:worker";
  Train({1000000, 10}, 2);
  ASSERT_OK(steps_[0]);
  // After the chief's last read of the step, gradients of other replicas may
  // lead to another update.
  EXPECT_GE(SavedStep(), *steps_[0]);
  EXPECT_THAT(Lines(), HasSubstr("have ended: /job:worker. An update"));
}

TEST_P(EndingReplicasTest, ReplicasWithoutDeviceEndTogether) {
  worker_device_ = "";
  Train({1000000, 10}, 2);
  ASSERT_OK(steps_[0]);
  // After the chief's last read of the step, gradients of other replicas may
  // lead to another update.
  EXPECT_GE(SavedStep(), *steps_[0]);
  EXPECT_THAT(Lines(), HasSubstr("have ended: a replica without device. An"));
}

TEST_P(EndingReplicasTest, EndOfChiefEndsTraining) {
  Train({10, 1000000}, 2);
  ASSERT_OK(steps_[0]);
  // After the chief's last read of the step, gradients of other replicas may
  // lead to another update.
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

// The input of the chief ends first, so it computes no more gradients. The
// second and third replicas suffice for updates until the second one has ended,
// too.
TEST_P(EndingReplicasTest, TrainingContinuesWithEnoughReplicas) {
  Train({5, 60, 1000000}, 2);
  ASSERT_OK(steps_[0]);
  EXPECT_GE(*steps_[0], 15);
  // After the chief's last read of the step, gradients of other replicas may
  // lead to another update.
  EXPECT_GE(SavedStep(), *steps_[0]);
}

// If the end of a replica cannot be recorded, the hook returns an error, and
// MonitoredSession reports the end again.
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

}  // namespace
}  // namespace weft::sync_replicas_tests
