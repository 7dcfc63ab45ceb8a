#include "libs/passes/graph_rewrite.h"

#include "gtest/gtest.h"
#include "libs/passes/testing/small_graph.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(GraphRewriteTest, GraphIsCopiedWithoutNotes) {
  SmallGraph g;
  const Node* x = g.Arg("x");
  const Node* effect = g.Effect("effect");
  const Node* y =
      g.Add("Add", "y", {x, x}, {{"_note", "kept"}}, {effect}, kOtherCpu);
  g.Fetch(y);
  const Rewritten result{GraphRewrite(g.graph())};
  ASSERT_EQ(result.graph().num_nodes(), g.graph().num_nodes());
  const Node* copy = result.Find("y");
  EXPECT_EQ(copy->assigned_device(), kOtherCpu);
  EXPECT_EQ(*copy->attr<std::string>("_note"), "kept");
  EXPECT_EQ(result.Input("y", 1), "x:0");
  EXPECT_THAT(result.Controls("y"), ElementsAre("effect"));
}

TEST(GraphRewriteTest, LoopsAreClosed) {
  SmallGraph g;
  const Node* x = g.Arg("x");
  const Node* enter = g.Add("Enter", "enter", {x}, {{"frame_name", "loop"}});
  const Node* merge =
      g.Add({.name = "merge", .op = "Merge", .inputs = {{enter, 0}, {}}});
  const Node* next = g.Add("NextIteration", "next", {merge});
  g.CloseLoop(merge, next);
  const Rewritten result{GraphRewrite(g.graph())};
  EXPECT_EQ(result.Input("merge", 1), "next:0");
}

TEST(GraphRewriteTest, UnusedNodesAreDroppedUnlessStateful) {
  SmallGraph g;
  const Node* x = g.Arg("x");
  const Node* random = g.Effect("random");
  const Node* sum = g.Add("Add", "sum", {x, random});
  const Node* unused = g.Add("Neg", "target", {x});
  const Node* negated = g.Add("Neg", "negated", {sum});
  const Node* y = g.Add("Identity", "y", {negated});
  g.Fetch(y);
  GraphRewrite rewrite(g.graph());
  ASSERT_TRUE(rewrite.MayBypass(*y, {x, 0}));
  rewrite.Bypass(*y, {x, 0});
  const Rewritten result(rewrite);
  EXPECT_EQ(result.Fetched(), "x:0");
  EXPECT_FALSE(result.Has("sum"));
  EXPECT_FALSE(result.Has("negated"));
  EXPECT_TRUE(result.Has("random"));
  EXPECT_TRUE(rewrite.IsEnd(*unused));
  EXPECT_TRUE(result.Has("target")) << "an end of the graph is a target";
}

TEST(GraphRewriteTest, ControlEdgeOfBypassedNodeMovesToSource) {
  SmallGraph g;
  const Node* x = g.Arg("x");
  const Node* y = g.Add("Neg", "y", {x});
  const Node* same = g.Add("Identity", "same", {y});
  const Node* again = g.Add("Identity", "again", {same});
  g.Effect("effect", {again});
  GraphRewrite rewrite(g.graph());
  rewrite.Bypass(*same, {y, 0});
  rewrite.Bypass(*again, rewrite.Input(*again, 0));
  EXPECT_THAT(Rewritten(rewrite).Controls("effect"), ElementsAre("y"));
}

TEST(GraphRewriteTest, ControlEdgesFromFreeConstantsAreDropped) {
  SmallGraph g;
  const Node* effect = g.Effect("effect");
  const Node* c = g.Const("c", Tensor::Scalar(1.0f));
  const Node* late = g.Const("late", Tensor::Scalar(1.0f), {effect});
  g.Effect("after", {c, late});
  const GraphRewrite rewrite(g.graph());
  const Rewritten result(rewrite);
  EXPECT_THAT(result.Controls("after"), ElementsAre("late"));
  EXPECT_FALSE(result.Has("c"));
  EXPECT_NE(rewrite.FreeConstantValue({c, 0}), nullptr);
  EXPECT_EQ(rewrite.FreeConstantValue({late, 0}), nullptr);
  EXPECT_NE(rewrite.ConstantValue({late, 0}), nullptr);
}

