#include "libs/partition/partition.h"

#include <gtest/gtest.h>

#include "libs/base/test_matchers.h"
#include "libs/graph/frame_analysis.h"
#include "libs/ops/standard_ops.h"

namespace weft {
namespace {

constexpr char kA[] = "/job:a/replica:0/task:0/device:CPU:0";
constexpr char kB[] = "/job:b/replica:0/task:0/device:CPU:0";
constexpr char kC[] = "/job:c/replica:0/task:0/device:CPU:0";

using Parts = std::map<std::string, std::unique_ptr<Graph>>;

class PartitionTest : public ::testing::Test {
 protected:
  const Node* Add(const std::string& device, NodeSpec spec) {
    auto node = graph_.AddNode(std::move(spec));
    EXPECT_TRUE(node.ok()) << node.status();
    graph_.set_assigned_device(*node, device);
    return *node;
  }
  const Node* Const(const std::string& device, const std::string& name,
                    const Tensor& value = Tensor::Scalar(1.0f)) {
    return Add(device, {.name = name,
                        .op = "Const",
                        .attrs = {{"dtype", value.dtype()}, {"value", value}}});
  }
  // Adds a constant that is large enough to be sent instead of copied.
  const Node* Large(const std::string& device, const std::string& name) {
    return Const(device, name, Tensor(DT_FLOAT, {257}));
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

// Builds a graph of "for (v = begin; v < limit; v = body(v))", with given
// devices of the nodes.
class LoopPartitionTest : public PartitionTest {
 protected:
  struct Devices {
    std::string enter = kA, merge = kA, limit = kA, condition = kA;
    std::string choose = kA, exit = kA, body = kA, next = kA;
  };

  const Node* Enter(const std::string& device, const std::string& name,
                    const Node* input, const std::string& frame,
                    bool is_constant) {
    return Add(device, {.name = name,
                        .op = "Enter",
                        .inputs = {{input, 0}},
                        .attrs = {{"frame_name", frame},
                                  {"is_constant", is_constant},
                                  {"parallel_iterations", 7}}});
  }

  // Adds the loop and returns its Exit. `body` adds nodes that compute the next
  // value from its argument, which is alive while the loop continues.
  template <typename Body>
  const Node* Loop(const std::string& frame, const Devices& on,
                   const Node* begin, const Node* limit, Body body) {
    const Node* enter = Enter(on.enter, frame + "/enter", begin, frame, false);
    const Node* merge = Add(on.merge, {.name = frame + "/merge",
                                       .op = "Merge",
                                       .inputs = {{enter, 0}, {}},
                                       .attrs = {{"T", DT_FLOAT}}});
    const Node* bound = Enter(on.limit, frame + "/limit", limit, frame, true);
    const Node* less = Add(on.condition, {.name = frame + "/less",
                                          .op = "Less",
                                          .inputs = {{merge, 0}, {bound, 0}}});
    const Node* condition = Add(on.condition, {.name = frame + "/condition",
                                               .op = "LoopCond",
                                               .inputs = {{less, 0}}});
    const Node* choose =
        Add(on.choose, {.name = frame + "/switch",
                        .op = "Switch",
                        .inputs = {{merge, 0}, {condition, 0}}});
    const Node* exit =
        Add(on.exit,
            {.name = frame + "/exit", .op = "Exit", .inputs = {{choose, 0}}});
    const Node* in =
        Add(on.body,
            {.name = frame + "/in", .op = "Identity", .inputs = {{choose, 1}}});
    const Node* next = Add(on.next, {.name = frame + "/next",
                                     .op = "NextIteration",
                                     .inputs = {{body(in), 0}}});
    EXPECT_OK(graph_.SetBackEdge(merge, 1, {next, 0}));
    return exit;
  }
  const Node* Loop(const Devices& on) {
    return Loop("w", on, Const(kA, "begin"), Large(kA, "bound"),
                [&](const Node* in) { return Identity(on.body, "body", in); });
  }

  // Partitions the graph, and checks that each part alone is a graph that can
  // run, with well-formed loops.
  Parts Partition() {
    auto parts = PartitionGraph(graph_);
    EXPECT_OK(parts);
    if (!parts.ok()) return {};
    for (const auto& [device, part] : *parts) {
      EXPECT_OK(AnalyzeFrames(*part, Constants(*part))) << device;
      for (const Node* node : part->nodes()) {
        EXPECT_EQ(node->assigned_device(), device) << node->name();
      }
    }
    return *std::move(parts);
  }
  static std::vector<bool> Constants(const Graph& graph) {
    std::vector<bool> result;
    for (const Node* node : graph.nodes()) {
      result.push_back(node->type() == "Const" &&
                       node->control_inputs().empty());
    }
    return result;
  }

  // Returns the node that triggers the receiver of `tensor`; null if there is
  // none.
  static const Node* TriggerOf(const Graph& part, const std::string& tensor) {
    for (const Node* node : part.nodes()) {
      if (node->type() != "_Recv") continue;
      if (*node->attr<std::string>("tensor_name") != tensor) continue;
      if (node->control_inputs().empty()) return nullptr;
      return node->control_inputs()[0];
    }
    ADD_FAILURE() << tensor << " is not received";
    return nullptr;
  }
};

TEST_F(PartitionTest, OneDeviceNeedsNoSendOrRecv) {
  Identity(kA, "y", Const(kA, "x"));
  auto parts = PartitionGraph(graph_);
  ASSERT_OK(parts);
  ASSERT_EQ(parts->size(), 1u);
  EXPECT_EQ(parts->at(kA)->num_nodes(), 2);
}

TEST_F(PartitionTest, OutputIsSentOncePerDevice) {
  const Node* x = Large(kA, "x");
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

TEST_F(PartitionTest, SendAndRecvShareAnEdgeNumber) {
  Identity(kB, "y", Large(kA, "x"));
  Identity(kA, "z", Large(kB, "w"));
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

TEST_F(PartitionTest, SmallConstantIsCopiedToItsConsumers) {
  const Node* rate = Const(kA, "rate");
  Identity(kB, "y", rate);
  Identity(kC, "z", rate);
  NoOp(kA, "after", {rate});  // needs no order
  auto parts = PartitionGraph(graph_);
  ASSERT_OK(parts);
  EXPECT_EQ(parts->at(kA)->num_nodes(), 1);
  for (const char* device : {kB, kC}) {
    EXPECT_EQ(parts->at(device)->num_nodes(), 2) << device;
    const Node* copy = parts->at(device)->FindNode("rate");
    ASSERT_NE(copy, nullptr) << device;
    EXPECT_EQ(copy->assigned_device(), device);
  }
}

TEST_F(PartitionTest, OtherConstantsAreSent) {
  const std::string gpu = "/job:b/replica:0/task:0/device:GPU:0";
  Identity(gpu, "y", Const(kA, "x"));
  Identity(kB, "z", Const(kA, "text", Tensor::Scalar(std::string("x"))));
  Identity(kB, "u", Large(kA, "v"));
  const Node* first = NoOp(kA, "first", {});
  const Node* late = Add(
      kA, {.name = "late",
           .op = "Const",
           .control_inputs = {first},
           .attrs = {{"dtype", DT_FLOAT}, {"value", Tensor::Scalar(1.0f)}}});
  Identity(kB, "w", late);
  auto parts = PartitionGraph(graph_);
  ASSERT_OK(parts);
  EXPECT_EQ(Count(*parts->at(kA), "_Send"), 4);
  EXPECT_EQ(Count(*parts->at(kA), "Const"), 4);
}

TEST_F(PartitionTest, ControlEdgeSendsAnEmptyTensor) {
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

TEST_F(LoopPartitionTest, LoopOnOneDeviceIsUnchanged) {
  Identity(kB, "after", Loop({}));
  const Parts parts = Partition();
  EXPECT_EQ(Count(*parts.at(kA), "Merge"), 1);
  EXPECT_EQ(Count(*parts.at(kA), "_Send"), 1);
  EXPECT_EQ(Count(*parts.at(kB), "Enter"), 0);
  EXPECT_EQ(TriggerOf(*parts.at(kB), "w/exit:0"), nullptr);
}

TEST_F(LoopPartitionTest, DeviceWithPartOfALoopGetsAControlLoop) {
  Loop({.body = kB});
  const Parts parts = Partition();
  const Graph& b = *parts.at(kB);
  // The control loop is Const -> Enter -> Merge -> Switch -> NextIteration ->
  // Merge.
  const Node* merge = TriggerOf(b, "w/switch:1");
  ASSERT_NE(merge, nullptr);
  ASSERT_EQ(merge->type(), "Merge");
  const Node* enter = merge->input(0).node;
  EXPECT_EQ(enter->type(), "Enter");
  EXPECT_EQ(*enter->attr<std::string>("frame_name"), "w");
  EXPECT_EQ(*enter->attr<int64_t>("parallel_iterations"), 7);
  EXPECT_EQ(enter->input(0).node->type(), "Const");
  const Node* next = merge->input(1).node;
  EXPECT_EQ(next->type(), "NextIteration");
  const Node* choose = next->input(0).node;
  EXPECT_EQ(choose->type(), "Switch");
  EXPECT_EQ(next->input(0).index, 1);
  EXPECT_EQ(choose->input(0).node, merge);
  // The loop's condition is also received once per iteration.
  EXPECT_EQ(choose->input(1).node->type(), "_Recv");
  EXPECT_EQ(TriggerOf(b, "w/condition:0"), merge);
  // The device of the real loop does not receive the condition.
  const Node* back = TriggerOf(*parts.at(kA), "body:0");
  ASSERT_NE(back, nullptr);
  EXPECT_EQ(back->input(1).node->input(0).node->input(1).node->name(),
            "w/condition");
}

TEST_F(LoopPartitionTest, EnterAndNextIterationRunWithTheirMerge) {
  Identity(kA, "after", Loop({.enter = kB, .exit = kC, .next = kC}));
  const Parts parts = Partition();
  EXPECT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts.at(kA)->num_nodes(), graph_.num_nodes());
}

TEST_F(LoopPartitionTest, LoopInvariantIsSentOnceOutsideTheLoop) {
  Loop({.limit = kA, .condition = kB});
  const Parts parts = Partition();
  const Graph& b = *parts.at(kB);
  EXPECT_EQ(TriggerOf(b, "bound:0"), nullptr);
  const Node* limit = b.FindNode("w/limit");
  ASSERT_NE(limit, nullptr);
  EXPECT_EQ(limit->input(0).node->type(), "_Recv");
  EXPECT_EQ(b.FindNode("w/less")->input(1).node, limit);
  EXPECT_EQ(parts.at(kA)->FindNode("w/limit"), nullptr);
}

TEST_F(LoopPartitionTest, ConstantUsedInALoopIsCopied) {
  const Node* step = Const(kC, "step");
  Loop("w", {}, Const(kA, "begin"), Const(kA, "bound"), [&](const Node* in) {
    return Add(kB,
               {.name = "add", .op = "AddV2", .inputs = {{in, 0}, {step, 0}}});
  });
  Identity(kC, "outside", step);
  const Parts parts = Partition();
  EXPECT_NE(parts.at(kB)->FindNode("step"), nullptr);
  EXPECT_NE(parts.at(kC)->FindNode("step"), nullptr);
  EXPECT_EQ(Count(*parts.at(kC), "_Send"), 0);
}

TEST_F(LoopPartitionTest, InnerControlLoopsFollowOuterControlLoops) {
  Loop("outer", {}, Const(kA, "begin"), Const(kA, "bound"),
       [&](const Node* in) {
         return Loop("inner", {.body = kB}, in, in, [&](const Node* inner) {
           return Identity(kB, "body", inner);
         });
       });
  const Parts parts = Partition();
  const Graph& b = *parts.at(kB);
  const Node* inner = TriggerOf(b, "inner/switch:1");
  ASSERT_NE(inner, nullptr);
  const Node* outer = inner->input(0).node->input(0).node;
  EXPECT_EQ(outer->type(), "Merge");
  EXPECT_EQ(TriggerOf(b, "inner/condition:0"), inner);
  EXPECT_EQ(TriggerOf(b, "outer/condition:0"), outer);
}

// Device B computes a value from a loop invariant alone. It receives nothing
// from the loop, but still has to send the value in each iteration.
TEST_F(LoopPartitionTest, SendingDeviceGetsAControlLoop) {
  const Node* factor = Const(kA, "factor");
  const Node* enter = Enter(kA, "factor/enter", factor, "w", true);
  const Node* product = Identity(kB, "product", enter);
  Loop("w", {}, Const(kA, "begin"), Const(kA, "bound"), [&](const Node* in) {
    return Add(kA,
               {.name = "mul", .op = "Mul", .inputs = {{in, 0}, {product, 0}}});
  });
  const Parts parts = Partition();
  EXPECT_NE(TriggerOf(*parts.at(kB), "w/condition:0"), nullptr);
  EXPECT_NE(TriggerOf(*parts.at(kA), "product:0"), nullptr);
}

TEST_F(LoopPartitionTest, ControlEdgesInALoopAreTriggered) {
  Loop("w", {}, Const(kA, "begin"), Const(kA, "bound"), [&](const Node* in) {
    const Node* first = NoOp(kB, "first", {in});
    return Add(kA, {.name = "second",
                    .op = "Identity",
                    .inputs = {{in, 0}},
                    .control_inputs = {first}});
  });
  const Parts parts = Partition();
  EXPECT_NE(TriggerOf(*parts.at(kB), "w/in:0"), nullptr);
  EXPECT_NE(TriggerOf(*parts.at(kA), "first:0"), nullptr);
}

TEST_F(LoopPartitionTest, ValueMissingInSomeIterationsIsRefused) {
  const Node* enter = Enter(kA, "enter", Const(kA, "x"), "w", false);
  const Node* early = Identity(kB, "early", enter);
  Identity(kA, "late", early);
  EXPECT_THAT(PartitionGraph(graph_),
              StatusIs(absl::StatusCode::kUnimplemented, "early"));
}

TEST_F(LoopPartitionTest, LoopAcrossDevicesNeedsALoopCond) {
  const Node* merge = Add(
      kA, {.name = "merge",
           .op = "Merge",
           .inputs = {{Enter(kA, "enter", Const(kA, "x"), "w", false), 0}, {}},
           .attrs = {{"T", DT_FLOAT}}});
  const Node* goes_on =
      Enter(kA, "goes_on", Const(kA, "yes", Tensor::Scalar(true)), "w", true);
  const Node* choose = Add(
      kA,
      {.name = "choose", .op = "Switch", .inputs = {{merge, 0}, {goes_on, 0}}});
  const Node* body =
      Add(kB, {.name = "body", .op = "Identity", .inputs = {{choose, 1}}});
  const Node* next =
      Add(kA, {.name = "next", .op = "NextIteration", .inputs = {{body, 0}}});
  ASSERT_OK(graph_.SetBackEdge(merge, 1, {next, 0}));
  EXPECT_THAT(PartitionGraph(graph_),
              StatusIs(absl::StatusCode::kInvalidArgument, "LoopCond"));
}

}  // namespace
}  // namespace weft
