#include "libs/passes/constant_folding.h"

#include "gtest/gtest.h"
#include "libs/kernels/standard/standard_kernels.h"
#include "libs/kernels/testing/kernel_test_harness.h"
#include "libs/passes/testing/small_graph.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ConstantFoldingTest : public ::testing::Test {
 protected:
  Rewritten Fold() {
    GraphRewrite rewrite(g_.graph());
    FoldConstants(options_, rewrite);
    return Rewritten(rewrite);
  }

  absl::StatusOr<std::vector<Tensor>> Evaluate(
      const Node& node, absl::Span<const Tensor> inputs) {
    evaluated_.push_back(node.name());
    return harness_.Run(node.type(),
                        std::vector<KernelInput>(inputs.begin(), inputs.end()),
                        node.attrs());
  }

  KernelTestHarness harness_{RegisterStandardKernels};
  SmallGraph g_;
  std::vector<std::string> evaluated_;
  ConstantFoldingOptions options_{
      .evaluate = [this](const Node& node, absl::Span<const Tensor> inputs) {
        return Evaluate(node, inputs);
      }};
};

TEST_F(ConstantFoldingTest, ExpressionIsFoldedIntoOneConstant) {
  const Node* a = g_.Const("a", Tensor::Vector<float>({1, 2}));
  const Node* b = g_.Const("b", Tensor::Scalar(3.0f));
  const Node* sum = g_.Add("Add", "sum", {a, b});
  const Node* same = g_.Add("Identity", "same", {sum});
  const Node* product = g_.Add("Mul", "product", {same, sum});
  g_.Fetch(g_.Add("Add", "y", {product, g_.Arg("x")}));
  const Rewritten result = Fold();
  EXPECT_EQ(result.graph().num_nodes(), 4);  // x, product, y, the fetch
  ASSERT_NE(result.Value("product"), nullptr);
  EXPECT_TRUE(
      SameBits(*result.Value("product"), Tensor::Vector<float>({16, 25})));
  EXPECT_EQ(result.Find("product")->assigned_device(), kCpu);
  EXPECT_THAT(evaluated_, ElementsAre("sum", "same", "product"));
}

TEST_F(ConstantFoldingTest, TheConstantStaysWhereItsNodeWas) {
  const Node* a = g_.Const("a", Tensor::Scalar(1.0f));
  g_.Fetch(g_.Add("Neg", "y", {a}, {}, {}, kOtherCpu));
  EXPECT_EQ(Fold().Find("y")->assigned_device(), kOtherCpu);
}

TEST_F(ConstantFoldingTest, AllOutputsAreFolded) {
  const Node* shape = g_.Const("shape", Tensor::Vector<int32_t>({2, 3}));
  const Node* other = g_.Const("other", Tensor::Vector<int32_t>({3}));
  const Node* axes = g_.Add("BroadcastGradientArgs", "axes", {shape, other});
  g_.Fetch(axes, 0);
  g_.Fetch(axes, 1);
  const Rewritten result = Fold();
  EXPECT_FALSE(result.Has("axes"));
  const Node* second = result.graph().nodes().back()->input(0).node;
  EXPECT_TRUE(
      SameBits(*second->attr<Tensor>("value"), Tensor::Vector<int32_t>({0})));
}

// On the branch not taken the constant is as dead as the node was.
TEST_F(ConstantFoldingTest, FoldedConstantKeepsControlInputs) {
  const Node* first = g_.Effect("first");
  const Node* second = g_.Effect("second");
  const Node* a = g_.Const("a", Tensor::Scalar(1.0f), {first});
  const Node* b = g_.Const("b", Tensor::Scalar(1.0f));
  g_.Fetch(g_.Add("Add", "y", {a, b}, {}, {second}));
  const Rewritten result = Fold();
  ASSERT_NE(result.Value("y"), nullptr);
  EXPECT_THAT(result.Controls("y"), ElementsAre("first", "second"));
}

TEST_F(ConstantFoldingTest, AFailureIsLeftToTheStep) {
  const Node* a = g_.Const("a", Tensor::Scalar<int32_t>(1));
  const Node* zero = g_.Const("zero", Tensor::Scalar<int32_t>(0));
  g_.Fetch(g_.Add("FloorDiv", "y", {a, zero}));
  const Rewritten result = Fold();
  EXPECT_THAT(evaluated_, ElementsAre("y"));
  ASSERT_TRUE(result.Has("y"));
  EXPECT_EQ(result.Find("y")->type(), "FloorDiv");
  EXPECT_EQ(result.Input("y", 1), "zero:0");
}

