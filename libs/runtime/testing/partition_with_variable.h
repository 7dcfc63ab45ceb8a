// Test graphs for a TaskRuntime: they access a float variable "v", assign
// variables, dequeue, or send a value.
#ifndef WEFT_LIBS_RUNTIME_TESTING_PARTITION_WITH_VARIABLE_H_
#define WEFT_LIBS_RUNTIME_TESTING_PARTITION_WITH_VARIABLE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/graph/graph.h"
#include "libs/ops/standard_ops.h"
#include "libs/protocol/worker/worker.h"
#include "libs/tensor/tensor.h"

namespace weft {

// Returns a partition for the first CPU of `task` that applies `op` to the
// variable. The op has the variable's handle as input and, unless it is a
// ReadVariableOp, a float. An empty container stands for the default container.
inline std::vector<protocol::DevicePartition> PartitionWithVariable(
    const std::string& task, const std::string& op,
    const std::string& container = "") {
  const std::string device = absl::StrCat(task, "/device:CPU:0");
  auto graph = std::make_shared<Graph>(StandardOps());
  auto handle = graph->AddNode({.name = "v",
                                .op = "VarHandleOp",
                                .attrs = {{"dtype", DT_FLOAT},
                                          {"shape", PartialShape({})},
                                          {"container", container}}});
  EXPECT_OK(handle);
  NodeSpec user = {.name = "user",
                   .op = op,
                   .inputs = {{*handle, 0}},
                   .attrs = {{"dtype", DT_FLOAT}}};
  if (op != "ReadVariableOp") {
    auto value = graph->AddNode(
        {.name = "value",
         .op = "Const",
         .attrs = {{"dtype", DT_FLOAT}, {"value", Tensor::Scalar(1.0f)}}});
    EXPECT_OK(value);
    user.inputs.push_back({*value, 0});
  }
  EXPECT_OK(graph->AddNode(user));
  for (int id = 0; id < graph->num_nodes(); ++id) {
    graph->set_assigned_device(graph->node(id), device);
  }
  return {{.device = device, .graph = std::move(graph)}};
}

// Returns a partition for the first CPU of `task` that dequeues from an empty
// queue named "queue".
inline std::vector<protocol::DevicePartition> PartitionThatDequeues(
    const std::string& task) {
  const std::string device = absl::StrCat(task, "/device:CPU:0");
  const std::vector<DataType> types = {DT_FLOAT};
  auto graph = std::make_shared<Graph>(StandardOps());
  auto queue = graph->AddNode({.name = "queue",
                               .op = "FIFOQueueV2",
                               .attrs = {{"component_types", types}}});
  EXPECT_OK(queue);
  EXPECT_OK(graph->AddNode({.name = "dequeue",
                            .op = "QueueDequeueV2",
                            .inputs = {{*queue, 0}},
                            .attrs = {{"component_types", types}}}));
  for (int id = 0; id < graph->num_nodes(); ++id) {
    graph->set_assigned_device(graph->node(id), device);
  }
  return {{.device = device, .graph = std::move(graph)}};
}

// Returns a partition for the first CPU of `task` that sends a float to the
// first CPU of `receiver`.
inline std::vector<protocol::DevicePartition> PartitionThatSends(
    const std::string& task, const std::string& receiver) {
  const std::string device = absl::StrCat(task, "/device:CPU:0");
  auto graph = std::make_shared<Graph>(StandardOps());
  auto value = graph->AddNode(
      {.name = "value",
       .op = "Const",
       .attrs = {{"dtype", DT_FLOAT}, {"value", Tensor::Scalar(1.0f)}}});
  EXPECT_OK(value);
  EXPECT_OK(graph->AddNode(
      {.name = "send",
       .op = "_Send",
       .inputs = {{*value, 0}},
       .attrs = {{"T", DT_FLOAT},
                 {"tensor_name", std::string("value:0")},
                 {"send_device", device},
                 {"recv_device", absl::StrCat(receiver, "/device:CPU:0")},
                 {"edge", int64_t{5}}}}));
  for (int id = 0; id < graph->num_nodes(); ++id) {
    graph->set_assigned_device(graph->node(id), device);
  }
  return {{.device = device, .graph = std::move(graph)}};
}

// Returns a partition for the first CPU of `task` that assigns a fed value to
// each of the float variables.
inline std::vector<protocol::DevicePartition> PartitionThatAssigns(
    const std::string& task,
    const std::vector<std::pair<std::string, PartialShape>>& variables) {
  const std::string device = absl::StrCat(task, "/device:CPU:0");
  auto graph = std::make_shared<Graph>(StandardOps());
  auto value = graph->AddNode(
      {.name = "value", .op = "Placeholder", .attrs = {{"dtype", DT_FLOAT}}});
  EXPECT_OK(value);
  for (const auto& [name, shape] : variables) {
    auto handle =
        graph->AddNode({.name = name,
                        .op = "VarHandleOp",
                        .attrs = {{"dtype", DT_FLOAT}, {"shape", shape}}});
    EXPECT_OK(handle);
    EXPECT_OK(graph->AddNode({.name = absl::StrCat(name, "/assign"),
                              .op = "AssignVariableOp",
                              .inputs = {{*handle, 0}, {*value, 0}},
                              .attrs = {{"dtype", DT_FLOAT}}}));
  }
  for (int id = 0; id < graph->num_nodes(); ++id) {
    graph->set_assigned_device(graph->node(id), device);
  }
  return {{.device = device, .graph = std::move(graph)}};
}

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_TESTING_PARTITION_WITH_VARIABLE_H_
