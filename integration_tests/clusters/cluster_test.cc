// Tests sessions on a cluster from a user's perspective. Its tasks are in one
// process, connected by sockets, or connected by a simulated network.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr char kPs[] = "/job:ps/task:0/cpu:0";
constexpr char kWorker0[] = "/job:worker/task:0/cpu:0";
constexpr char kWorker1[] = "/job:worker/task:1/cpu:0";

class ClusterTest : public ::testing::TestWithParam<ClusterKind> {
 protected:
  std::unique_ptr<Session> Connect(const Scope& scope, const std::string& job,
                                   int index) {
    auto session = Session::Connect(cluster_.target(job, index), scope,
                                    cluster_.session_options());
    EXPECT_TRUE(session.ok()) << session.status();
    return session.ok() ? *std::move(session) : nullptr;
  }
  // Checks that no task has leftover steps or values.
  void ExpectNothingLeft() {
    for (const auto& [job, tasks] : cluster_.spec().jobs()) {
      for (const auto& [index, address] : tasks) {
        const StepTable::Size steps =
            cluster_.server(job, index).runtime().steps();
        EXPECT_EQ(steps.running, 0) << job << index;
        EXPECT_EQ(steps.waiting, 0) << job << index;
        EXPECT_EQ(steps.waiting_bytes, 0) << job << index;
      }
    }
  }

  TestCluster cluster_{
      {.kind = GetParam(), .jobs = {{"ps", 1}, {"worker", 2}}}};
  Scope root_ = Scope::Root();
};

float ScalarOf(const absl::StatusOr<Tensor>& value) {
  EXPECT_TRUE(value.ok()) << value.status();
  return value.ok() ? value->scalar<float>() : -1e30f;
}

TEST_P(ClusterTest, StringConstantIsSentBetweenTasks) {
  Output hello = ops::Const(root_, "Hello distributed Weft!");
  auto session = Connect(root_, "worker", 0);
  ASSERT_OK_AND_ASSIGN(Tensor value, session->Run(hello));
  EXPECT_EQ(value.scalar<std::string>(), "Hello distributed Weft!");
}

TEST_P(ClusterTest, VariablesOutliveSessionsAndAreShared) {
  ops::Variable x(root_.WithDevice(kPs).WithName("x"), 1.0f);
  Output increment = ops::AssignAdd(root_, x, 1.0f);
  {
    auto first = Connect(root_, "worker", 0);
    ASSERT_OK(first->Run(x.initializer()));
    ASSERT_OK(first->Run(increment));
  }
  auto second = Connect(root_, "worker", 1);
  EXPECT_EQ(ScalarOf(second->Run(x)), 2.0f);
  auto third = Connect(root_, "ps", 0);
  ASSERT_OK(third->Run(increment));
  EXPECT_EQ(ScalarOf(second->Run(x)), 3.0f);
}

TEST_P(ClusterTest, ValuesAreSentBetweenTasks) {
  ops::Variable a(root_.WithDevice(kPs).WithName("a"), 1.0f);
  Output b = ops::Add(root_.WithDevice(kWorker0), a, 2.0f);
  Output c = ops::Add(root_.WithDevice(kWorker1), a, b);
  for (const auto& [job, index] :
       {std::pair("worker", 0), std::pair("worker", 1), std::pair("ps", 0)}) {
    auto session = Connect(root_, job, index);
    ASSERT_OK(session->Run(a.initializer()));
    for (int i = 0; i < 10; ++i) EXPECT_EQ(ScalarOf(session->Run(c)), 4.0f);
  }
  ExpectNothingLeft();
}

TEST_P(ClusterTest, FeedsAndFetchesOnAnyTask) {
  Output x = ops::Placeholder(root_.WithDevice(kWorker1), DT_FLOAT);
  Output y = ops::Mul(root_.WithDevice(kWorker1), x, 2.0f);
  Output z = ops::Mul(root_.WithDevice(kPs), x, 3.0f);
  auto session = Connect(root_, "worker", 0);
  ASSERT_OK_AND_ASSIGN(auto values, session->Run({{x, Tensor::Scalar(5.0f)}},
                                                 {y, z, x == x ? y : z}));
  EXPECT_EQ(values[0].scalar<float>(), 10.0f);
  EXPECT_EQ(values[1].scalar<float>(), 15.0f);
}

