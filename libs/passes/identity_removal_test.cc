#include "libs/passes/identity_removal.h"

#include "gtest/gtest.h"
#include "libs/passes/testing/small_graph.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Rewritten AfterPass(const SmallGraph& g) {
  GraphRewrite rewrite(g.graph());
  RemoveIdentities(rewrite);
  return Rewritten(rewrite);
}

TEST(IdentityRemovalTest, ChainOfIdentitiesIsRemoved) {
  SmallGraph g;
  const Node* x = g.Arg("x");
  const Node* a = g.Add("Identity", "a", {x});
  const Node* b = g.Add("StopGradient", "b", {a});
  const Node* c = g.Add("PreventGradient", "c", {b});
  const Node* d = g.Add("Snapshot", "d", {c});
  const Node* y = g.Add("Neg", "y", {d});
  g.Fetch(y);
  const Rewritten result = AfterPass(g);
  EXPECT_EQ(result.Input("y", 0), "x:0");
  EXPECT_EQ(result.graph().num_nodes(), 3);
}

TEST(IdentityRemovalTest, FetchedIdentityIsRemoved) {
  SmallGraph g;
  const Node* x = g.Arg("x");
  g.Fetch(g.Add("Identity", "y", {g.Add("Neg", "n", {x})}));
  EXPECT_EQ(AfterPass(g).Fetched(), "n:0");
}

TEST(IdentityRemovalTest, ATargetStays) {
  SmallGraph g;
  g.Add("Identity", "y", {g.Arg("x")});
  g.Add("NoOp", "group", {});
  const Rewritten result = AfterPass(g);
  EXPECT_TRUE(result.Has("y"));
  EXPECT_TRUE(result.Has("group"));
}

TEST(IdentityRemovalTest, IdentityWithControlInputStays) {
  SmallGraph g;
  const Node* effect = g.Effect("effect");
  g.Fetch(g.Add("Identity", "y", {g.Arg("x")}, {}, {effect}));
  const Rewritten result = AfterPass(g);
  EXPECT_EQ(result.Fetched(), "y:0");
  EXPECT_THAT(result.Controls("y"), ElementsAre("effect"));
}

TEST(IdentityRemovalTest, IdentityOfAReferenceStays) {
  SmallGraph g;
  const Node* v =
      g.Add("VariableV2", "v", {},
            {{"dtype", DT_FLOAT}, {"shape", PartialShape::Scalar()}});
  const Node* read = g.Add("Identity", "v/read", {v});
  g.Fetch(g.Add("Neg", "y", {read}));
  EXPECT_EQ(AfterPass(g).Input("y", 0), "v/read:0");
}

TEST(IdentityRemovalTest, IdentityAcrossDevicesStays) {
  SmallGraph g;
  const Node* x = g.Arg("x");
  const Node* there = g.Add("Identity", "there", {x}, {}, {}, kOtherCpu);
  g.Fetch(g.Add("Neg", "y", {there}, {}, {}, kOtherCpu));
  EXPECT_EQ(AfterPass(g).Input("y", 0), "there:0");
}

// The pivots of tf.cond: a node that waits for a pivot is dead on the branch
// not taken, but one that waits for the Switch is not.
TEST(IdentityRemovalTest, IdentityNextToControlFlowStays) {
  SmallGraph g;
  const Node* pred = g.Arg("pred", DT_BOOL);
  const Node* id = g.Add("Identity", "cond/pred_id", {pred});
  const Node* branch = g.Add("Switch", "cond/Switch", {pred, id});
  const Node* on_true = g.Add(
      {.name = "cond/switch_t", .op = "Identity", .inputs = {{branch, 1}}});
  const Node* on_false = g.Add(
      {.name = "cond/switch_f", .op = "Identity", .inputs = {{branch, 0}}});
  const Node* one = g.Const("one", Tensor::Scalar(1.0f), {on_true});
  const Node* two = g.Const("two", Tensor::Scalar(2.0f), {on_false});
  const Node* same = g.Add("Identity", "same", {two});
  const Node* merge = g.Add("Merge", "merge", {one, same});
  g.Fetch(merge);
  const Rewritten result = AfterPass(g);
  EXPECT_EQ(result.graph().num_nodes(), g.graph().num_nodes());
  EXPECT_THAT(result.Controls("one"), ElementsAre("cond/switch_t"));
  EXPECT_EQ(result.Input("merge", 1), "same:0");
  EXPECT_EQ(result.Input("cond/Switch", 1), "cond/pred_id:0");
}

// Its error contains the name of its input.
TEST(IdentityRemovalTest, IdentityNamedByAnErrorStays) {
  SmallGraph g;
  const Node* named = g.Add("Identity", "named", {g.Arg("x")});
  g.Fetch(g.Add("EnsureShape", "y", {named}, {{"shape", PartialShape({2})}}));
  EXPECT_EQ(AfterPass(g).Input("y", 0), "named:0");
}

TEST(IdentityRemovalTest, NoOpWithOneControlInputIsRemoved) {
  SmallGraph g;
  const Node* first = g.Effect("first");
  const Node* pass = g.Add("NoOp", "pass", {}, {}, {first});
  const Node* nothing = g.Add("NoOp", "nothing", {});
  g.Effect("last", {pass, nothing});
  const Rewritten result = AfterPass(g);
  EXPECT_THAT(result.Controls("last"), ElementsAre("first"));
  EXPECT_FALSE(result.Has("pass"));
  EXPECT_FALSE(result.Has("nothing"));
}

TEST(IdentityRemovalTest, NoOpThatJoinsStays) {
  SmallGraph g;
  const Node* a = g.Effect("a");
  const Node* b = g.Effect("b");
  const Node* group = g.Add("NoOp", "group", {}, {}, {a, b});
  g.Effect("last", {group});
  EXPECT_THAT(AfterPass(g).Controls("last"), ElementsAre("group"));
}

TEST(IdentityRemovalTest, NoOpThatJoinsOnAnotherDeviceStays) {
  SmallGraph g;
  const Node* a = g.Effect("a");
  const Node* there = g.Add("NoOp", "there", {}, {}, {a}, kOtherCpu);
  g.Effect("last", {there});
  EXPECT_THAT(AfterPass(g).Controls("last"), ElementsAre("there"));
}

}  // namespace
}  // namespace weft
