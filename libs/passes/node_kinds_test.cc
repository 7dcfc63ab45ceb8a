#include "libs/passes/node_kinds.h"

#include "gtest/gtest.h"
#include "libs/passes/testing/small_graph.h"

namespace weft {
namespace {

const AttrMap kVariable = {{"dtype", DT_FLOAT},
                           {"shape", PartialShape::Scalar()}};

TEST(NodeKindsTest, FunctionsOfTheirInputsArePure) {
  SmallGraph g;
  const Node* x = g.Arg("x");
  EXPECT_TRUE(IsPure(*g.Const("c", Tensor::Scalar(1.0f))));
  EXPECT_TRUE(IsPure(*g.Add("Add", "add", {x, x})));
  EXPECT_TRUE(IsPure(*g.Add("Shape", "shape", {x})));
  EXPECT_TRUE(IsPure(*g.Add("Identity", "identity", {x})));
}

TEST(NodeKindsTest, StatefulAndEffectfulNodesAreNotPure) {
  SmallGraph g;
  const Node* x = g.Arg("x");
  EXPECT_FALSE(IsPure(*x));
  EXPECT_FALSE(IsPure(*g.Fetch(x)));
  EXPECT_FALSE(IsPure(*g.Effect("random")));
  EXPECT_FALSE(IsPure(
      *g.Add("CheckNumerics", "check", {x}, {{"message", "not a number"}})));
  EXPECT_FALSE(IsPure(*g.Add("NoOp", "nothing", {})));
  EXPECT_FALSE(
      IsPure(*g.Add("Placeholder", "placeholder", {}, {{"dtype", DT_FLOAT}})));
  EXPECT_FALSE(IsPure(*g.Add("PlaceholderWithDefault", "default", {x},
                             {{"shape", PartialShape()}})));
}

// Not stateful in TensorFlow's registry.
TEST(NodeKindsTest, NodesWithReferencesAreNotPure) {
  SmallGraph g;
  const Node* x = g.Arg("x");
  const Node* v = g.Add("VariableV2", "v", {}, kVariable);
  EXPECT_FALSE(IsPure(*v));
  EXPECT_FALSE(IsPure(*g.Add("Assign", "assign", {v, x})));
  // Takes a value, but the input is a reference.
  EXPECT_FALSE(IsPure(*g.Add("Identity", "v/read", {v})));
}

TEST(NodeKindsTest, NodesWithResourcesAreNotPure) {
  SmallGraph g;
  const Node* v = g.Add("VarHandleOp", "v", {}, kVariable);
  EXPECT_FALSE(
      IsPure(*g.Add("ReadVariableOp", "read", {v}, {{"dtype", DT_FLOAT}})));
}

TEST(NodeKindsTest, ControlFlowIsNotPure) {
  SmallGraph g;
  const Node* x = g.Arg("x");
  const Node* pred = g.Arg("pred", DT_BOOL);
  const Node* split = g.Add("Switch", "switch", {x, pred});
  EXPECT_TRUE(IsControlFlow(*split));
  EXPECT_FALSE(IsPure(*split));
  EXPECT_FALSE(IsPure(*g.Add("Enter", "enter", {x}, {{"frame_name", "f"}})));
}

}  // namespace
}  // namespace weft
