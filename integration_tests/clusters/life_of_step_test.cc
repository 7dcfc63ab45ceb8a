// Runs steps over the simulated network, once for each message of a step. The
// message is lost with its connection, or delayed. Every call must end with the
// right value or an acceptable error, and afterwards no task may hold resources
// of the step. The same seed leads to the same run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

constexpr int kRuns = 3;
constexpr int kAttempts = 3;

// A network fault that hits one message of a run.
struct Disturbance {
  // index of the message, counted over all connections; -1: no fault
  int message = -1;
  bus::HookResult hook_result;
  // Delays all messages of the master to the other worker.
  absl::Duration delay = absl::ZeroDuration();
  bool ps_only_sends =
      // The ps has nothing more to do in the step after its send.
      false;
};

struct Outcome {
  int messages = 0;
  int64_t choices = 0;
  uint64_t trace = 0;
  std::vector<std::string> statuses;  // of each call, in order
  std::vector<float> values;          // of the successful runs
  // Describes leaked resources. Empty if nothing was leaked.
  std::string left;
};

// Builds a graph with an edge between each pair of tasks, a control edge, and a
// dead value.
struct Program {
  Scope root = Scope::Root();
  ops::Variable x{root.WithDevice("/job:ps/task:0/cpu:0").WithName("x"), 1.0f};
  Output feed =
      ops::Placeholder(root.WithDevice("/job:worker/task:1/cpu:0"), DT_FLOAT);
  Output doubled =
      ops::Mul(root.WithDevice("/job:worker/task:1/cpu:0"), x, feed);
  Output sum =
      ops::Add(root.WithDevice("/job:worker/task:0/cpu:0"), x, doubled);
  Output back = ops::Identity(
      root.WithDevice("/job:ps/task:0/cpu:0").WithControlDependencies({sum}),
      doubled);
};

// Returns whether a network fault may lead to `status`: OK, or a code that
// tells the caller to retry.
bool IsClean(const absl::Status& status) {
  return status.ok() || absl::IsUnavailable(status) ||
         absl::IsAborted(status) || absl::IsDeadlineExceeded(status);
}

class Story {
 public:
  explicit Story(const Disturbance& disturbance, uint64_t seed)
      : ps_only_sends_(disturbance.ps_only_sends),
        cluster_({.kind = ClusterKind::kSimulated,
                  .jobs = {{"ps", 1}, {"worker", 2}},
                  .seed = seed,
                  .lease = absl::Minutes(1)}) {
    cluster_.network().set_hook(
        [this, disturbance](const bus::MessageInfo& message) {
          if (outcome_.messages++ == disturbance.message)
            return disturbance.hook_result;
          const bool is_late = message.from == TaskName("worker", 0) &&
                               message.to == TaskName("worker", 1);
          return is_late ? bus::HookResult{.delay = disturbance.delay}
                         : bus::HookResult{};
        });
  }

  Outcome Tell() {
    RunClient();
    // After five minutes, leases have expired and waits for a lost task have
    // ended.
    cluster_.scheduler().AdvanceBy(absl::Minutes(5));
    outcome_.left = DescribeLeaks();
    outcome_.trace = cluster_.scheduler().trace_hash();
    outcome_.choices = cluster_.scheduler().num_steps();
    return outcome_;
  }

 private:
  void Note(const absl::Status& status) {
    EXPECT_TRUE(IsClean(status)) << status;
    outcome_.statuses.push_back(status.ToString());
  }