TEST_P(ClusterTest, LargeFeedsAndFetchesArriveComplete) {
  Output x = ops::Placeholder(root_.WithDevice(kPs), DT_FLOAT);
  Output y = ops::Neg(root_.WithDevice(kWorker1), x);
  auto session = Connect(root_, "worker", 0);
  Tensor large(DT_FLOAT, TensorShape({1500, 1000}));
  absl::Span<float> values = large.mutable_flat<float>();
  std::iota(values.begin(), values.end(), 0.0f);
  ASSERT_OK_AND_ASSIGN(Tensor result, session->Run({{x, large}}, y));
  ASSERT_EQ(result.shape(), large.shape());
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(result.flat<float>()[i], -values[i]) << i;
  }
}

TEST_P(ClusterTest, ControlEdgesOrderAcrossTasks) {
  ops::Variable x(root_.WithDevice(kPs).WithName("x"), 0.0f);
  Output increment = ops::AssignAdd(root_, x, 1.0f);
  const Scope after =
      root_.WithDevice(kWorker0).WithControlDependencies({increment});
  Output ran =
      ops::Identity(after, ops::Const(root_.WithDevice(kWorker1), 7.0f));
  const Scope last = root_.WithDevice(kPs).WithControlDependencies({ran});
  Output read = ops::Identity(last, x.Read(last));
  auto session = Connect(root_, "worker", 1);
  ASSERT_OK(session->Run(x.initializer()));
  for (int i = 1; i <= 20; ++i) {
    EXPECT_EQ(ScalarOf(session->Run(read)), static_cast<float>(i));
  }
}

TEST_P(ClusterTest, DeadValuesCrossTasks) {
  Output predicate = ops::Placeholder(root_.WithDevice(kWorker0), DT_BOOL);
  ops::SwitchOutputs branches =
      ops::Switch(root_.WithDevice(kPs),
                  ops::Const(root_.WithDevice(kPs), 1.0f), predicate);
  Output no =
      ops::Add(root_.WithDevice(kWorker0), branches.output_false, 10.0f);
  Output yes =
      ops::Add(root_.WithDevice(kWorker1), branches.output_true, 20.0f);
  Output merged = ops::Merge(root_.WithDevice(kPs), {no, yes}).output;
  auto session = Connect(root_, "worker", 0);
  EXPECT_EQ(ScalarOf(session->Run({{predicate, Tensor::Scalar(true)}}, merged)),
            21.0f);
  EXPECT_EQ(
      ScalarOf(session->Run({{predicate, Tensor::Scalar(false)}}, merged)),
      11.0f);
  ExpectNothingLeft();
}

TEST_P(ClusterTest, ErrorNamesNodeAndKeepsSessionUsable) {
  Output x = ops::Placeholder(root_.WithDevice(kWorker1), DT_INT32);
  Output zero = ops::Const(root_.WithDevice(kPs), 0);
  Output bad = ops::FloorDiv(root_.WithDevice(kPs).WithName("bad"), x, zero);
  Output sum = ops::Add(root_.WithDevice(kWorker0), bad, x);
  auto session = Connect(root_, "worker", 0);
  for (int i = 0; i < 3; ++i) {
    auto result = session->Run({{x, Tensor::Scalar(int32_t{1})}}, sum);
    EXPECT_THAT(result.status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                          "Integer division by zero"));
    EXPECT_THAT(std::string(result.status().message()),
                HasSubstr("[[node bad"));
  }
  ASSERT_OK_AND_ASSIGN(Tensor again, session->Run(zero));
  EXPECT_EQ(again.scalar<int32_t>(), 0);
  ExpectNothingLeft();
}

TEST_P(ClusterTest, RemoteUninitializedVariableIsNamed) {
  ops::Variable x(root_.WithDevice(kPs).WithName("lonely"), 0.0f);
  Output y = ops::Add(root_.WithDevice(kWorker1), x, 1.0f);
  auto session = Connect(root_, "worker", 0);
  EXPECT_THAT(session->Run(y),
              StatusIs(absl::StatusCode::kFailedPrecondition, "lonely"));
}

