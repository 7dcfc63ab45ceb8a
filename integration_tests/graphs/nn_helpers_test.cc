// Tests composite functions of tf.nn from a program's perspective. The expected
// numbers and node names are those of TensorFlow 2.21 (tf.compat.v1).
#include <string>
#include <vector>

#include "integration_tests/testing/graph_test.h"

namespace weft {
namespace {

class NnTest : public GraphTest {
 protected:
  Output X() { return Matrix({{1, -2, 3}, {.5f, 4, -1}}); }
  Output Y() { return Matrix({{1, 0, 1}, {0, 1, .5f}}); }
  Output Ints(std::initializer_list<int32_t> values) {
    return ops::Const(root_, Tensor::Vector(values));
  }
};

TEST_F(NnTest, MomentsMatchTensorFlow) {
  const auto m = nn::Moments(root_, X(), {0});
  EXPECT_EQ(m.mean.name(), "moments/Squeeze:0");
  EXPECT_EQ(m.variance.name(), "moments/Squeeze_1:0");
  EXPECT_THAT(Run(m.mean), FloatsNear({.75f, 1, 1}));
  EXPECT_THAT(Run(m.variance), FloatsNear({.0625f, 9, 4}));
  const auto kept = nn::Moments(root_, X(), {0, 1}, {.keep_dims = true});
  EXPECT_EQ(kept.mean.name(), "moments_1/mean:0");
  EXPECT_EQ(kept.mean.shape(), PartialShape({1, 1}));
  EXPECT_THAT(Run(kept.mean), FloatsNear({.91666669f}));
  EXPECT_THAT(Run(kept.variance), FloatsNear({4.36805534f}));
}

TEST_F(NnTest, MomentsOfHalfAreSummedAsFloats) {
  const Output half = ops::Cast(root_, Vector({2048, 2049, 2050}), DT_HALF);
  const auto m = nn::Moments(root_, half, {0});
  ASSERT_OK(root_.status());
  EXPECT_EQ(m.mean.dtype(), DT_HALF);
  EXPECT_THAT(Run(ops::Cast(root_, m.mean, DT_FLOAT)),
              FloatsNear({2049.3f}, 1));
}

TEST_F(NnTest, WeightedMomentsMatchTensorFlow) {
  const auto m = nn::WeightedMoments(root_, X(), {0}, Matrix({{1}, {3}}));
  EXPECT_EQ(m.mean.name(), "weighted_moments/Squeeze:0");
  EXPECT_THAT(Run(m.mean), FloatsNear({.625f, 2.5f, 0}));
  EXPECT_THAT(Run(m.variance), FloatsNear({.046875f, 6.75f, 3}));
  const auto kept = nn::WeightedMoments(
      root_, X(), {1}, Matrix({{1, 2, .5f}, {3, 1, 1}}), {.keep_dims = true});
  EXPECT_THAT(Run(kept.mean), FloatsNear({-.42857143f, .9f}));
  EXPECT_THAT(Run(kept.variance), FloatsNear({3.67346931f, 2.73999977f}));
}

TEST_F(NnTest, BatchNormalizationMatchesTensorFlow) {
  const Output y = nn::BatchNormalization(
      root_, X(), Vector({.5f, 1, 1}), Vector({1, 2, .25f}),
      Vector({.1f, .2f, .3f}), Vector({2, 1, .5f}), 1e-3);
  EXPECT_EQ(y.name(), "batchnorm/add_1:0");
  EXPECT_THAT(Run(y), FloatsNear({1.09950042f, -1.92079031f, 2.29601192f, .1f,
                                  2.32079029f, -1.69601201f}));
  EXPECT_THAT(Run(nn::BatchNormalization(root_, X(), Vector({.5f, 1, 1}),
                                         Vector({1, 2, .25f}), Output(),
                                         Output(), 1e-3)),
              FloatsNear({.49975020f, -2.12079024f, 3.99202394f, 0, 2.12079024f,
                          -3.99202418f}));
}

TEST_F(NnTest, L2NormalizeMatchesTensorFlow) {
  const Output y = nn::L2Normalize(root_, X(), {1});
  EXPECT_EQ(y.name(), "l2_normalize:0");
  EXPECT_THAT(Run(y), FloatsNear({.26726124f, -.53452248f, .80178368f,
                                  .12038586f, .96308684f, -.24077171f}));
  EXPECT_THAT(Run(nn::L2Normalize(root_, X(), {0, 1}, 100)),
              FloatsNear({.1f, -.2f, .3f, .05f, .4f, -.1f}));
}

// ---- dropout ----

TEST_F(NnTest, DropoutMatchesTensorFlow) {
  root_.SetGraphSeed(7);
  const Output x = Vector({1, 2, 3, 4, 5, 6, 7, 8});
  const std::vector<float> expected = {1.66666663f,  0, 0, 0, 8.33333302f, 10,
                                       11.66666603f, 0};
  const Output y = nn::Dropout(root_, x, 0.6, {.seed = 3});
  EXPECT_EQ(y.name(), "dropout/SelectV2:0");
  EXPECT_THAT(Run(y), FloatsNear(expected));
  const Output keep = ops::Const(root_, 0.6f);
  EXPECT_THAT(Run(nn::Dropout(root_, x, keep, {.seed = 3})),
              FloatsNear(expected));
}

TEST_F(NnTest, DropoutMayDropWholeRows) {
  const Output ones = ops::Fill(root_, {64, 3}, 1.0f);
  const std::vector<float> kept = Run(
      nn::Dropout(root_, ones, 0.5, {.noise_shape = Ints({64, 1}), .seed = 3}));
  ASSERT_EQ(kept.size(), 192u);
  int dropped = 0;
  for (size_t i = 0; i < kept.size(); i += 3) {
    EXPECT_TRUE(kept[i] == 0 || kept[i] == 2) << kept[i];
    EXPECT_EQ(kept[i], kept[i + 1]);
    EXPECT_EQ(kept[i], kept[i + 2]);
    dropped += kept[i] == 0;
  }
  EXPECT_GT(dropped, 16);
  EXPECT_LT(dropped, 48);
}

TEST_F(NnTest, KeepProbabilityOneDropsNoElement) {
  const Output x = X();
  EXPECT_EQ(nn::Dropout(root_, x, 1.0), x);
}

TEST_F(NnTest, GradientsFlowThroughKeptElements) {
  const ops::Variable w(root_.WithName("w"),
                        Tensor::Vector<float>({1, 2, 3, 4}));
  const Output y = nn::Dropout(root_, w, 0.5, {.seed = 5});
  const auto gradients =
      AddGradients(root_, {ops::Sum(root_, y, {0})}, {w.handle()});
  ASSERT_OK(gradients);
  InitializeVariables();
  auto both =
      session().Run({}, std::vector<Output>{y, (*gradients)[0].dense, w});
  ASSERT_OK(both);
  for (int i = 0; i < 4; ++i) {
    EXPECT_FLOAT_EQ((*both)[1].flat<float>()[i] * (*both)[2].flat<float>()[i],
                    (*both)[0].flat<float>()[i]);
  }
}

TEST_F(NnTest, ProbabilitiesOutOfRangeAreRejected) {
  for (const double keep : {0.0, -0.5, 1.5}) {
    const Scope scope = Scope::Root();
    nn::Dropout(scope, ops::Const(scope, {1.0f, 2.0f}), keep);
    EXPECT_THAT(scope.status(), StatusIs(kInvalid, "in the range (0, 1]"));
  }
}

TEST_F(NnTest, DropoutOfIntegersIsRejected) {
  nn::Dropout(root_, Ints({1, 2}), 0.5);
  EXPECT_THAT(root_.status(),
              StatusIs(kInvalid, "must be a floating point tensor"));
}

// ---- cross entropies ----

TEST_F(NnTest, SigmoidCrossEntropyMatchesTensorFlow) {
  const Output y = nn::SigmoidCrossEntropyWithLogits(root_, Y(), X());
  EXPECT_EQ(y.name(), "logistic_loss:0");
  EXPECT_THAT(Run(y), FloatsNear({.31326169f, .12692800f, .04858735f,
                                  .97407699f, .01814993f, .81326169f}));
}

TEST_F(NnTest, LargeLogitsDoNotOverflow) {
  EXPECT_THAT(Run(nn::SigmoidCrossEntropyWithLogits(root_, Vector({1, 0}),
                                                    Vector({-1000, 1000}))),
              FloatsNear({1000, 1000}));
}

TEST_F(NnTest, WeightedCrossEntropyMatchesTensorFlow) {
  const Output y = nn::WeightedCrossEntropyWithLogits(root_, Y(), X(), 2.0);
  EXPECT_EQ(y.name(), "logistic_loss:0");
  EXPECT_THAT(Run(y), FloatsNear({.62652338f, .12692809f, .09717470f,
                                  .97407699f, .03629986f, 1.46989262f}));
}

TEST_F(NnTest, SoftmaxCrossEntropyMatchesTensorFlow) {
  const Output y = nn::SoftmaxCrossEntropyWithLogits(root_, Y(), X());
  EXPECT_EQ(y.name(), "softmax_cross_entropy_with_logits_sg/Reshape_2:0");
  EXPECT_THAT(Run(y), FloatsNear({2.26569033f, 2.55440450f}));
  const Output v2 = nn::SoftmaxCrossEntropyWithLogitsV2(root_, Y(), X());
  EXPECT_EQ(v2.name(), "softmax_cross_entropy_with_logits/Reshape_2:0");
  EXPECT_EQ(v2.shape(), PartialShape({2}));
  EXPECT_THAT(Run(v2), FloatsNear({2.26569033f, 2.55440450f}));
}

TEST_F(NnTest, SoftmaxCrossEntropyAlongAnotherAxis) {
  EXPECT_THAT(
      Run(nn::SoftmaxCrossEntropyWithLogitsV2(root_, Y(), X(), {.axis = 0})),
      FloatsNear({.47407699f, .00247565f, 2.02722478f}));
}

TEST_F(NnTest, SoftmaxCrossEntropyOfHigherRank) {
  const Output x = ops::Stack(root_, {X(), Y()});
  const Output y = ops::Stack(root_, {Y(), Y()});
  const Output loss = nn::SoftmaxCrossEntropyWithLogitsV2(root_, y, x);
  EXPECT_EQ(loss.shape(), PartialShape({2, 2}));
  EXPECT_THAT(Run(loss),
              FloatsNear({2.26569033f, 2.55440450f, 1.72398961f, 1.27040458f}));
}

TEST_F(NnTest, SoftmaxCrossEntropyOfUnknownRank) {
  const Output x = ops::Placeholder(root_, DT_FLOAT);
  const Output loss = nn::SoftmaxCrossEntropyWithLogitsV2(root_, x, x);
  EXPECT_THAT(Run({{x, Tensor::FromValues<float>(TensorShape({1, 1, 2}),
                                                 {0.5f, 0.5f})}},
                  loss),
              FloatsNear({.69314718f}));
}

TEST_F(NnTest, OnlyVersion2DifferentiatesLabels) {
  const Output y = Y(), x = X();
  const Output v1 = nn::SoftmaxCrossEntropyWithLogits(root_, y, x);
  const Output v2 = nn::SoftmaxCrossEntropyWithLogitsV2(root_, y, x);
  const auto g1 = AddGradients(root_, {v1}, {y, x});
  const auto g2 = AddGradients(root_, {v2}, {y, x});
  ASSERT_OK(g1);
  ASSERT_OK(g2);
  EXPECT_TRUE((*g1)[0].IsNone());
  EXPECT_FALSE((*g2)[0].IsNone());
  EXPECT_THAT(Run((*g1)[1].dense),
              FloatsNear({-.88150036f, .00589975f, -.12439942f, .02912176f,
                          -.03561968f, -.49350205f}));
}

TEST_F(NnTest, SparseSoftmaxCrossEntropy) {
  const Output y =
      nn::SparseSoftmaxCrossEntropyWithLogits(root_, Ints({2, 0}), X());
  EXPECT_EQ(y.name(),
            "SparseSoftmaxCrossEntropyWithLogits/"
            "SparseSoftmaxCrossEntropyWithLogits:0");
  EXPECT_THAT(Run(y), FloatsNear({.13284527f, 3.53626966f}));
}

TEST_F(NnTest, SparseSoftmaxCrossEntropyOfHigherRank) {
  const Output labels = ops::Reshape(root_, Ints({2, 0, 1, 1}), {2, 2});
  const Output loss = nn::SparseSoftmaxCrossEntropyWithLogits(
      root_, labels, ops::Stack(root_, {X(), Y()}));
  EXPECT_EQ(loss.name(), "SparseSoftmaxCrossEntropyWithLogits/Reshape_2:0");
  EXPECT_EQ(loss.shape(), PartialShape({2, 2}));
  EXPECT_THAT(Run(loss),
              FloatsNear({.13284527f, 3.53626966f, 1.86199474f, .68026966f}));
}

TEST_F(NnTest, SoftmaxAlongAnotherAxis) {
  EXPECT_THAT(Run(nn::Softmax(root_, X(), 0)),
              FloatsNear({.62245935f, .00247262f, .98201376f, .37754068f,
                          .99752742f, .01798621f}));
  const Output log = nn::LogSoftmax(root_, X());
  EXPECT_EQ(log.name(), "LogSoftmax:0");
  EXPECT_THAT(Run(log), FloatsNear({-2.13284516f, -5.13284540f, -.13284527f,
                                    -3.53626966f, -.03626956f, -5.03626966f}));
  EXPECT_THAT(Run(nn::LogSoftmax(root_, X(), 0)),
              FloatsNear({-.47407699f, -6.00247574f, -.01814996f, -.97407699f,
                          -.00247565f, -4.01814985f}));
}

TEST_F(NnTest, InTopKMatchesTensorFlow) {
  const Output in = nn::InTopK(root_, X(), Ints({2, 0}), 1);
  EXPECT_EQ(in.name(), "in_top_k/InTopKV2:0");
  EXPECT_THAT(Run(ops::Cast(root_, in, DT_FLOAT)), FloatsNear({1, 0}));
}

TEST_F(NnTest, MismatchedLabelShapesAreRejected) {
  nn::SigmoidCrossEntropyWithLogits(root_, Matrix({{1, 0}}), X());
  EXPECT_THAT(root_.status(),
              StatusIs(kInvalid,
                       "`logits` and `labels` must have the same shape, "
                       "received ([2,3] vs [1,2])."));
}

TEST_F(NnTest, LabelsWithRankOfLogitsAreRejected) {
  const Output labels = ops::Reshape(root_, Ints({2, 1}), {2, 1});
  nn::SparseSoftmaxCrossEntropyWithLogits(root_, labels, X());
  EXPECT_THAT(
      root_.status(),
      StatusIs(kInvalid,
               "`labels.shape.rank` must equal `logits.shape.rank - 1`."));
}

TEST_F(NnTest, ScalarLogitIsRejected) {
  nn::SparseSoftmaxCrossEntropyWithLogits(root_, 1, ops::Const(root_, 1.0f));
  EXPECT_THAT(root_.status(),
              StatusIs(kInvalid, "`logits` cannot be a scalar"));
}

TEST_F(NnTest, AxisOutOfRangeIsRejected) {
  for (const int axis : {2, -3}) {
    const Scope scope = Scope::Root();
    nn::Softmax(scope, ops::Fill(scope, {2, 3}, 1.0f), axis);
    EXPECT_THAT(scope.status(),
                StatusIs(kInvalid, "must be in the range [-2, 2)"));
  }
}

// ---- sampled losses ----

class SampledTest : public GraphTest {
 protected:
  static constexpr float kThird = 2 / 17.0f;
  // Returns np.linspace(-1, 1, 18) as the weights of 6 classes with 3 columns.
  Output Weights() {
    std::vector<std::vector<float>> rows(6, std::vector<float>(3));
    for (int i = 0; i < 18; ++i) rows[i / 3][i % 3] = -1 + i * kThird;
    return Matrix(rows);
  }
  Output Biases() { return Vector({.5f, .3f, .1f, -.1f, -.3f, -.5f}); }
  Output X() { return Matrix({{1, -2, 3}, {.5f, 4, -1}}); }
  Output Labels(std::initializer_list<int64_t> labels) {
    return ops::Reshape(root_, Tensor::Vector(labels), {2, -1});
  }
  nn::SampledValues Sampled(const Output& true_count) {
    return {ops::Const(root_, Tensor::Vector<int64_t>({1, 4, 0})), true_count,
            Vector({.3f, .2f, .6f})};
  }
  nn::SampledValues Sampled() { return Sampled(Matrix({{.5f}, {.25f}})); }
};

TEST_F(SampledTest, NceLossMatchesTensorFlow) {
  EXPECT_THAT(Run(nn::NceLoss(root_, Weights(), Biases(), Labels({2, 4}), X(),
                              Sampled())),
              FloatsNear({4.64359903f, 3.66075969f}));
  EXPECT_THAT(Run(nn::NceLoss(root_, Weights(), Biases(), Labels({2, 4}), X(),
                              Sampled(), 1, {.remove_accidental_hits = true})),
              FloatsNear({4.64359903f, .62559092f}));
}

TEST_F(SampledTest, SeveralTrueClassesMatchTensorFlow) {
  const Output counts = Matrix({{.5f, .1f}, {.25f, .6f}});
  EXPECT_THAT(Run(nn::NceLoss(root_, Weights(), Biases(), Labels({2, 1, 4, 5}),
                              X(), Sampled(counts), 2)),
              FloatsNear({6.02685213f, 6.55583429f}));
}

TEST_F(SampledTest, SampledSoftmaxMatchesTensorFlow) {
  EXPECT_THAT(Run(nn::SampledSoftmaxLoss(root_, Weights(), Biases(),
                                         Labels({2, 4}), X(), Sampled())),
              FloatsNear({2.21746969f, .04300927f}));
  EXPECT_THAT(Run(nn::SampledSoftmaxLoss(root_, Weights(), Biases(),
                                         Labels({2, 4}), X(), Sampled(), 1,
                                         {.remove_accidental_hits = false})),
              FloatsNear({2.21746969f, .83027416f}));
}

TEST_F(SampledTest, OnlySampledRowsAreTrained) {
  const ops::Variable w(root_.WithName("w"), Tensor(DT_FLOAT, {6, 3}));
  const ops::Variable b(root_.WithName("b"), Tensor(DT_FLOAT, {6}));
  const Output loss = ops::Sum(
      root_, nn::NceLoss(root_, w, b, Labels({2, 4}), X(), Sampled()), {0});
  const Operation train = train::GradientDescent(0.1f).Minimize(root_, loss);
  InitializeVariables();
  const float before = Run(loss)[0];
  RunOperation(train);
  EXPECT_LT(Run(loss)[0], before);
  const std::vector<float> biases = Run(b);
  for (const int seen : {0, 1, 2, 4}) EXPECT_NE(biases[seen], 0) << seen;
  for (const int unseen : {3, 5}) EXPECT_EQ(biases[unseen], 0) << unseen;
}

TEST_F(SampledTest, SamplesMatchTensorFlow) {
  root_.SetGraphSeed(7);
  const auto expect = [&](const nn::SampledValues& sampled,
                          const std::vector<float>& candidates,
                          const std::vector<float>& true_counts,
                          const std::vector<float>& counts) {
    ASSERT_OK(root_.status());
    auto all = session().Run(
        {}, std::vector<Output>{
                ops::Cast(root_, sampled.sampled_candidates, DT_FLOAT),
                sampled.true_expected_count, sampled.sampled_expected_count});
    ASSERT_OK(all);
    EXPECT_THAT((*all)[0].flat<float>(), FloatsNear(candidates));
    EXPECT_THAT((*all)[1].flat<float>(), FloatsNear(true_counts));
    EXPECT_THAT((*all)[2].flat<float>(), FloatsNear(counts));
  };
  const Output labels = Labels({2, 4});
  expect(nn::LogUniformCandidateSampler(root_, labels, 1, 5, true, 20,
                                        {.seed = 3}),
         {0, 3, 18, 2, 8}, {.44874233f, .30962414f},
         {.78776520f, .36663598f, .09692314f, .44874233f, .19048296f});
  expect(nn::LogUniformCandidateSampler(root_, labels, 1, 5, false, 20,
                                        {.seed = 3}),
         {0, 3, 18, 0, 2}, {.47245845f, .29942554f},
         {1.13835120f, .36646724f, .08423867f, 1.13835120f, .47245845f});
  expect(nn::LogUniformCandidateSampler(root_, Labels({2, 1, 4, 5}), 2, 8,
                                        false, 1000, {.seed = 4}),
         {47, 12, 2, 97, 378, 11, 7, 51},
         {.33312178f, .46950877f, .21111944f, .17849894f},
         {.02387612f, .08581340f, .33312178f, .01175595f, .00305126f,
          .09268556f, .13638699f, .02205688f});
}

TEST_F(SampledTest, SampledLossWithSampledClasses) {
  const Output labels = Labels({2, 4});
  const auto sampled =
      nn::LogUniformCandidateSampler(root_, labels, 1, 3, true, 6);
  const std::vector<float> losses = Run(
      nn::SampledSoftmaxLoss(root_, Weights(), Biases(), labels, X(), sampled));
  ASSERT_EQ(losses.size(), 2u);
  for (const float loss : losses) EXPECT_GT(loss, 0);
}

TEST_F(SampledTest, InvalidSamplesAreRejected) {
  const Output labels = Labels({2, 9});
  const auto run = [&](int64_t num_true, int64_t num_sampled,
                       int64_t range_max) {
    return session().Run(nn::LogUniformCandidateSampler(root_, labels, num_true,
                                                        num_sampled, true,
                                                        range_max)
                             .sampled_candidates);
  };
  EXPECT_THAT(run(1, 11, 10),
              StatusIs(kInvalid, "Sampler's range is too small."));
  EXPECT_THAT(run(1, 3, 6), StatusIs(kInvalid, "out of range [0, 6)"));
  EXPECT_THAT(run(2, 3, 10),
              StatusIs(kInvalid, "true_classes must have num_true columns"));
  EXPECT_THAT(run(1, 0, 10), StatusIs(kInvalid, "num_sampled"));
}

TEST_F(SampledTest, MismatchedRanksAreRejected) {
  nn::NceLoss(root_, Weights(), Biases(),
              ops::Const(root_, Tensor::Vector<int64_t>({2, 4})), X(),
              Sampled());
  EXPECT_THAT(root_.status(), StatusIs(kInvalid, "labels must have rank 2"));
}

TEST_F(SampledTest, MissingSampleIsRejected) {
  nn::SampledSoftmaxLoss(root_, Weights(), Biases(), Labels({2, 4}), X(), {});
  EXPECT_THAT(root_.status(),
              StatusIs(kInvalid, "sampled_candidates must not be null"));
}

}  // namespace
}  // namespace weft