TEST(GraphRewriteTest, EachOutputOfAFoldedNodeBecomesAConstant) {
  SmallGraph g;
  const Node* effect = g.Effect("effect");
  const Node* values =
      g.Const("values", Tensor::Vector<float>({1, 2, 3, 4}), {effect});
  const Node* axis = g.Const("axis", Tensor::Scalar<int32_t>(0));
  const Node* split =
      g.Add("Split", "split", {axis, values}, {{"num_split", 2}});
  g.Add({.name = "sum", .op = "Add", .inputs = {{split, 0}, {split, 1}}});
  g.Effect("after", {split});
  GraphRewrite rewrite(g.graph());
  rewrite.Fold(*split,
               {Tensor::Vector<float>({1, 2}), Tensor::Vector<float>({3, 4})});
  const Rewritten result(rewrite);
  EXPECT_FALSE(result.Has("split"));
  EXPECT_FALSE(result.Has("values"));
  ASSERT_TRUE(result.Has("sum"));
  const Node* second = result.Find("sum")->input(1).node;
  EXPECT_TRUE(
      SameBits(*second->attr<Tensor>("value"), Tensor::Vector<float>({3, 4})));
  EXPECT_EQ(second->assigned_device(), kCpu);
  ASSERT_EQ(second->control_inputs().size(), 1u);
  EXPECT_EQ(second->control_inputs()[0]->name(), "effect");
  EXPECT_EQ(result.Controls("after").size(), 1u);
}

TEST(GraphRewriteTest, MayBypassRefusesUnsafeNodes) {
  SmallGraph g;
  const Node* x = g.Arg("x");
  const Node* n = g.Arg("n", DT_INT32);
  const Node* far = g.Add("Neg", "far", {x}, {}, {}, kOtherCpu);
  const Node* effect = g.Effect("effect");
  const Node* waits = g.Add("Neg", "waits", {x}, {}, {effect});
  const Node* end = g.Add("Neg", "end", {x});
  const Node* plain = g.Add("Neg", "plain", {x});
  g.Fetch(far);
  g.Fetch(waits);
  g.Fetch(plain);
  const GraphRewrite rewrite(g.graph());
  EXPECT_TRUE(rewrite.MayBypass(*plain, {x, 0}));
  EXPECT_FALSE(rewrite.MayBypass(*plain, {n, 0})) << "another type";
  EXPECT_FALSE(rewrite.MayBypass(*far, {x, 0})) << "another device";
  EXPECT_FALSE(rewrite.MayBypass(*waits, {x, 0})) << "has control inputs";
  EXPECT_FALSE(rewrite.MayBypass(*end, {x, 0})) << "is a target";
}

// Consumers of a reference's Identity may read the variable when they run; a
// consumer of a copy does not.
TEST(GraphRewriteTest, IdentityOfVariableKeepsItsReaders) {
  SmallGraph g;
  const Node* v =
      g.Add("VariableV2", "v", {},
            {{"dtype", DT_FLOAT}, {"shape", PartialShape::Scalar()}});
  const Node* read = g.Add("Identity", "v/read", {v});
  const Node* same = g.Add("Identity", "same", {read});
  const Node* y = g.Add("Neg", "y", {same});
  g.Fetch(y);
  const GraphRewrite rewrite(g.graph());
  EXPECT_FALSE(rewrite.MayBeTaken({read, 0}));
  EXPECT_FALSE(rewrite.MayBeTaken({same, 0}));
  EXPECT_TRUE(rewrite.MayBeTaken({y, 0}));
}

TEST(GraphRewriteTest, InvalidRewrittenGraphIsAnError) {
  SmallGraph g;
  const Node* x = g.Const("x", Tensor::Vector<float>({1, 2, 3}));
  const Node* sizes = g.Add("Neg", "sizes", {g.Arg("n", DT_INT32)});
  g.Fetch(g.Add("Reshape", "y", {x, sizes}));
  GraphRewrite rewrite(g.graph());
  // Known by now, and wrong: 3 elements are not 4.
  rewrite.Fold(*sizes, {Tensor::Vector<int32_t>({4})});
  EXPECT_EQ(rewrite.Build().status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace weft
