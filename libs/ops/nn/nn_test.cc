// The graphs of normalization, dropout and losses: TensorFlow's names and
// types, and errors while building. Values are tested with the kernels.
#include "libs/ops/nn/nn.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/nn/nn_losses.h"
#include "libs/ops/nn/nn_sampled.h"

namespace weft::nn {
namespace {

class NnTest : public testing::Test {
 protected:
  Output In(DataType dtype, const PartialShape& shape) {
    return ops::Placeholder(root_, dtype, {.shape = shape});
  }
  void ExpectInvalid(const std::string& text) {
    EXPECT_THAT(root_.status(), StatusIs(kInvalid, text));
  }
  const Node* Find(const char* name) { return root_.graph().FindNode(name); }

  const Scope root_ = Scope::Root();
};

TEST_F(NnTest, MomentsReduceTheAxes) {
  const Output x = In(DT_FLOAT, {4, 5, 6});
  const MeanAndVariance all = Moments(root_, x, {0, 1});
  ASSERT_OK(root_.status());
  EXPECT_EQ(all.mean.shape(), (PartialShape{6}));
  EXPECT_EQ(all.variance.shape(), (PartialShape{6}));
  const MeanAndVariance kept = Moments(root_, x, {2}, {.keep_dims = true});
  EXPECT_EQ(kept.mean.shape(), (PartialShape{4, 5, 1}));
  EXPECT_NE(Find("moments/mean"), nullptr);
  EXPECT_NE(Find("moments_1/variance"), nullptr);
}

TEST_F(NnTest, MomentsOfHalfsAreSummedAsFloats) {
  const MeanAndVariance moments = Moments(root_, In(DT_HALF, {4, 5}), {0});
  ASSERT_OK(root_.status());
  EXPECT_EQ(moments.mean.dtype(), DT_HALF);
  EXPECT_EQ(Output(Find("moments/mean")).dtype(), DT_FLOAT);
}

// The variance's gradient must not flow through the mean twice.
TEST_F(NnTest, MomentsStopTheMeanInTheVariance) {
  Moments(root_, In(DT_FLOAT, {4, 5}), {0});
  ASSERT_OK(root_.status());
  const Node* squares = Find("moments/SquaredDifference");
  ASSERT_NE(squares, nullptr);
  EXPECT_EQ(squares->input(1).node->type(), "StopGradient");
}

TEST_F(NnTest, WeightsOfMomentsMustBroadcast) {
  const Output x = In(DT_FLOAT, {4, 5});
  const MeanAndVariance moments =
      WeightedMoments(root_, x, {0}, In(DT_FLOAT, {4, 1}));
  ASSERT_OK(root_.status());
  EXPECT_EQ(moments.mean.shape(), (PartialShape{5}));
  EXPECT_FALSE(WeightedMoments(root_, x, {0}, In(DT_FLOAT, {3, 4, 5})).mean);
  ExpectInvalid("Shapes [3,4,5] and [4,5] are incompatible");
}

TEST_F(NnTest, BatchNormalizationNeedsNoScaleAndOffset) {
  const Output x = In(DT_FLOAT, {4, 5}), mean = In(DT_FLOAT, {5});
  const Output variance = In(DT_FLOAT, {5});
  const Output plain =
      BatchNormalization(root_, x, mean, variance, Output(), Output(), 1e-3);
  ASSERT_OK(root_.status());
  EXPECT_EQ(plain.shape(), (PartialShape{4, 5}));
  EXPECT_EQ(Find("batchnorm/sub"), nullptr);
  BatchNormalization(root_, x, mean, variance, In(DT_FLOAT, {5}),
                     In(DT_FLOAT, {5}), 1e-3);
  ASSERT_OK(root_.status());
  EXPECT_NE(Find("batchnorm_1/sub"), nullptr);
}

TEST_F(NnTest, L2NormalizeHasTheNameOfItsScope) {
  const Output y = L2Normalize(root_, In(DT_FLOAT, {4, 5}), {1});
  ASSERT_OK(root_.status());
  EXPECT_EQ(y.name(), "l2_normalize:0");
  EXPECT_EQ(y.shape(), (PartialShape{4, 5}));
}

TEST_F(NnTest, DropoutThatKeepsAllIsTheInput) {
  const Output x = In(DT_FLOAT, {4, 5});
  EXPECT_EQ(Dropout(root_, x, 1.0), x);
  EXPECT_EQ(Dropout(root_, x, 1), x);
}

TEST_F(NnTest, DropoutSharesNoiseByItsShape) {
  const Output x = In(DT_FLOAT, {4, 5});
  const Output y =
      Dropout(root_, x, 0.5,
              {.noise_shape = Tensor::Vector<int32_t>({4, 1}), .seed = 7});
  ASSERT_OK(root_.status());
  EXPECT_EQ(y.shape(), (PartialShape{4, 5}));
  const Node* noise = nullptr;
  for (const Node* node : root_.graph().nodes()) {
    if (node->type() == "RandomUniform") noise = node;
  }
  ASSERT_NE(noise, nullptr);
  EXPECT_EQ(noise->output_shape(0), (PartialShape{4, 1}));
  EXPECT_EQ(*noise->attr<int64_t>("seed2"), 7);
}

TEST_F(NnTest, InvalidDropoutIsRejected) {
  const struct {
    DataType dtype;
    double keep_prob;
    const char* says;
  } cases[] = {
      {DT_INT32, 0.5, "must be a floating point tensor"},
      {DT_FLOAT, 0.0, "in the range (0, 1], got 0"},
      {DT_FLOAT, 1.5, "in the range (0, 1], got 1.5"},
  };
  for (const auto& c : cases) {
    const Scope root = Scope::Root();
    const Output x = ops::Placeholder(root, c.dtype, {.shape = {2}});
    EXPECT_FALSE(Dropout(root, x, c.keep_prob));
    EXPECT_THAT(root.status(), StatusIs(kInvalid, c.says));
  }
}

TEST_F(NnTest, LossesHaveTheShapeWithoutClasses) {
  const Output logits = In(DT_FLOAT, {4, 5, 6});
  EXPECT_EQ(
      SoftmaxCrossEntropyWithLogitsV2(root_, In(DT_FLOAT, {4, 5, 6}), logits)
          .shape(),
      (PartialShape{4, 5}));
  EXPECT_EQ(
      SparseSoftmaxCrossEntropyWithLogits(root_, In(DT_INT64, {4, 5}), logits)
          .shape(),
      (PartialShape{4, 5}));
  EXPECT_EQ(
      SigmoidCrossEntropyWithLogits(root_, In(DT_FLOAT, {4, 5, 6}), logits)
          .shape(),
      (PartialShape{4, 5, 6}));
  ASSERT_OK(root_.status());
}

TEST_F(NnTest, SparseLabelsNeedOneRankLess) {
  SparseSoftmaxCrossEntropyWithLogits(root_, In(DT_INT64, {4, 1}),
                                      In(DT_FLOAT, {4, 5}));
  ExpectInvalid(
      "`labels.shape.rank` must equal `logits.shape.rank - 1`. "
      "Received: labels.shape=[4,1] of rank 2 and logits.shape=[4,5] "
      "of rank 2");
}

TEST_F(NnTest, SparseLabelsNeedTheSameBatch) {
  SparseSoftmaxCrossEntropyWithLogits(root_, In(DT_INT64, {3}),
                                      In(DT_FLOAT, {4, 5}));
  ExpectInvalid(
      "except for the last dimension. Received: labels.shape=[3] and "
      "logits.shape=[4,5]");
}

TEST_F(NnTest, ScalarLogitsAreRejected) {
  SoftmaxCrossEntropyWithLogitsV2(root_, In(DT_FLOAT, TensorShape()),
                                  In(DT_FLOAT, TensorShape()));
  ExpectInvalid("`logits` cannot be a scalar");
}

TEST_F(NnTest, SigmoidLossNeedsEqualShapes) {
  SigmoidCrossEntropyWithLogits(root_, In(DT_FLOAT, {4}), In(DT_FLOAT, {4, 1}));
  ExpectInvalid(
      "`logits` and `labels` must have the same shape, received "
      "([4,1] vs [4]).");
}

TEST_F(NnTest, AxisOfTheClassesIsMovedToTheEnd) {
  const Output logits = In(DT_FLOAT, {4, 3, 5});
  const Output loss = SoftmaxCrossEntropyWithLogitsV2(
      root_, In(DT_FLOAT, {4, 3, 5}), logits, {.axis = 1});
  ASSERT_OK(root_.status());
  EXPECT_EQ(loss.shape(), (PartialShape{4, 5}));
  const Output softmax = Softmax(root_, logits, 0);
  ASSERT_OK(root_.status());
  EXPECT_EQ(softmax.shape(), logits.shape());
  EXPECT_EQ(softmax.node()->type(), "Transpose");
}

TEST_F(NnTest, InvalidAxisIsRejected) {
  const struct {
    PartialShape shape;
    int axis;
    const char* says;
  } cases[] = {
      {{2, 3}, 2, "axis (2) must be in the range [-2, 2)"},
      {{2, 3}, -3, "axis (-3) must be in the range [-2, 2)"},
      {PartialShape(), 0, "axis must be -1 because the rank of"},
  };
  for (const auto& c : cases) {
    const Scope root = Scope::Root();
    const Output x = ops::Placeholder(root, DT_FLOAT, {.shape = c.shape});
    EXPECT_FALSE(LogSoftmax(root, x, c.axis));
    EXPECT_THAT(root.status(), StatusIs(kInvalid, c.says));
  }
}

// Labels are data unless the V2 function is called.
TEST_F(NnTest, FirstSoftmaxLossStopsLabelGradients) {
  SoftmaxCrossEntropyWithLogits(root_, In(DT_FLOAT, {4, 5}),
                                In(DT_FLOAT, {4, 5}));
  ASSERT_OK(root_.status());
  const Node* stop =
      Find("softmax_cross_entropy_with_logits_sg/labels_stop_gradient");
  ASSERT_NE(stop, nullptr);
  EXPECT_EQ(stop->type(), "StopGradient");
}

class SampledLossTest : public NnTest {
 protected:
  Output Loss(int num_true, const Output& weights, const Output& labels) {
    const SampledValues sampled = {In(DT_INT64, {7}), In(DT_FLOAT, {4, 2}),
                                   In(DT_FLOAT, {7})};
    return NceLoss(root_, weights, In(DT_FLOAT, {50}), labels,
                   In(DT_FLOAT, {4, 3}), sampled, num_true);
  }
};

TEST_F(SampledLossTest, HasOneLossForEachRow) {
  const Output loss = Loss(2, In(DT_FLOAT, {50, 3}), In(DT_INT64, {4, 2}));
  ASSERT_OK(root_.status());
  EXPECT_EQ(loss.shape(), (PartialShape{4}));
}

TEST_F(SampledLossTest, OtherRanksAreRejected) {
  Loss(2, In(DT_FLOAT, {50, 3, 1}), In(DT_INT64, {4, 2}));
  ExpectInvalid("weights must have rank 2, but is of shape [50,3,1]");
}

TEST_F(SampledLossTest, LabelsAreAMatrix) {
  Loss(2, In(DT_FLOAT, {50, 3}), In(DT_INT64, {4}));
  ExpectInvalid("labels must have rank 2, but is of shape [4]");
}

TEST_F(SampledLossTest, NeedsATrueClass) {
  Loss(0, In(DT_FLOAT, {50, 3}), In(DT_INT64, {4, 0}));
  ExpectInvalid("num_true must be at least 1, not 0");
}

TEST_F(SampledLossTest, SamplerHasTheShapesOfItsArguments) {
  const SampledValues sampled = LogUniformCandidateSampler(
      root_, In(DT_INT64, {4, 2}), 2, 7, true, 50, {.seed = 3});
  ASSERT_OK(root_.status());
  EXPECT_EQ(sampled.sampled_candidates.shape(), (PartialShape{7}));
  EXPECT_EQ(sampled.true_expected_count.shape(), (PartialShape{4, 2}));
  EXPECT_EQ(sampled.sampled_expected_count.shape(), (PartialShape{7}));
}

}  // namespace
}  // namespace weft::nn
