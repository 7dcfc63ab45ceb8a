// Tests tf.losses from a program's perspective: values, node names, collections
// and errors. The expected numbers and names are those of TensorFlow 2.21
// (tf.compat.v1).
#include <limits>
#include <string>
#include <vector>

#include "integration_tests/testing/graph_test.h"

namespace weft {
namespace {

using losses::Reduction;

class LossesTest : public GraphTest {
 protected:
  Output Predictions() { return Matrix({{4, 8, 12}, {8, 1, 3}}); }
  Output Labels() { return Matrix({{1, 9, 2}, {-5, -2, 6}}); }
  Output Probabilities() { return Matrix({{.9f, .2f, .4f}, {.6f, .3f, .7f}}); }
  Output Classes() { return Matrix({{1, 0, 1}, {0, 1, 1}}); }
  Output Logits() { return Matrix({{1, -1, 2}, {-3, .5f, 0}}); }
  Output RowWeights() { return Matrix({{1.2f}, {0}}); }
  Output AllWeights() { return Matrix({{3, 6, 5}, {0, 4, 2}}); }
  Output Ints(std::initializer_list<int32_t> values) {
    return ops::Const(root_, Tensor::Vector(values));
  }
};

TEST_F(LossesTest, AbsoluteDifferenceMatchesTensorFlow) {
  const Output loss =
      losses::AbsoluteDifference(root_, Labels(), Predictions());
  EXPECT_EQ(loss.name(), "absolute_difference/value:0");
  EXPECT_EQ(losses::GetLosses(root_), std::vector<Output>{loss});
  EXPECT_THAT(Run(loss), FloatsNear({5.5f}));
}

TEST_F(LossesTest, WeightsScaleAndMask) {
  const auto loss = [&](const Input& weights) {
    return Run(losses::AbsoluteDifference(root_, Labels(), Predictions(),
                                          {.weights = weights}));
  };
  EXPECT_THAT(loss(2.5), FloatsNear({13.75f}));
  EXPECT_THAT(loss(0), FloatsNear({0}));
  EXPECT_THAT(loss(RowWeights()), FloatsNear({5.6f}));
  EXPECT_THAT(loss(AllWeights()), FloatsNear({16.6f}));
}

TEST_F(LossesTest, EachReductionMatchesTensorFlow) {
  const auto loss = [&](Reduction reduction) {
    return losses::AbsoluteDifference(
        root_, Labels(), Predictions(),
        {.weights = AllWeights(), .reduction = reduction});
  };
  const Output none = loss(Reduction::kNone);
  EXPECT_EQ(none.name(), "absolute_difference/Mul:0");
  EXPECT_THAT(Run(none), FloatsNear({9, 6, 50, 0, 12, 6}));
  const Output sum = loss(Reduction::kSum);
  EXPECT_EQ(sum.name(), "absolute_difference_1/Sum:0");
  EXPECT_THAT(Run(sum), FloatsNear({83}));
  EXPECT_THAT(Run(loss(Reduction::kSumOverBatchSize)),
              FloatsNear({13.833333f}));
  EXPECT_THAT(Run(loss(Reduction::kMean)), FloatsNear({4.15f}));
  EXPECT_THAT(Run(loss(Reduction::kSumByNonzeroWeights)), FloatsNear({16.6f}));
}

TEST_F(LossesTest, MeanSquaredErrorMatchesTensorFlow) {
  const Output loss = losses::MeanSquaredError(root_, Labels(), Predictions());
  EXPECT_EQ(loss.name(), "mean_squared_error/value:0");
  EXPECT_THAT(Run(loss), FloatsNear({49.5f}));
  EXPECT_THAT(Run(losses::MeanSquaredError(root_, Labels(), Predictions(),
                                           {.weights = AllWeights()})),
              FloatsNear({117.4f}));
}

TEST_F(LossesTest, LogLossMatchesTensorFlow) {
  const Output loss = losses::LogLoss(root_, Classes(), Probabilities());
  EXPECT_EQ(loss.name(), "log_loss/value:0");
  EXPECT_THAT(Run(loss), FloatsNear({0.62028867f}));
  EXPECT_THAT(Run(losses::LogLoss(root_, Classes(), Probabilities(),
                                  {.weights = RowWeights()})),
              FloatsNear({0.49791774f}));
}

TEST_F(LossesTest, HingeLossMatchesTensorFlow) {
  const Output loss = losses::HingeLoss(root_, Classes(), Predictions());
  EXPECT_EQ(loss.name(), "hinge_loss/value:0");
  EXPECT_THAT(Run(loss), FloatsNear({3}));
  const Output logits = Matrix({{-.7f, -1.4f, .3f}, {.5f, 2, .1f}});
  EXPECT_THAT(Run(losses::HingeLoss(root_, Classes(), logits,
                                    {.weights = RowWeights()})),
              FloatsNear({0.96f}));
}

TEST_F(LossesTest, HuberLossMatchesTensorFlow) {
  const Output loss = losses::HuberLoss(root_, Labels(), Predictions());
  EXPECT_EQ(loss.name(), "huber_loss/value:0");
  EXPECT_THAT(Run(loss), FloatsNear({5}));
  EXPECT_THAT(Run(losses::HuberLoss(root_, Classes(), Probabilities(),
                                    {.weights = AllWeights()}, 0.5)),
              FloatsNear({0.4f}));
}

TEST_F(LossesTest, CosineDistanceMatchesTensorFlow) {
  const Output loss =
      losses::CosineDistance(root_, Classes(), Probabilities(), 1);
  EXPECT_EQ(loss.name(), "cosine_distance_loss/value:0");
  EXPECT_THAT(Run(loss), FloatsNear({-0.15f}));
  EXPECT_THAT(Run(losses::CosineDistance(root_, Classes(), Probabilities(), 0,
                                         {.weights = Matrix({{1, 0, 2}})})),
              FloatsNear({-0.05f}));
}

TEST_F(LossesTest, SigmoidCrossEntropyMatchesTensorFlow) {
  const Output logits = Matrix({{100, -1, 2}, {-3, .5f, 0}});
  const Output loss = losses::SigmoidCrossEntropy(root_, Classes(), logits);
  EXPECT_EQ(loss.name(), "sigmoid_cross_entropy_loss/value:0");
  EXPECT_THAT(Run(loss), FloatsNear({0.27600020f}));
  EXPECT_THAT(
      Run(losses::SigmoidCrossEntropy(root_, Classes(), logits, {}, 0.2)),
      FloatsNear({2.05100036f}));
}

TEST_F(LossesTest, SoftmaxCrossEntropyMatchesTensorFlow) {
  const Output labels = ops::Reshape(root_, Ints({1, 0, 0, 0, 1, 0}), {2, 3});
  const Output loss = losses::SoftmaxCrossEntropy(root_, labels, Logits());
  EXPECT_EQ(loss.name(), "softmax_cross_entropy_loss/value:0");
  EXPECT_THAT(Run(loss), FloatsNear({0.92085570f}));
  EXPECT_THAT(
      Run(losses::SoftmaxCrossEntropy(root_, labels, Logits(),
                                      {.weights = Vector({1.5f, .5f})}, 0.2)),
      FloatsNear({1.25160074f}));
}

TEST_F(LossesTest, SparseSoftmaxCrossEntropyMatchesTensorFlow) {
  const Output loss =
      losses::SparseSoftmaxCrossEntropy(root_, Ints({2, 1}), Logits());
  EXPECT_EQ(loss.name(), "sparse_softmax_cross_entropy_loss/value:0");
  EXPECT_NE(Find("sparse_softmax_cross_entropy_loss/xentropy/xentropy"),
            nullptr);
  EXPECT_THAT(Run(loss), FloatsNear({0.42085570f}));
}

TEST_F(LossesTest, LabelAndWeightColumnsAreSqueezed) {
  const Output labels = ops::Reshape(root_, Ints({0, 1}), {2, 1});
  EXPECT_THAT(
      Run(losses::SparseSoftmaxCrossEntropy(
          root_, labels, Logits(), {.weights = Matrix({{1.5f}, {.5f}})})),
      FloatsNear({1.13493395f}));
}

TEST_F(LossesTest, TotalIncludesRegularizationLosses) {
  losses::AbsoluteDifference(root_, Labels(), Predictions());
  losses::MeanSquaredError(root_, Labels(), Predictions());
  root_.AddToCollection(collection::kRegularizationLosses, Vector({0.25f}));
  const Output part = losses::GetRegularizationLoss(root_);
  EXPECT_EQ(part.name(), "total_regularization_loss:0");
  EXPECT_THAT(Run(part), FloatsNear({0.25f}));
  const Output without = losses::GetTotalLoss(root_, false);
  EXPECT_EQ(without.name(), "total_loss:0");
  EXPECT_THAT(Run(without), FloatsNear({55}));
}

TEST_F(LossesTest, RegularizersOfVariablesAreAdded) {
  ops::GetVariable(root_, "a",
                   {.initial_value = Tensor::Vector<float>({1, -2, 3}),
                    .regularizer = losses::L1Regularizer(0.5)});
  ops::GetVariable(root_, "b",
                   {.initial_value = Tensor::Vector<float>({1, -2, 3}),
                    .regularizer = losses::L2Regularizer(0.1)});
  ops::GetVariable(root_, "c",
                   {.initial_value = Tensor::Vector<float>({1, -2, 3}),
                    .regularizer = losses::L2Regularizer(0)});
  EXPECT_EQ(losses::GetRegularizationLosses(root_).size(), 2u);
  const Output total = losses::GetTotalLoss(root_);
  InitializeVariables();
  EXPECT_THAT(Run(total), FloatsNear({3 + 0.7f}));
}

TEST_F(LossesTest, LossWithoutRegularizersIsZero) {
  EXPECT_THAT(Run(losses::GetRegularizationLoss(root_)), FloatsNear({0}));
}

TEST_F(LossesTest, LossCollectionIsConfigurable) {
  losses::AbsoluteDifference(root_, Labels(), Predictions(),
                             {.loss_collection = "mine"});
  losses::AbsoluteDifference(root_, Labels(), Predictions(),
                             {.loss_collection = ""});
  ASSERT_OK(root_.status());
  EXPECT_EQ(losses::GetLosses(root_).size(), 0u);
  EXPECT_EQ(losses::GetLosses(root_, "mine").size(), 1u);
}

TEST_F(LossesTest, LossCanBeMinimized) {
  const ops::Variable w(root_.WithName("w"), Tensor(DT_FLOAT, {3, 2}));
  const Output x = Matrix({{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 0}});
  const Output labels = Ints({0, 1, 0, 1});
  const Output loss = losses::SparseSoftmaxCrossEntropy(
      root_, labels, ops::MatMul(root_, x, w));
  const Operation train = train::GradientDescent(1.0f).Minimize(root_, loss);
  InitializeVariables();
  const float before = Run(loss)[0];
  for (int i = 0; i < 20; ++i) RunOperation(train);
  EXPECT_NEAR(before, 0.6931472f, 1e-6);
  EXPECT_LT(Run(loss)[0], 0.35f);
}

// ---- sizes known only at run time ----

TEST_F(LossesTest, WeightsOfUnknownShapeAreCheckedByTheStep) {
  const Output values = ops::Placeholder(root_, DT_FLOAT);
  const Output weights = ops::Placeholder(root_, DT_FLOAT);
  const Output loss =
      losses::ComputeWeightedLoss(root_, values, {.weights = weights});
  const Tensor rows =
      Tensor::FromValues<float>(TensorShape({2, 3}), {1, 2, 3, 4, 5, 6});
  const auto run = [&](const Tensor& given) {
    return session().Run({{values, rows}, {weights, given}}, loss);
  };
  ASSERT_OK(root_.status());
  ASSERT_OK_AND_ASSIGN(Tensor scalar, run(Tensor::Scalar(2.0f)));
  EXPECT_FLOAT_EQ(scalar.scalar<float>(), 7);
  ASSERT_OK_AND_ASSIGN(Tensor column, run(Tensor::FromValues<float>(
                                          TensorShape({2, 1}), {1, 0})));
  EXPECT_FLOAT_EQ(column.scalar<float>(), 2);
  // Wrong weights: a row could be broadcast to the values, but has another
  // rank, and two columns do not match one column.
  for (const Tensor& bad :
       {Tensor::Vector<float>({1, 1, 1}),
        Tensor::FromValues<float>(TensorShape({1, 2}), {1, 1})}) {
    EXPECT_THAT(run(bad),
                StatusIs(kInvalid, "weights can not be broadcast to values."));
  }
}

// ---- errors ----

TEST_F(LossesTest, MismatchedShapesAreRejected) {
  losses::AbsoluteDifference(root_, Vector({1, 2}), Predictions());
  EXPECT_THAT(root_.status(), StatusIs(kInvalid, "are incompatible"));
}

TEST_F(LossesTest, WeightsOfWrongRankAreRejected) {
  losses::AbsoluteDifference(root_, Labels(), Predictions(),
                             {.weights = Vector({1, 2})});
  EXPECT_THAT(root_.status(),
              StatusIs(kInvalid,
                       "weights can not be broadcast to values. values.rank=2. "
                       "weights.rank=1."));
  EXPECT_TRUE(losses::GetLosses(root_).empty());
}

TEST_F(LossesTest, WeightsOfWrongSizeAreRejected) {
  losses::AbsoluteDifference(root_, Labels(), Predictions(),
                             {.weights = Matrix({{1, 2}})});
  EXPECT_THAT(
      root_.status(),
      StatusIs(kInvalid,
               "weights can not be broadcast to values. Mismatch at dim "
               "1."));
}

TEST_F(LossesTest, LabelsOfWrongClassCountAreRejected) {
  losses::SoftmaxCrossEntropy(root_, Matrix({{1, 0}, {0, 1}}), Logits());
  EXPECT_THAT(root_.status(), StatusIs(kInvalid, "are incompatible"));
}

TEST_F(LossesTest, TooManyLabelsAreRejected) {
  losses::SparseSoftmaxCrossEntropy(root_, Ints({2, 1, 1}), Logits());
  EXPECT_THAT(
      root_.status(),
      StatusIs(kInvalid,
               "`labels.shape` must equal `logits.shape` except for the "
               "last dimension. Received: labels.shape=[3]"));
}

TEST_F(LossesTest, NullArgumentsAreRejected) {
  losses::MeanSquaredError(root_, Output(), Predictions());
  EXPECT_THAT(root_.status(), StatusIs(kInvalid, "labels must not be null"));
}

TEST_F(LossesTest, TotalWithoutLossesIsRejected) {
  losses::GetTotalLoss(root_);
  EXPECT_THAT(root_.status(), StatusIs(kInvalid, "at least one Tensor"));
}

TEST_F(LossesTest, NegativeScaleIsRejected) {
  for (const double scale : {-1.0, std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity()}) {
    const Scope scope = Scope::Root();
    ops::GetVariable(
        scope, "a",
        {.initial_value = 1.0f, .regularizer = losses::L2Regularizer(scale)});
    EXPECT_THAT(scope.status(),
                StatusIs(kInvalid, "Setting a scale less than 0"))
        << scale;
  }
}

}  // namespace
}  // namespace weft
