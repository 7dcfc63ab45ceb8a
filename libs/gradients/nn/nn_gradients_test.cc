// The gradients of activations, biases and losses match numeric differences,
// whatever is known of the shapes while the graph is built.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/gradients/gradients.h"
#include "libs/gradients/testing/reference_evaluator.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/nn/nn_ops.h"

namespace weft {
namespace {

using testing::ElementsAre;
using Args = std::vector<GradientArg>;

void ExpectGradient(const std::string& op, const Args& args,
                    const AttrMap& attrs = {}) {
  for (GradientShapes shapes : {GradientShapes::kKnown, GradientShapes::kRank,
                                GradientShapes::kUnknown}) {
    const absl::StatusOr<double> error =
        OpGradientError(op, args, attrs, shapes);
    ASSERT_THAT(error, IsOk()) << op;
    EXPECT_LT(*error, 1e-5) << op << ", shapes " << static_cast<int>(shapes);
  }
}

std::vector<double> At(const std::string& op, const Tensor& x) {
  const auto gradients = OpGradientsAt(op, {x});
  EXPECT_THAT(gradients, IsOk()) << op;
  if (!gradients.ok()) return {};
  const auto flat = (*gradients)[0].flat<double>();
  return {flat.begin(), flat.end()};
}

TEST(ActivationGradientsTest, MatchDifferences) {
  for (const char* op : {"Relu", "Relu6", "Elu", "Selu", "Softplus", "Softsign",
                         "Softmax", "LogSoftmax"}) {
    ExpectGradient(op, {{2, 3}});
  }
  ExpectGradient("LeakyRelu", {{2, 3}}, {{"alpha", 0.3f}});
}

TEST(ActivationGradientsTest, SecondDerivativesMatchDifferences) {
  const GradientArg positive({2, 3}, 0.2, 0.9), negative({2, 3}, -0.9, -0.2);
  for (const char* op : {"ReluGrad", "Relu6Grad", "EluGrad", "SeluGrad",
                         "SoftplusGrad", "SoftsignGrad"}) {
    ExpectGradient(op, {{2, 3}, positive});
    ExpectGradient(op, {{2, 3}, negative});
  }
  ExpectGradient("LeakyReluGrad", {{2, 3}, negative}, {{"alpha", 0.3f}});
}

TEST(ActivationGradientsTest, RectifiersHaveSlopeZeroAtTheirCorners) {
  const Tensor x = Tensor::Vector({-1.0, 0.0, 3.0, 6.0, 7.0});
  EXPECT_THAT(At("Relu", x), ElementsAre(0, 0, 1, 1, 1));
  EXPECT_THAT(At("Relu6", x), ElementsAre(0, 0, 1, 0, 0));
}

// The input is not needed, so that it can be freed before the backward pass.
TEST(ActivationGradientsTest, ReluKeepsOnlyItsOutput) {
  const Scope root = Scope::Root();
  const Output x = ops::Placeholder(root, DT_FLOAT, {.shape = {2}});
  for (const char* op : {"Relu", "Relu6"}) {
    const Output y = root.AddOutput(op, {x});
    ASSERT_OK_AND_ASSIGN(const auto gradients, AddGradients(root, {y}, {x}));
    EXPECT_EQ(gradients[0].dense.node()->input(1).node, y.node());
  }
}

TEST(BiasGradientsTest, MatchDifferences) {
  ExpectGradient("BiasAdd", {{2, 3}, {3}});
  ExpectGradient("BiasAdd", {{2, 2, 3}, {3}});
  ExpectGradient("BiasAddGrad", {{2, 3}});
}

TEST(BiasGradientsTest, FormatIsPassedOn) {
  const Scope root = Scope::Root();
  const Output x = ops::Placeholder(root, DT_FLOAT, {.shape = {2, 3, 4, 5}});
  const Output bias = ops::Placeholder(root, DT_FLOAT, {.shape = {3}});
  const Output y =
      root.AddOutput("BiasAdd", {x, bias}, {{"data_format", "NCHW"}});
  ASSERT_OK_AND_ASSIGN(const auto gradients, AddGradients(root, {y}, {bias}));
  const Output grad = gradients[0].dense;
  EXPECT_EQ(*grad.node()->attr<std::string>("data_format"), "NCHW");
  EXPECT_EQ(grad.shape(), (PartialShape{3}));
}

TEST(BiasGradientsTest, UnknownRankOfNchwIsAnError) {
  const Scope root = Scope::Root();
  const Output x = ops::Placeholder(root, DT_FLOAT);
  const Output y =
      root.WithName("bias_grad")
          .AddOutput("BiasAddGrad", {x}, {{"data_format", "NCHW"}});
  EXPECT_THAT(AddGradients(root, {y}, {x}),
              StatusIs(absl::StatusCode::kUnimplemented,
                       "the gradient of bias_grad (BiasAddGrad) in format NCHW "
                       "needs the rank of its input to be known"));
}

TEST(CrossEntropyGradientsTest, MatchDifferences) {
  const Tensor labels =
      Tensor::FromValues<double>({2, 3}, {0.5, 0.3, 0.2, 0.1, 0.1, 0.8});
  ExpectGradient("SoftmaxCrossEntropyWithLogits", {{2, 3}, labels});
  ExpectGradient("SparseSoftmaxCrossEntropyWithLogits",
                 {{2, 3}, Tensor::Vector<int32_t>({2, 0})});
}

TEST(CrossEntropyGradientsTest, LabelsHaveAGradientToo) {
  const Scope root = Scope::Root();
  const Output labels = root.ToOutput(Tensor(DT_DOUBLE, {1, 2}));
  const Output logits = root.ToOutput(Tensor(DT_DOUBLE, {1, 2}));
  const Output loss =
      root.AddOutput("SoftmaxCrossEntropyWithLogits", {logits, labels});
  ASSERT_OK_AND_ASSIGN(const auto gradients,
                       AddGradients(root, {loss}, {labels}));
  ASSERT_OK_AND_ASSIGN(const auto values,
                       EvaluateByReference({}, {gradients[0].dense}));
  // -log(1/2)
  EXPECT_NEAR(values[0].flat<double>()[0], 0.69314718056, 1e-9);
  EXPECT_NEAR(values[0].flat<double>()[1], 0.69314718056, 1e-9);
}

TEST(TopKGradientsTest, GradientsReturnToTheirSources) {
  const Scope root = Scope::Root();
  const Output x = ops::Placeholder(root, DT_FLOAT, {.shape = {2, 4}});
  const Node* top = root.AddNode("TopKV2", {x, 2});
  ASSERT_NE(top, nullptr);
  ASSERT_OK_AND_ASSIGN(auto gradients,
                       AddGradients(root, {Output(top, 0)}, {x}));
  EXPECT_EQ(gradients[0].dense.node()->type(), "Reshape");
  EXPECT_EQ(gradients[0].dense.node()->input(0).node->type(),
            "UnsortedSegmentSum");
  EXPECT_EQ(gradients[0].dense.shape(), (PartialShape{2, 4}));
}

}  // namespace
}  // namespace weft