TEST_F(ConstantFoldingTest, ALargeResultIsLeftToTheStep) {
  const Node* x = g_.Const("x", Tensor::Scalar(1.0f));
  const Node* few = g_.Const("few", Tensor::Vector<int32_t>({25 * 1024}));
  const Node* many = g_.Const("many", Tensor::Vector<int32_t>({25 * 1024 + 1}));
  g_.Fetch(g_.Add("Fill", "small", {few, x}));
  g_.Fetch(g_.Add("Fill", "large", {many, x}));
  const Rewritten result = Fold();
  EXPECT_NE(result.Value("small"), nullptr);
  EXPECT_EQ(result.Value("large"), nullptr);
}

TEST_F(ConstantFoldingTest, KnownTooLargeResultIsNotEvaluated) {
  const Node* x = g_.Const("x", Tensor::Scalar(1.0f));
  const Node* sizes = g_.Const("sizes", Tensor::Vector<int32_t>({1 << 30}));
  g_.Fetch(g_.Add("Fill", "y", {sizes, x}));
  Fold();
  EXPECT_THAT(evaluated_, IsEmpty());
}

TEST_F(ConstantFoldingTest, LimitCountsStringBytes) {
  const Node* text = g_.Const("text", Tensor::Scalar(std::string(800, 'x')));
  const Node* joined = g_.Add("StringJoin", "joined", {text, text});
  g_.Fetch(joined);
  options_.max_bytes = 1000;
  EXPECT_EQ(Fold().Value("joined"), nullptr);
  options_.max_bytes = 2000;
  EXPECT_NE(Fold().Value("joined"), nullptr);
}

TEST_F(ConstantFoldingTest, TotalFoldedBytesAreLimited) {
  const Node* x = g_.Const("x", Tensor::Scalar(1.0f));
  const Node* ten = g_.Const("ten", Tensor::Vector<int32_t>({10}));
  g_.Fetch(g_.Add("Fill", "first", {ten, x}));
  g_.Fetch(g_.Add("Fill", "second", {ten, x}));
  options_.max_total_bytes = 50;
  const Rewritten result = Fold();
  EXPECT_NE(result.Value("first"), nullptr);
  EXPECT_EQ(result.Value("second"), nullptr);
}

TEST_F(ConstantFoldingTest, LargeInputsAreLeftToTheStep) {
  const Node* x = g_.Const("x", Tensor(DT_FLOAT, {1000}));
  const Node* axis = g_.Const("axis", Tensor::Scalar<int32_t>(0));
  g_.Fetch(g_.Add("Sum", "sum", {x, axis}));
  options_.max_input_bytes = 4000;
  EXPECT_EQ(Fold().Value("sum"), nullptr);
  options_.max_input_bytes = 4004;
  EXPECT_NE(Fold().Value("sum"), nullptr);
}

TEST_F(ConstantFoldingTest, ImpureNodesAreNotEvaluated) {
  const Node* one = g_.Const("one", Tensor::Scalar(1.0f));
  const Node* shape = g_.Const("shape", Tensor::Vector<int32_t>({2}));
  const Node* pred = g_.Const("pred", Tensor::Scalar(true));
  g_.Fetch(g_.Add("RandomUniform", "random", {shape}, {{"dtype", DT_FLOAT}}));
  g_.Fetch(g_.Add("CheckNumerics", "check", {one}, {{"message", "bad"}}));
  g_.Fetch(g_.Add("PlaceholderWithDefault", "default", {one},
                  {{"shape", PartialShape::Scalar()}}));
  g_.Fetch(g_.Add("Switch", "switch", {one, pred}));
  const Node* v =
      g_.Add("VariableV2", "v", {},
             {{"dtype", DT_FLOAT}, {"shape", PartialShape::Scalar()}});
  g_.Add("Assign", "assign", {v, one});
  const Rewritten result = Fold();
  EXPECT_THAT(evaluated_, IsEmpty());
  EXPECT_EQ(result.graph().num_nodes(), g_.graph().num_nodes());
}

TEST_F(ConstantFoldingTest, FedTensorIsNotConstant) {
  const Node* one = g_.Const("one", Tensor::Scalar(1.0f));
  g_.Fetch(g_.Add("Add", "y", {g_.Arg("x"), one}));
  EXPECT_EQ(Fold().Find("y")->type(), "Add");
}

}  // namespace
}  // namespace weft
