#include "libs/partition/partition.h"

#include <gtest/gtest.h>

#include "libs/base/test_matchers.h"
#include "libs/ops/standard_ops.h"

namespace weft {
namespace {

constexpr char kA[] = "/job:a/replica:0/task:0/device:CPU:0";
constexpr char kB[] = "/job:b/replica:0/task:0/device:CPU:0";

class PartitionTest : public ::testing::Test {
 protected:
  const Node* Add(const std::string& device, NodeSpec spec) {
    auto node = graph_.AddNode(std::move(spec));
    EXPECT_TRUE(node.ok()) << node.status();
    graph_.set_assigned_device(*node, device);
    return *node;
  }
  const Node* Const(const std::string& device, const std::string& name) {
    return Add(device, {.name = name,
                        .op = "Const",
                        .attrs = {{"dtype", DT_FLOAT},
                                  {"value", Tensor::Scalar(1.0f)}}});
  }
  const Node* Identity(const std::string& device, const std::string& name,
                       const Node* input) {
    return Add(device,
               {.name = name, .op = "Identity", .inputs = {{input, 0}}});
  }
  const Node* NoOp(const std::string& device, const std::string& name,
                   std::vector<const Node*> controls) {
    return Add(
        device,
        {.name = name, .op = "NoOp", .control_inputs = std::move(controls)});
  }
  static int Count(const Graph& graph, const std::string& op) {
    int count = 0;
    for (const Node* node : graph.nodes()) count += node->type() == op;
    return count;
  }

  Graph graph_{StandardOps()};
};

TEST_F(PartitionTest, OneDeviceNeedsNoEdges) {
  Identity(kA, "y", Const(kA, "x"));
  auto parts = PartitionGraph(graph_);
  ASSERT_OK(parts);
  ASSERT_EQ(parts->size(), 1u);
  EXPECT_EQ(parts->at(kA)->num_nodes(), 2);
}

TEST_F(PartitionTest, AnOutputIsSentOnceToEachDevice) {
  const Node* x = Const(kA, "x");
  Identity(kB, "y", x);
  Identity(kB, "z", x);
  auto parts = PartitionGraph(graph_);
  ASSERT_OK(parts);
  EXPECT_EQ(Count(*parts->at(kA), "_Send"), 1);
  EXPECT_EQ(Count(*parts->at(kB), "_Recv"), 1);
  const Node* y = parts->at(kB)->FindNode("y");
  const Node* z = parts->at(kB)->FindNode("z");
  EXPECT_EQ(y->input(0), z->input(0));
}

TEST_F(PartitionTest, BothEndsOfAnEdgeHaveOneNumber) {
  Identity(kB, "y", Const(kA, "x"));
  Identity(kA, "z", Const(kB, "w"));
  auto parts = PartitionGraph(graph_);
  ASSERT_OK(parts);
  auto edges = [](const Graph& graph, const std::string& op) {
    std::vector<int64_t> result;
    for (const Node* node : graph.nodes()) {
      if (node->type() == op) result.push_back(*node->attr<int64_t>("edge"));
    }
    return result;
  };
  EXPECT_EQ(edges(*parts->at(kA), "_Send"), edges(*parts->at(kB), "_Recv"));
  EXPECT_EQ(edges(*parts->at(kB), "_Send"), edges(*parts->at(kA), "_Recv"));
  EXPECT_NE(edges(*parts->at(kA), "_Send"), edges(*parts->at(kB), "_Send"));
}

TEST_F(PartitionTest, AControlEdgeSendsAnEmptyTensor) {
  const Node* first = NoOp(kA, "first", {});
  NoOp(kB, "second", {first});
  NoOp(kB, "third", {first});
  auto parts = PartitionGraph(graph_);
  ASSERT_OK(parts);
  EXPECT_EQ(Count(*parts->at(kA), "_Send"), 1);
  const Node* second = parts->at(kB)->FindNode("second");
  ASSERT_EQ(second->control_inputs().size(), 1u);
  EXPECT_EQ(second->control_inputs()[0]->type(), "_Recv");
}

}  // namespace
}  // namespace weft