  void RunClient() {
    auto session = Session::Connect(cluster_.target("worker", 0), program_.root,
                                    cluster_.session_options());
    Note(session.status());
    if (!session.ok()) return;
    // If initialization fails, it is repeated until the variable exists.
    absl::Status initialised;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      initialised = (*session)->Run(program_.x.initializer());
      Note(initialised);
      if (initialised.ok()) break;
      cluster_.scheduler().AdvanceBy(absl::Seconds(10));
    }
    ASSERT_OK(initialised);
    for (int i = 0; i < kRuns; ++i) {
      std::vector<Output> fetches = {program_.sum};
      if (!ps_only_sends_) fetches.push_back(program_.back);
      auto values =
          (*session)->Run({{program_.feed, Tensor::Scalar(2.0f)}}, fetches);
      Note(values.status());
      if (values.ok()) outcome_.values.push_back((*values)[0].scalar<float>());
    }
    Note((*session)->Close());
  }

  std::string DescribeLeaks() {
    std::string left;
    for (const auto& [job, tasks] : cluster_.spec().jobs()) {
      for (const auto& [index, address] : tasks) {
        TaskRuntime& runtime = cluster_.server(job, index).runtime();
        const StepTable::Size steps = runtime.steps();
        if (steps.running + steps.waiting + runtime.num_sessions() == 0) {
          continue;
        }
        absl::StrAppend(&left, TaskName(job, index), ": ", steps.running,
                        " running, ", steps.waiting, " waiting, ",
                        runtime.num_sessions(), " sessions; ");
      }
    }
    return left;
  }

  const bool ps_only_sends_;
  Program program_;
  Outcome outcome_;
  TestCluster cluster_;
};

Outcome Tell(const Disturbance& disturbance, uint64_t seed) {
  return Story(disturbance, seed).Tell();
}

TEST(LifeOfStepTest, UndisturbedStepReturnsValues) {
  const Outcome outcome = Tell({}, 1);
  EXPECT_EQ(outcome.values, std::vector<float>(kRuns, 3.0f));
  EXPECT_THAT(outcome.statuses, testing::Each("OK"));
  EXPECT_EQ(outcome.left, "");
  EXPECT_GT(outcome.messages, 30);
}

TEST(LifeOfStepTest, TheSameSeedGivesTheSameRun) {
  for (uint64_t seed : {1, 2, 3}) {
    const Outcome first = Tell({}, seed);
    const Outcome second = Tell({}, seed);
    EXPECT_EQ(first.trace, second.trace);
    EXPECT_EQ(first.choices, second.choices);
    EXPECT_EQ(first.messages, second.messages);
  }
  EXPECT_NE(Tell({}, 1).trace, Tell({}, 2).trace);
}

void DisturbEachMessage(const bus::HookResult& hook_result, uint64_t seed) {
  const int messages = Tell({}, seed).messages;
  for (int i = 0; i < messages; ++i) {
    SCOPED_TRACE(absl::StrCat("message ", i, " of ", messages));
    const Outcome outcome =
        Tell({.message = i, .hook_result = hook_result}, seed);
    EXPECT_EQ(outcome.left, "");
    for (float value : outcome.values) EXPECT_EQ(value, 3.0f);
  }
}

TEST(LifeOfStepTest, ConnectionLostWithAnyMessageIsClean) {
  DisturbEachMessage({.fate = bus::Fate::kCutHere}, 1);
}

TEST(LifeOfStepTest, ConnectionLostAfterAnyMessageIsClean) {
  DisturbEachMessage({.fate = bus::Fate::kCutAfter}, 2);
}

// A value may be lost after the step has ended on its sender and before it
// begins on its receiver. Then only the sender can report the loss.
TEST(LifeOfStepTest, ConnectionLostWhileOneTaskIsLateIsClean) {
  const Disturbance late = {.delay = absl::Seconds(2), .ps_only_sends = true};
  const int messages = Tell(late, 4).messages;
  for (int i = 0; i < messages; ++i) {
    SCOPED_TRACE(absl::StrCat("message ", i, " of ", messages));
    Disturbance lost = late;
    lost.message = i;
    lost.hook_result = {.fate = bus::Fate::kCutHere};
    const Outcome outcome = Tell(lost, 4);
    EXPECT_EQ(outcome.left, "");
    for (float value : outcome.values) EXPECT_EQ(value, 3.0f);
    EXPECT_THAT(outcome.statuses,
                testing::Each(testing::Not(testing::HasSubstr("DEADLINE"))));
  }
}

TEST(LifeOfStepTest, AnyMessageMayBeLate) {
  const bus::HookResult late = {.delay = absl::Seconds(5)};
  const int messages = Tell({}, 3).messages;
  for (int i = 0; i < messages; ++i) {
    SCOPED_TRACE(absl::StrCat("message ", i, " of ", messages));
    const Outcome outcome = Tell({.message = i, .hook_result = late}, 3);
    EXPECT_EQ(outcome.values, std::vector<float>(kRuns, 3.0f));
    EXPECT_EQ(outcome.left, "");
  }
}

}  // namespace
}  // namespace weft