TEST_P(ClusterTest, GraphCanBeExtendedBetweenRuns) {
  Output a = ops::Const(root_.WithDevice(kPs), 1.0f);
  auto session = Connect(root_, "worker", 0);
  EXPECT_EQ(ScalarOf(session->Run(a)), 1.0f);
  Output b = ops::Add(root_.WithDevice(kWorker1), a, 1.0f);
  EXPECT_EQ(ScalarOf(session->Run(b)), 2.0f);
  Output c = ops::Add(root_.WithDevice("/job:worker/task:7"), b, 1.0f);
  EXPECT_THAT(session->Run(c), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_P(ClusterTest, CallablesRunFromManyThreadsAtOnce) {
  ops::Variable x(root_.WithDevice(kPs).WithName("x"), 0.0f);
  Output increment = ops::AssignAdd(root_.WithDevice(kPs), x, 1.0f);
  auto session = Connect(root_, "worker", 0);
  ASSERT_OK(session->Run(x.initializer()));
  ASSERT_OK_AND_ASSIGN(auto step, session->MakeCallable({}, {increment}));
  constexpr int kRunners = 8;
  constexpr int kRuns = 25;
  Scheduler& scheduler = session->scheduler();
  std::vector<std::unique_ptr<Event>> done;
  for (int t = 0; t < kRunners; ++t) {
    done.push_back(scheduler.NewEvent());
    scheduler.Schedule(Pool::kBlocking, [&step, event = done.back().get()] {
      for (int i = 0; i < kRuns; ++i) EXPECT_TRUE(step->Run().ok());
      event->Set();
    });
  }
  for (auto& event : done) event->Wait();
  EXPECT_EQ(ScalarOf(session->Run(x)), kRunners * kRuns);
  ExpectNothingLeft();
}

TEST_P(ClusterTest, AsynchronousRunsInvokeCallback) {
  Output x = ops::Placeholder(root_.WithDevice(kWorker1), DT_FLOAT);
  Output y = ops::Mul(root_.WithDevice(kPs), x, 2.0f);
  auto session = Connect(root_, "worker", 0);
  ASSERT_OK_AND_ASSIGN(auto step, session->MakeCallable({x}, {y}));
  auto done = session->scheduler().NewEvent();
  absl::StatusOr<std::vector<Tensor>> result;
  step->RunAsync({Tensor::Scalar(4.0f)},
                 [&](absl::StatusOr<std::vector<Tensor>> fetched) {
                   result = std::move(fetched);
                   done->Set();
                 });
  done->Wait();
  ASSERT_OK(result);
  EXPECT_EQ((*result)[0].scalar<float>(), 8.0f);
}

TEST_P(ClusterTest, IsolatedSessionsHaveTheirOwnVariables) {
  ops::Variable x(root_.WithDevice(kPs).WithName("x"), 1.0f);
  auto shared = Connect(root_, "worker", 0);
  ASSERT_OK(shared->Run(x.initializer()));
  SessionOptions options = cluster_.session_options();
  options.isolate_session_state = true;
  ASSERT_OK_AND_ASSIGN(
      auto isolated,
      Session::Connect(cluster_.target("worker", 0), root_, options));
  EXPECT_THAT(isolated->Run(x),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_P(ClusterTest, ResetDropsVariablesAndAbortsSessions) {
  ops::Variable x(root_.WithDevice(kPs).WithName("x"), 1.0f);
  auto session = Connect(root_, "worker", 0);
  ASSERT_OK(session->Run(x.initializer()));
  ASSERT_OK(Session::Reset(cluster_.target("worker", 0), {},
                           cluster_.session_options()));
  EXPECT_THAT(session->Run(x), StatusIs(absl::StatusCode::kAborted));
  auto another = Connect(root_, "worker", 0);
  EXPECT_THAT(another->Run(x), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_P(ClusterTest, ResetEndsSessionsOfOtherMasters) {
  const Scope in_box = root_.WithDevice(kPs).WithContainer("box");
  const ops::Variable x(in_box.WithName("x"), 1.0f);
  const Output queue = ops::FIFOQueue(
      in_box, {DT_FLOAT},
      {.shapes = {PartialShape::Scalar()}, .shared_name = "gate"});
  const Output taken = ops::QueueDequeue(in_box, queue, {DT_FLOAT})[0];
  const ops::Variable y(root_.WithDevice(kPs).WithName("y"), 1.0f);
  const auto user = Connect(root_, "worker", 1);
  const auto waiting = Connect(root_, "worker", 1);
  const auto other = Connect(root_, "worker", 1);
  ASSERT_OK(user->Run(x.initializer()));
  ASSERT_OK(other->Run(y.initializer()));
  absl::Status held;
  const auto ended = waiting->scheduler().NewEvent();
  ASSERT_OK_AND_ASSIGN(const auto wait, waiting->MakeCallable({}, {taken}));
  wait->RunAsync({}, [&](const absl::StatusOr<std::vector<Tensor>>& result) {
    held = result.status();
    ended->Set();
  });
  ASSERT_OK(Session::Reset(cluster_.target("worker", 0), {"box"},
                           cluster_.session_options()));
  ended->Wait();
  EXPECT_THAT(held, StatusIs(absl::StatusCode::kAborted,
                             "reset by another task's master has cleared"));
  EXPECT_THAT(user->Run(x), StatusIs(absl::StatusCode::kAborted));
  EXPECT_EQ(ScalarOf(other->Run(y)), 1.0f);
}

TEST_P(ClusterTest, AllDevicesAreListed) {
  auto session = Connect(root_, "worker", 0);
  ASSERT_OK_AND_ASSIGN(auto devices, session->ListDevices());
  std::vector<std::string> names;
  for (const DeviceAttributes& device : devices) names.push_back(device.name);
  EXPECT_EQ(names.size(), 3u);
  EXPECT_THAT(names, Contains("/job:worker/replica:0/task:1/device:CPU:0"));
}

TEST_P(ClusterTest, SessionIgnoresTasksItFiltersOut) {
  cluster_.Stop("worker", 1);
  Output a = ops::Const(root_.WithDevice(kPs), 1.0f);
  SessionOptions options = cluster_.session_options();
  options.device_filters = {"/job:ps", "/job:worker/task:0"};
  ASSERT_OK_AND_ASSIGN(
      auto session,
      Session::Connect(cluster_.target("worker", 0), root_, options));
  EXPECT_EQ(ScalarOf(session->Run(a)), 1.0f);
}

TEST_P(ClusterTest, RestartedTaskAbortsTheSession) {
  ops::Variable x(root_.WithDevice(kPs).WithName("x"), 1.0f);
  Output y = ops::Add(root_.WithDevice(kWorker0), x, 1.0f);
  auto session = Connect(root_, "worker", 0);
  ASSERT_OK(session->Run(x.initializer()));
  EXPECT_EQ(ScalarOf(session->Run(y)), 2.0f);
  cluster_.Stop("ps", 0);
  EXPECT_THAT(session->Run(y), StatusIs(absl::StatusCode::kUnavailable));
  cluster_.Start("ps", 0);
  // A new session waits for the restarted task, which has lost its variables.
  auto another = Connect(root_, "worker", 0);
  EXPECT_THAT(another->Run(y),
              StatusIs(absl::StatusCode::kFailedPrecondition, "x"));
  EXPECT_THAT(session->Run(y), StatusIs(absl::StatusCode::kAborted));
}

TEST_P(ClusterTest, StoppedServerRejectsRuns) {
  Output a = ops::Const(root_.WithDevice(kWorker0), 1.0f);
  auto session = Connect(root_, "worker", 0);
  EXPECT_EQ(ScalarOf(session->Run(a)), 1.0f);
  ASSERT_OK(cluster_.server("worker", 0).Stop());
  ASSERT_OK(cluster_.server("worker", 0).Join());
  EXPECT_FALSE(session->Run(a).ok());
}

INSTANTIATE_TEST_SUITE_P(All, ClusterTest,
                         ::testing::ValuesIn(kAllClusterKinds),
                         [](const auto& kind) {
                           return ClusterKindName(kind.param);
                         });

}  // namespace
}  // namespace weft
