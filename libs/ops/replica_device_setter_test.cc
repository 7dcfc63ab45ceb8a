#include "libs/ops/replica_device_setter.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/state/get_variable.h"
#include "libs/ops/state/partitioned_variable.h"
#include "libs/ops/state/variable.h"

namespace weft {
namespace {

using testing::ElementsAre;

const ClusterSpec& Cluster() {
  static const ClusterSpec* const cluster = new ClusterSpec{
      {"ps", {"ps0:2222", "ps1:2222"}}, {"worker", {"w0:2222", "w1:2222"}}};
  return *cluster;
}

std::string Device(const Operation& operation) {
  return operation ? operation.node()->requested_device() : "error";
}

std::string NewVariable(const Scope& scope) {
  return Device(ops::Variable(scope, 1.0f).handle());
}

std::string NewConst(const Scope& scope) {
  return Device(scope.ToOutput(1.0f));
}

TEST(ReplicaDeviceSetterTest, VariablesGoToPsTasksRoundRobin) {
  const Scope root = Scope::Root();
  const Scope model =
      root.WithDeviceFunction(ReplicaDeviceSetter({.ps_tasks = 2}));
  std::vector<std::string> devices;
  for (int i = 0; i < 5; ++i) devices.push_back(NewVariable(model));
  EXPECT_THAT(devices,
              ElementsAre("/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0",
                          "/job:ps/task:1", "/job:ps/task:0"));
  EXPECT_EQ(NewConst(model), "/job:worker");
  EXPECT_OK(root.status());
}

TEST(ReplicaDeviceSetterTest, InitialisersAndReadsGoWithTheVariable) {
  for (const bool use_resource : {false, true}) {
    const Scope root = Scope::Root();
    const Scope model =
        root.WithDeviceFunction(ReplicaDeviceSetter({.cluster = Cluster()}));
    NewVariable(model);
    const ops::Variable second(model, 2.0f, {.use_resource = use_resource});
    ASSERT_OK(root.status());
    EXPECT_EQ(Device(second.handle()), "/job:ps/task:1");
    EXPECT_EQ(Device(second.initializer()), "/job:ps/task:1");
    EXPECT_EQ(Device(second.value()), "/job:ps/task:1");
    // The round-robin index advances once per variable, not for each of its
    // nodes.
    EXPECT_EQ(NewVariable(model), "/job:ps/task:0");
  }
}

TEST(ReplicaDeviceSetterTest, InnerScopesWinPartByPart) {
  const Scope root = Scope::Root();
  const Scope model = root.WithDeviceFunction(ReplicaDeviceSetter(
      {.ps_tasks = 2, .ps_device = "/job:ps", .worker_device = "/job:worker"}));
  const ops::Variable v1(model, 1.0f), v2(model, 2.0f);
  const Output s = ops::Add(model, v1, v2);
  const Scope task = model.WithDevice("/task:1");
  EXPECT_EQ(Device(s), "/job:worker");
  EXPECT_EQ(Device(ops::Mul(task, 2.0f, s)), "/job:worker/task:1");
  EXPECT_EQ(Device(ops::Mul(task.WithDevice("/cpu:0"), 3.0f, s)),
            "/job:worker/task:1/device:CPU:0");
  EXPECT_EQ(NewConst(model.WithDevice("/job:other/task:3")),
            "/job:other/task:3");
  EXPECT_EQ(NewConst(model.WithoutDevice()), "");
}

TEST(ReplicaDeviceSetterTest, OuterScopesFillMissingFields) {
  const Scope root = Scope::Root();
  const Scope model =
      root.WithDevice("/job:outer/task:7/cpu:1")
          .WithDeviceFunction(ReplicaDeviceSetter({.ps_tasks = 2}));
  EXPECT_EQ(NewVariable(model), "/job:ps/task:0/device:CPU:1");
  EXPECT_EQ(NewConst(model), "/job:worker/task:7/device:CPU:1");
}

// As in TensorFlow, the strategy is called unless an inner scope names another
// job, even if that scope also names the task.
TEST(ReplicaDeviceSetterTest, VariablesOfOtherJobsAreNotCounted) {
  const Scope root = Scope::Root();
  const Scope model =
      root.WithDeviceFunction(ReplicaDeviceSetter({.cluster = Cluster()}));
  EXPECT_EQ(NewVariable(model.WithDevice("/job:worker")), "/job:worker");
  EXPECT_EQ(NewVariable(model), "/job:ps/task:0");
  EXPECT_EQ(NewVariable(model.WithDevice("/job:ps/task:0/cpu:1")),
            "/job:ps/task:0/device:CPU:1");
  EXPECT_EQ(NewVariable(model.WithDevice("/job:ps")), "/job:ps/task:0");
  EXPECT_EQ(NewVariable(model.WithDevice("/gpu:0")),
            "/job:ps/task:1/device:GPU:0");
}

TEST(ReplicaDeviceSetterTest, InnerDevicesAreUnchangedWithoutMerging) {
  const Scope root = Scope::Root();
  const Scope model = root.WithDeviceFunction(
      ReplicaDeviceSetter({.ps_tasks = 2, .merge_devices = false}));
  EXPECT_EQ(NewConst(model.WithDevice("/cpu:0")), "/device:CPU:0");
  EXPECT_EQ(NewVariable(model.WithDevice("/cpu:0")), "/device:CPU:0");
  EXPECT_EQ(NewVariable(model), "/job:ps/task:0");
  EXPECT_EQ(NewConst(model), "/job:worker");
}

TEST(ReplicaDeviceSetterTest, CountsTheTasksOfTheJobInPsDevice) {
  ClusterSpec cluster{{"params", {"a:1"}}};
  ASSERT_OK(cluster.AddTask("params", 4, "b:1"));
  const Scope root = Scope::Root();
  const Scope model = root.WithDeviceFunction(
      ReplicaDeviceSetter({.ps_tasks = 7,
                           .ps_device = "/job:params/cpu:0",
                           .worker_device = "/job:worker/task:3",
                           .cluster = cluster}));
  EXPECT_EQ(NewVariable(model), "/job:params/task:0/device:CPU:0");
  EXPECT_EQ(NewVariable(model), "/job:params/task:4/device:CPU:0");
  EXPECT_EQ(NewVariable(model), "/job:params/task:0/device:CPU:0");
  EXPECT_EQ(NewConst(model), "/job:worker/task:3");
}

TEST(ReplicaDeviceSetterTest, DevicesAreUnchangedWithoutPsTasks) {
  const Scope root = Scope::Root().WithDevice("/job:here");
  const ClusterSpec workers{{"worker", {"a:1"}}};
  for (const auto& setter :
       {ReplicaDeviceSetter({}), ReplicaDeviceSetter({.cluster = workers}),
        ReplicaDeviceSetter({.ps_device = "", .cluster = Cluster()})}) {
    ASSERT_OK(setter);
    EXPECT_FALSE(*setter);
    EXPECT_EQ(NewVariable(root.WithDeviceFunction(setter)), "/job:here");
  }
  // If ps tasks but no device for them is given, a variable is on the worker.
  EXPECT_EQ(NewVariable(root.WithDeviceFunction(
                ReplicaDeviceSetter({.ps_tasks = 2, .ps_device = ""}))),
            "/job:worker");
}

TEST(ReplicaDeviceSetterTest, PsOpsAndStrategyCanBeChosen) {
  const Scope root = Scope::Root();
  const Scope model = root.WithDeviceFunction(
      ReplicaDeviceSetter({.ps_tasks = 2,
                           .worker_device = "",
                           .ps_ops = {"Const"},
                           .strategy = [](const NodeSpec&) { return 1; }}));
  EXPECT_EQ(NewConst(model), "/job:ps/task:1");
  EXPECT_EQ(NewVariable(model), "");
}

// The parts of a partitioned variable are placed as separate variables.
TEST(ReplicaDeviceSetterTest, PartsOfAVariableGoRoundRobin) {
  const Scope root = Scope::Root();
  const Scope model =
      root.WithDeviceFunction(ReplicaDeviceSetter({.ps_tasks = 3}));
  const auto embedding = ops::GetPartitionedVariable(
      model, "embedding", {9, 2},
      {.partitioner = ops::FixedSizePartitioner(3)});
  std::vector<std::string> devices;
  for (const ops::Variable& part : embedding.parts()) {
    devices.push_back(Device(part.handle()));
  }
  EXPECT_THAT(devices, ElementsAre("/job:ps/task:0", "/job:ps/task:1",
                                   "/job:ps/task:2"));
}

TEST(ReplicaDeviceSetterTest, BalancesBytes) {
  const Scope root = Scope::Root();
  const Scope model = root.WithDeviceFunction(
      ReplicaDeviceSetter({.ps_tasks = 3, .strategy = GreedyLoadBalancing(3)}));
  std::vector<std::string> devices;
  for (const auto& [name, shape] :
       std::vector<std::pair<const char*, PartialShape>>{
           {"weights_1", {784, 100}},
           {"biases_1", {100}},
           {"weights_2", {100, 10}},
           {"biases_2", {10}}}) {
    devices.push_back(Device(ops::GetVariable(model, name, shape).handle()));
  }
  EXPECT_THAT(devices, ElementsAre("/job:ps/task:0", "/job:ps/task:1",
                                   "/job:ps/task:2", "/job:ps/task:1"));
}

TEST(ReplicaDeviceSetterTest, ErrorsStickToTheScope) {
  const struct {
    ReplicaDeviceSetterOptions options;
    const char* says;
  } cases[] = {{{.ps_tasks = -1}, "ps_tasks is -1"},
               {{.ps_tasks = 1, .ps_device = "/nonsense"}, "ps_device"},
               {{.ps_tasks = 1, .worker_device = "/gpu:x"}, "worker_device"}};
  for (const auto& c : cases) {
    const Scope root = Scope::Root();
    const Scope model = root.WithDeviceFunction(ReplicaDeviceSetter(c.options));
    EXPECT_THAT(root.status(), StatusIs(kInvalid, c.says));
    EXPECT_EQ(NewVariable(model), "error");
  }
}

TEST(ReplicaDeviceSetterTest, ErrorsOfTheStrategyNameTheVariable) {
  const struct {
    PsStrategy strategy;
    const char* says;
  } cases[] = {
      {[](const NodeSpec&) { return 2; }, "'w' on task 2 of /job:ps"},
      {[](const NodeSpec&) { return -1; }, "which has 2 tasks"},
      {[](const NodeSpec&) { return absl::NotFoundError("no"); }, "'w'"}};
  for (const auto& c : cases) {
    const Scope root = Scope::Root();
    const Scope model = root.WithDeviceFunction(
        ReplicaDeviceSetter({.ps_tasks = 2, .strategy = c.strategy}));
    EXPECT_EQ(NewVariable(model.WithName("w")), "error");
    EXPECT_FALSE(root.ok());
    EXPECT_NE(root.status().ToString().find(c.says), std::string::npos)
        << root.status();
  }
}

}  // namespace
}  // namespace weft
