#include "libs/passes/common_subexpressions.h"

#include <utility>

#include "gtest/gtest.h"
#include "libs/passes/testing/small_graph.h"

namespace weft {
namespace {

class CommonSubexpressionsTest : public ::testing::Test {
 protected:
  Rewritten Run() {
    GraphRewrite rewrite(g_.graph());
    MergeCommonSubexpressions(rewrite);
    return Rewritten(rewrite);
  }
  // Returns whether the second of the two, fetched, has been merged into the
  // first.
  bool Merges(const Node* a, const Node* b) {
    if (a->id() > b->id()) std::swap(a, b);
    g_.Fetch(a);
    g_.Fetch(b);
    const Rewritten result = Run();
    EXPECT_TRUE(result.Has(a->name())) << "the oldest stays";
    return !result.Has(b->name());
  }

  SmallGraph g_;
};

TEST_F(CommonSubexpressionsTest, EqualNodesAreMerged) {
  const Node* x = g_.Arg("x");
  EXPECT_TRUE(Merges(g_.Add("Neg", "a", {x}), g_.Add("Neg", "b", {x})));
}

TEST_F(CommonSubexpressionsTest, ConsumersOfMergedNodesAreMerged) {
  const Node* x = g_.Arg("x");
  const Node* a = g_.Add("Neg", "a", {x});
  const Node* b = g_.Add("Neg", "b", {x});
  EXPECT_TRUE(Merges(g_.Add("Exp", "exp_a", {a}), g_.Add("Exp", "exp_b", {b})));
}

TEST_F(CommonSubexpressionsTest, EqualConstantsAreMerged) {
  const Node* x = g_.Arg("x");
  const Node* a = g_.Const("a", Tensor::Vector<float>({1, 2}));
  const Node* b = g_.Const("b", Tensor::Vector<float>({1, 2}));
  EXPECT_TRUE(
      Merges(g_.Add("Add", "sum_a", {x, a}), g_.Add("Add", "sum_b", {x, b})));
}

TEST_F(CommonSubexpressionsTest, DifferentConstantBitsAreNotMerged) {
  const Node* x = g_.Arg("x");
  const Node* a = g_.Const("a", Tensor::Scalar(0.0f));
  const Node* b = g_.Const("b", Tensor::Scalar(-0.0f));
  EXPECT_FALSE(
      Merges(g_.Add("Add", "sum_a", {x, a}), g_.Add("Add", "sum_b", {x, b})));
}

TEST_F(CommonSubexpressionsTest, ControlOutputsOfMergedNodesAreKept) {
  const Node* x = g_.Arg("x");
  g_.Fetch(g_.Add("Neg", "a", {x}));
  g_.Effect("after", {g_.Add("Neg", "b", {x})});
  EXPECT_THAT(Run().Controls("after"), ::testing::ElementsAre("a"));
}

TEST_F(CommonSubexpressionsTest, DifferentAttrsAreNotMerged) {
  const Node* x = g_.Arg("x");
  const auto cast = [&](const std::string& name, DataType type) {
    return g_.Add("Cast", name, {x}, {{"DstT", type}});
  };
  EXPECT_FALSE(Merges(cast("a", DT_INT32), cast("b", DT_INT64)));
}

TEST_F(CommonSubexpressionsTest, ZeroSignsInAttrsAreDistinguished) {
  const Node* x = g_.Arg("x");
  const auto leaky = [&](const std::string& name, float alpha) {
    return g_.Add("LeakyRelu", name, {x}, {{"alpha", alpha}});
  };
  EXPECT_FALSE(Merges(leaky("a", 0.0f), leaky("b", -0.0f)));
}

TEST_F(CommonSubexpressionsTest, DifferentDevicesAreNotMerged) {
  const Node* x = g_.Arg("x");
  EXPECT_FALSE(Merges(g_.Add("Neg", "a", {x}),
                      g_.Add("Neg", "b", {x}, {}, {}, kOtherCpu)));
}

// The order of operands may decide which NaN results.
TEST_F(CommonSubexpressionsTest, DifferentInputsAreNotMerged) {
  const Node* x = g_.Arg("x");
  const Node* z = g_.Arg("z");
  EXPECT_FALSE(Merges(g_.Add("Add", "a", {x, z}), g_.Add("Add", "b", {z, x})));
}

TEST_F(CommonSubexpressionsTest, DifferentControlInputsAreNotMerged) {
  const Node* x = g_.Arg("x");
  const Node* effect = g_.Effect("effect");
  EXPECT_FALSE(
      Merges(g_.Add("Neg", "a", {x}), g_.Add("Neg", "b", {x}, {}, {effect})));
}

TEST_F(CommonSubexpressionsTest, ControlInputOrderIsIgnored) {
  const Node* x = g_.Arg("x");
  const Node* first = g_.Effect("first");
  const Node* second = g_.Effect("second");
  EXPECT_TRUE(Merges(g_.Add("Neg", "a", {x}, {}, {first, second}),
                     g_.Add("Neg", "b", {x}, {}, {second, first})));
}

TEST_F(CommonSubexpressionsTest, RandomOpsAreNotMerged) {
  const Node* shape = g_.Const("shape", Tensor::Vector<int32_t>({1}));
  const auto random = [&](const std::string& name) {
    return g_.Add("RandomUniform", name, {shape},
                  {{"dtype", DT_FLOAT}, {"seed", 1}, {"seed2", 2}});
  };
  EXPECT_FALSE(Merges(random("a"), random("b")));
}

TEST_F(CommonSubexpressionsTest, VariableReadsAreNotMerged) {
  const AttrMap attrs = {{"dtype", DT_FLOAT},
                         {"shape", PartialShape::Scalar()}};
  const Node* handle = g_.Add("VarHandleOp", "handle", {}, attrs);
  const Node* v = g_.Add("VariableV2", "v", {}, attrs);
  const auto read = [&](const std::string& name) {
    return g_.Add("ReadVariableOp", name, {handle}, {{"dtype", DT_FLOAT}});
  };
  EXPECT_FALSE(Merges(read("a"), read("b")));
  EXPECT_FALSE(
      Merges(g_.Add("Identity", "c", {v}), g_.Add("Identity", "d", {v})));
}

TEST_F(CommonSubexpressionsTest, ATargetStays) {
  const Node* x = g_.Arg("x");
  g_.Fetch(g_.Add("Neg", "a", {x}));
  g_.Add("Neg", "target", {x});
  EXPECT_TRUE(Run().Has("target"));
}

// A constant that feeds a Merge runs outside the loop that uses the other one.
TEST_F(CommonSubexpressionsTest, AConstantBesideControlFlowStays) {
  const Node* x = g_.Arg("x");
  const Node* a = g_.Const("a", Tensor::Scalar(1.0f));
  const Node* b = g_.Const("b", Tensor::Scalar(1.0f));
  g_.Fetch(g_.Add("Mul", "y", {x, a}));
  g_.Fetch(g_.Add("Merge", "merge", {b, x}));
  EXPECT_TRUE(Run().Has("b"));
}

TEST_F(CommonSubexpressionsTest, FoldedConstantsAreMergedByValue) {
  const Node* x = g_.Arg("x");
  const Node* two = g_.Const("two", Tensor::Scalar(2.0f));
  const Node* folded = g_.Add("Neg", "folded", {two});
  const Node* minus_two = g_.Const("minus_two", Tensor::Scalar(-2.0f));
  g_.Fetch(g_.Add("Mul", "a", {x, folded}));
  g_.Fetch(g_.Add("Mul", "b", {x, minus_two}));
  GraphRewrite rewrite(g_.graph());
  rewrite.Fold(*folded, {Tensor::Scalar(-2.0f)});
  MergeCommonSubexpressions(rewrite);
  const Rewritten result(rewrite);
  EXPECT_FALSE(result.Has("minus_two"));
  EXPECT_FALSE(result.Has("b"));
}

}  // namespace
}  // namespace weft
