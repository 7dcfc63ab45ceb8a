#include "libs/passes/arithmetic_simplification.h"

#include <complex>
#include <limits>

#include "gtest/gtest.h"
#include "libs/passes/testing/small_graph.h"

namespace weft {
namespace {

class ArithmeticSimplificationTest : public ::testing::Test {
 protected:
  // Returns the final fetched node.
  std::string Fetched(const Node* y) {
    g_.Fetch(y);
    return Run().Fetched();
  }
  Rewritten Run() {
    GraphRewrite rewrite(g_.graph());
    SimplifyArithmetic(rewrite);
    return Rewritten(rewrite);
  }
  const Node* Axes(const std::string& name, const std::vector<int32_t>& axes) {
    return g_.Const(name, Tensor::Vector<int32_t>(axes));
  }
  // Returns a matrix of unknown size, as MatMul's result surely is.
  const Node* Matrix() {
    const Node* x = g_.Arg("a");
    return g_.Add("MatMul", "matrix", {x, x});
  }

  SmallGraph g_;
};

// The expected result of `op`(x, c), or of `op`(c, x).
struct NeutralCase {
  std::string op;
  Tensor constant;
  bool constant_first;
  bool goes;
};

class NeutralElementTest : public ::testing::TestWithParam<NeutralCase> {};

TEST_P(NeutralElementTest, NeutralElementIsRemoved) {
  const NeutralCase& c = GetParam();
  SmallGraph g;
  const Node* x = g.Arg("x", c.constant.dtype());
  const Node* constant = g.Const("c", c.constant);
  const Node* y = c.constant_first ? g.Add(c.op, "y", {constant, x})
                                   : g.Add(c.op, "y", {x, constant});
  g.Fetch(y);
  GraphRewrite rewrite(g.graph());
  SimplifyArithmetic(rewrite);
  EXPECT_EQ(Rewritten(rewrite).Fetched(), c.goes ? "x:0" : "y:0");
}

std::vector<NeutralCase> NeutralCases() {
  const Tensor zero = Tensor::Scalar(0.0f);
  const Tensor minus_zero = Tensor::Scalar(-0.0f);
  const Tensor one = Tensor::Scalar(1.0f);
  const Tensor int_zero = Tensor::Scalar<int32_t>(0);
  const Tensor int_one = Tensor::Scalar<int64_t>(1);
  const Tensor nan = Tensor::Scalar(std::numeric_limits<float>::quiet_NaN());
  const Tensor complex_one = Tensor::Scalar(std::complex<float>(1));
  const Tensor half_one = Tensor::Scalar(half(1.0f));
  const Tensor one_of_rank_1 = Tensor::Vector<float>({1});
  const Tensor yes = Tensor::Scalar(true);
  const Tensor no = Tensor::Scalar(false);
  return {
      // -0 + 0 is 0, and -0 + -0 is -0.
      {"Add", zero, false, false},
      {"AddV2", zero, true, false},
      {"Add", minus_zero, false, true},
      {"AddV2", minus_zero, true, true},
      {"Add", int_zero, false, true},
      {"AddV2", int_zero, true, true},
      {"Add", nan, false, false},
      {"Sub", zero, false, true},
      {"Sub", zero, true, false},
      {"Sub", minus_zero, false, false},
      {"Sub", int_zero, false, true},
      {"Mul", one, false, true},
      {"Mul", one, true, true},
      {"Mul", zero, false, false},
      {"Mul", int_one, false, true},
      {"Mul", half_one, true, true},
      // Inf * 0 in the other part is NaN.
      {"Mul", complex_one, false, false},
      // May add a dimension.
      {"Mul", one_of_rank_1, false, false},
      {"RealDiv", one, false, true},
      {"RealDiv", one, true, false},
      {"Div", int_one, false, true},
      {"TruncateDiv", int_one, false, true},
      {"TruncateDiv", one, false, false},
      {"FloorDiv", int_one, false, true},
      {"FloorDiv", one, false, false},
      {"DivNoNan", one, false, true},
      {"LogicalAnd", yes, false, true},
      {"LogicalAnd", no, false, false},
      {"LogicalOr", no, true, true},
      {"LogicalOr", yes, true, false},
      {"Maximum", zero, false, false},
  };
}

INSTANTIATE_TEST_SUITE_P(Cases, NeutralElementTest,
                         ::testing::ValuesIn(NeutralCases()));

TEST_F(ArithmeticSimplificationTest, ConstantWithControlInputStays) {
  const Node* effect = g_.Effect("effect");
  const Node* one = g_.Const("one", Tensor::Scalar(1.0f), {effect});
  EXPECT_EQ(Fetched(g_.Add("Mul", "y", {g_.Arg("x"), one})), "y:0");
}

TEST_F(ArithmeticSimplificationTest, NodeWithControlInputStays) {
  const Node* effect = g_.Effect("effect");
  const Node* one = g_.Const("one", Tensor::Scalar(1.0f));
  EXPECT_EQ(Fetched(g_.Add("Mul", "y", {g_.Arg("x"), one}, {}, {effect})),
            "y:0");
}

// A step that changes the variable first would show the change to y's consumer.
TEST_F(ArithmeticSimplificationTest, IdentityOfAVariableIsNotBypassed) {
  const Node* v =
      g_.Add("VariableV2", "v", {},
             {{"dtype", DT_FLOAT}, {"shape", PartialShape::Scalar()}});
  const Node* read = g_.Add("Identity", "v/read", {v});
  const Node* one = g_.Const("one", Tensor::Scalar(1.0f));
  EXPECT_EQ(Fetched(g_.Add("Mul", "y", {read, one})), "y:0");
}

TEST_F(ArithmeticSimplificationTest, DoubleNegationIsRemoved) {
  const Node* x = g_.Arg("x");
  EXPECT_EQ(Fetched(g_.Add("Neg", "y", {g_.Add("Neg", "n", {x})})), "x:0");
}

TEST_F(ArithmeticSimplificationTest, DoubleLogicalNotIsRemoved) {
  const Node* x = g_.Arg("x", DT_BOOL);
  const Node* inner = g_.Add("LogicalNot", "n", {x});
  EXPECT_EQ(Fetched(g_.Add("LogicalNot", "y", {inner})), "x:0");
}

TEST_F(ArithmeticSimplificationTest, ControlInputOfInnerNodeIsKept) {
  const Node* effect = g_.Effect("effect");
  const Node* inner = g_.Add("Neg", "n", {g_.Arg("x")}, {}, {effect});
  EXPECT_EQ(Fetched(g_.Add("Neg", "y", {inner})), "y:0");
}

TEST_F(ArithmeticSimplificationTest, CastToTheSameTypeIsRemoved) {
  const Node* x = g_.Arg("x");
  EXPECT_EQ(Fetched(g_.Add("Cast", "y", {x}, {{"DstT", DT_FLOAT}})), "x:0");
}

TEST_F(ArithmeticSimplificationTest, ACastThereAndBackStays) {
  const Node* half_x =
      g_.Add("Cast", "half_x", {g_.Arg("x")}, {{"DstT", DT_HALF}});
  EXPECT_EQ(Fetched(g_.Add("Cast", "y", {half_x}, {{"DstT", DT_FLOAT}})),
            "y:0");
}

TEST_F(ArithmeticSimplificationTest, SumOfOneInputIsRemoved) {
  EXPECT_EQ(Fetched(g_.Add("AddN", "y", {g_.Arg("x")})), "x:0");
}

TEST_F(ArithmeticSimplificationTest, IdentityTransposeIsRemoved) {
  const Node* m = Matrix();
  EXPECT_EQ(Fetched(g_.Add("Transpose", "y", {m, Axes("p", {0, 1})})),
            "matrix:0");
}

TEST_F(ArithmeticSimplificationTest, TransposeOfUnknownRankStays) {
  const Node* x = g_.Arg("x");
  EXPECT_EQ(Fetched(g_.Add("Transpose", "y", {x, Axes("p", {0, 1})})), "y:0");
}

TEST_F(ArithmeticSimplificationTest, InverseTransposesAreRemoved) {
  const Node* x = g_.Arg("x");
  const Node* cube = g_.Add("Reshape", "cube", {x, Axes("s", {2, 3, 4})});
  const Node* there =
      g_.Add("Transpose", "there", {cube, Axes("p", {1, 2, 0})});
  EXPECT_EQ(Fetched(g_.Add("Transpose", "y", {there, Axes("q", {2, 0, 1})})),
            "cube:0");
}

TEST_F(ArithmeticSimplificationTest, OtherTransposesStay) {
  const Node* x = g_.Arg("x");
  const Node* cube = g_.Add("Reshape", "cube", {x, Axes("s", {2, 3, 4})});
  const Node* there =
      g_.Add("Transpose", "there", {cube, Axes("p", {1, 2, 0})});
  EXPECT_EQ(Fetched(g_.Add("Transpose", "y", {there, Axes("q", {1, 2, 0})})),
            "y:0");
}

TEST_F(ArithmeticSimplificationTest, ReshapeToTheSameShapeIsRemoved) {
  const Node* cube =
      g_.Add("Reshape", "cube", {g_.Arg("x"), Axes("s", {2, 3})});
  const Node* y = g_.Add("Neg", "n", {cube});
  EXPECT_EQ(Fetched(g_.Add("Reshape", "y", {y, Axes("t", {2, -1})})), "n:0");
}

// The shape function returns [6], which the result must have if the op
// succeeds.
TEST_F(ArithmeticSimplificationTest, ReshapeOfAnUncertainSizeStays) {
  const Node* flat = g_.Add("Reshape", "flat", {g_.Arg("x"), Axes("s", {6})});
  const Node* root = Axes("root", {2});
  const Node* four = g_.Add("Square", "four", {root});
  g_.Fetch(g_.Add("Reshape", "y", {flat, four}));
  GraphRewrite rewrite(g_.graph());
  rewrite.Fold(*four, {Tensor::Vector<int32_t>({4})});
  SimplifyArithmetic(rewrite);
  for (const Node* node : g_.graph().nodes()) {
    EXPECT_FALSE(rewrite.IsGone(*node)) << node->name();
  }
}

TEST_F(ArithmeticSimplificationTest, ReshapeOfKnownSizeIsBypassed) {
  const Node* flat = g_.Add("Reshape", "flat", {g_.Arg("x"), Axes("s", {6})});
  const Node* pairs = g_.Add("Reshape", "pairs", {flat, Axes("t", {3, -1})});
  g_.Fetch(g_.Add("Reshape", "y", {pairs, Axes("u", {2, 3})}));
  EXPECT_EQ(Run().Input("y", 0), "flat:0");
}

// Its shape is declared, and another session may have assigned a value of
// another shape.
TEST_F(ArithmeticSimplificationTest, ReshapeOfAVariableStays) {
  const Node* v =
      g_.Add("VarHandleOp", "v", {},
             {{"dtype", DT_FLOAT}, {"shape", PartialShape({2, 3})}});
  const Node* read =
      g_.Add("ReadVariableOp", "read", {v}, {{"dtype", DT_FLOAT}});
  ASSERT_TRUE(read->output_shape(0).IsFullyDefined());
  EXPECT_EQ(Fetched(g_.Add("Reshape", "y", {read, Axes("s", {2, 3})})), "y:0");
}

TEST_F(ArithmeticSimplificationTest, FirstOfTwoReshapesIsBypassed) {
  const Node* flat = g_.Add("Reshape", "flat", {g_.Arg("x"), Axes("s", {-1})});
  g_.Fetch(g_.Add("Reshape", "y", {flat, Axes("t", {2, -1})}));
  const Rewritten result = Run();
  EXPECT_EQ(result.Input("y", 0), "x:0");
  EXPECT_FALSE(result.Has("flat"));
}

TEST_F(ArithmeticSimplificationTest, ReshapeThatMayFailIsNotBypassed) {
  const Node* first =
      g_.Add("Reshape", "first", {g_.Arg("x"), Axes("s", {3, -1})});
  g_.Fetch(g_.Add("Reshape", "y", {first, Axes("t", {2, -1})}));
  EXPECT_EQ(Run().Input("y", 0), "first:0");
}

// [0,3] reshaped to [0,-1] is [0,3], and [0] is [0,1].
TEST_F(ArithmeticSimplificationTest, ReshapeOfAnEmptyTensorIsNotBypassed) {
  const Node* flat = g_.Add("Reshape", "flat", {g_.Arg("x"), Axes("s", {-1})});
  g_.Fetch(g_.Add("Reshape", "y", {flat, Axes("t", {0, -1})}));
  EXPECT_EQ(Run().Input("y", 0), "flat:0");
}

TEST_F(ArithmeticSimplificationTest, ATargetStays) {
  const Node* one = g_.Const("one", Tensor::Scalar(1.0f));
  g_.Add("Mul", "y", {g_.Arg("x"), one});
  EXPECT_TRUE(Run().Has("y"));
}

}  // namespace
}  // namespace weft
