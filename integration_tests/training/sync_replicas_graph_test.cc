// Tests the graph of synchronous replicas. Its nodes equal those of TensorFlow,
// its shared names are unique to one training, and misuse is rejected.
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "integration_tests/testing/sync_replicas_test.h"
#include "libs/api/weft.h"
#include "libs/base/logging.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/local_file_system.h"
#include "libs/graph/import/graph_def.h"

namespace weft::sync_replicas_tests {
namespace {

using train::MonitoredTrainingSession;
using train::MonitoredTrainingSessionOptions;
using train::SyncReplicasOptimizer;
using train::SyncReplicasOptions;

// Returns whether SyncReplicasOptimizer added the node. Nodes that update a
// variable belong to the inner optimizer.
bool IsOfSync(const Node& node) {
  if (absl::StartsWith(node.name(), "GradientDescent/update_")) return false;
  for (const char* prefix :
       {"sync_", "NoOp", "Assign", "Fill", "GradientDescent"}) {
    if (absl::StartsWith(node.name(), prefix)) return true;
  }
  return false;
}

std::string InputName(const OutputTensor& input) {
  // Gives gradients and ids one name, because TensorFlow's gradient reshapes
  // the ids, while Weft's uses them unchanged.
  return absl::StartsWith(input.node->name(), "gradients/") ||
                 input.node->name() == "ids"
             ? "a gradient"
             : absl::StrCat(input.node->name(), ":", input.index);
}

// Returns the control inputs of the node. Omits those that are also control
// inputs of its data inputs, as TensorFlow does.
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

// Returns a line for each node of SyncReplicasOptimizer, with its name, op,
// inputs and control inputs.
std::set<std::string> Describe(const Graph& graph) {
  std::set<std::string> lines;
  for (const auto& node : graph.nodes()) {
    if (!IsOfSync(*node)) continue;
    // Skips the node that closes the queue permanently when the threads of a
    // chief stop.
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

// A node with a resource that tasks share by name.
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

// Two trainings with the same variable names may use different containers. The
// queue and accumulators must be in the container of the global step.
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

// Two trainings in one container may use different global steps. The names of
// queue and table must contain the name of the step.
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

// With one replica, the moving averages of the requested variables are updated
// after each update.
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
  // The run ends when it gets its token. The averages are updated later: first
  // 0.5, and finally 1.25.
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
}  // namespace weft::sync_replicas_tests
