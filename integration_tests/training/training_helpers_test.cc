// Tests gradient clipping, learning rate decay and moving averages, run in this
// process. The expected numbers and names are those of TensorFlow 2.21
// (tf.compat.v1).
#include <string>
#include <vector>

#include "integration_tests/testing/graph_test.h"

namespace weft {
namespace {

// ---- clipping ----

class ClipTest : public GraphTest {
 protected:
  Output X() { return Matrix({{1, -2, 3}, {0.5f, 4, -1}}); }
};

TEST_F(ClipTest, ClipByValueMatchesTensorFlow) {
  const Output y = train::ClipByValue(root_, X(), -1.0f, 2.0f);
  EXPECT_EQ(y.name(), "clip_by_value:0");
  EXPECT_THAT(Run(y), FloatsNear({1, -1, 2, 0.5f, 2, -1}));
}

TEST_F(ClipTest, BoundMustNotBroadcastTheTensor) {
  train::ClipByValue(root_, Vector({1, 2, 3}), Matrix({{0}, {1}}), 2.0f);
  EXPECT_THAT(root_.status(), StatusIs(kInvalid, "are incompatible"));
}

TEST_F(ClipTest, ClipByNormMatchesTensorFlow) {
  const Output y = train::ClipByNorm(root_, X(), 2.0f);
  EXPECT_EQ(y.name(), "clip_by_norm:0");
  EXPECT_THAT(Run(y), FloatsNear({0.35777088f, -0.71554178f, 1.07331264f,
                                  0.17888544f, 1.43108356f, -0.35777088f}));
}

TEST_F(ClipTest, ClipByNormAlongAxesMatchesTensorFlow) {
  EXPECT_THAT(Run(train::ClipByNorm(root_, X(), 2.0f, {1})),
              FloatsNear({0.53452247f, -1.06904494f, 1.60356756f, 0.24077171f,
                          1.92617369f, -0.48154342f}));
}

TEST_F(ClipTest, VectorBelowTheNormIsUnchanged) {
  EXPECT_THAT(Run(train::ClipByNorm(root_, X(), 100.0f)),
              FloatsNear({1, -2, 3, 0.5f, 4, -1}));
  EXPECT_THAT(Run(train::ClipByNorm(root_, Vector({0, 0}), 1.0f)),
              FloatsNear({0, 0}));
}

TEST_F(ClipTest, ClipByAverageNormMatchesTensorFlow) {
  const Output y = train::ClipByAverageNorm(root_, X(), 0.5f);
  EXPECT_EQ(y.name(), "clip_by_average_norm:0");
  EXPECT_THAT(Run(y), FloatsNear({0.53665632f, -1.07331264f, 1.60996890f,
                                  0.26832816f, 2.14662528f, -0.53665632f}));
}

TEST_F(ClipTest, ClipByGlobalNormMatchesTensorFlow) {
  const auto clipped =
      train::ClipByGlobalNorm(root_, {X(), Gradient(), Vector({2, 1})}, 2.5f);
  ASSERT_OK(root_.status());
  ASSERT_EQ(clipped.list.size(), 3u);
  EXPECT_TRUE(clipped.list[1].IsNone());
  EXPECT_EQ(clipped.global_norm.name(), "global_norm/global_norm:0");
  EXPECT_EQ(clipped.list[2].dense.name(),
            "clip_by_global_norm/clip_by_global_norm/_2:0");
  EXPECT_THAT(Run(clipped.global_norm), FloatsNear({6.02079725f}));
  EXPECT_THAT(Run(clipped.list[0].dense),
              FloatsNear({0.41522742f, -0.83045483f, 1.24568224f, 0.20761371f,
                          1.66090966f, -0.41522742f}));
  EXPECT_THAT(Run(clipped.list[2].dense),
              FloatsNear({0.83045483f, 0.41522742f}));
}

TEST_F(ClipTest, SparseGradientsAreClippedByTheirRows) {
  Gradient sparse;
  sparse.values = Matrix({{1, 2}});
  sparse.indices = ops::Const(root_, Tensor::Vector<int32_t>({3}));
  sparse.dense_shape = ops::Const(root_, Tensor::Vector<int32_t>({4, 2}));
  const auto clipped =
      train::ClipByGlobalNorm(root_, {sparse, Vector({2, 1})}, 2.5f);
  EXPECT_THAT(Run(clipped.global_norm), FloatsNear({3.16227770f}));
  EXPECT_EQ(clipped.list[0].indices, sparse.indices);
  EXPECT_THAT(Run(clipped.list[0].values),
              FloatsNear({0.79056942f, 1.58113885f}));
  const Gradient by_norm = train::ClipByNorm(root_, sparse, 1.0f);
  EXPECT_THAT(Run(by_norm.values), FloatsNear({0.44721360f, 0.89442719f}));
}

TEST_F(ClipTest, InfiniteNormGivesNan) {
  const Output huge = Vector({1e30f, 1e30f});
  const auto clipped = train::ClipByGlobalNorm(root_, {huge}, 1.0f);
  EXPECT_THAT(Run(clipped.list[0].dense), testing::Each(testing::IsNan()));
}

TEST_F(ClipTest, EmptyListIsAnError) {
  train::ClipByGlobalNorm(root_, {Gradient(), Gradient()}, 1.0f);
  EXPECT_THAT(root_.status(), StatusIs(kInvalid, "global_norm"));
}

TEST_F(ClipTest, ClippedGradientsCanBeApplied) {
  const ops::Variable w(root_.WithName("w"), 3.0f);
  train::GradientDescent optimizer(1.0f);
  auto gradients = optimizer.ComputeGradients(root_, ops::Mul(root_, w, w));
  ASSERT_EQ(gradients.size(), 1u);
  gradients[0].gradient = train::ClipByNorm(root_, gradients[0].gradient, 0.5f);
  const Operation step = optimizer.ApplyGradients(root_, gradients);
  InitializeVariables();
  RunOperation(step);
  EXPECT_THAT(Run(w), FloatsNear({2.5f}));
}

// ---- learning rate decay ----

class DecayTest : public GraphTest {
 protected:
  Output Step(int64_t step) { return ops::Const(root_, Tensor::Scalar(step)); }
};

TEST_F(DecayTest, ExponentialDecayMatchesTensorFlow) {
  const Output rate = train::ExponentialDecay(root_, 0.1, Step(7), 3, 0.9);
  EXPECT_EQ(rate.name(), "ExponentialDecay:0");
  EXPECT_NE(Find("ExponentialDecay/initial_learning_rate"), nullptr);
  EXPECT_THAT(Run(rate), FloatsNear({0.07820463f}));
  EXPECT_THAT(Run(train::ExponentialDecay(root_, 0.1, Step(7), 3, 0.9,
                                          {.staircase = true})),
              FloatsNear({0.08099999f}));
}

TEST_F(DecayTest, NaturalExponentialDecayMatchesTensorFlow) {
  const Output rate = train::NaturalExpDecay(root_, 0.1, Step(7), 3, 0.5);
  EXPECT_THAT(Run(rate), FloatsNear({0.03114033f}));
  EXPECT_THAT(Run(train::NaturalExpDecay(root_, 0.1, Step(7), 3, 0.5,
                                         {.staircase = true})),
              FloatsNear({0.03678795f}));
}

TEST_F(DecayTest, InverseTimeDecayMatchesTensorFlow) {
  const Output rate = train::InverseTimeDecay(root_, 0.1, Step(7), 3, 0.5);
  EXPECT_EQ(rate.name(), "InverseTimeDecay:0");
  EXPECT_THAT(Run(rate), FloatsNear({0.04615385f}));
  EXPECT_THAT(Run(train::InverseTimeDecay(root_, 0.1, Step(7), 3, 0.5,
                                          {.staircase = true})),
              FloatsNear({0.05f}));
}

TEST_F(DecayTest, PolynomialDecayMatchesTensorFlow) {
  const auto rate_at = [&](int64_t step) {
    return train::PolynomialDecay(root_, 0.1, Step(step), 10,
                                  {.end_learning_rate = 0.01, .power = 2.0});
  };
  const Output rate = rate_at(7);
  EXPECT_EQ(rate.name(), "PolynomialDecay:0");
  EXPECT_THAT(Run(rate), FloatsNear({0.0181f}));
  EXPECT_THAT(Run(rate_at(17)), FloatsNear({0.01f}));
}

TEST_F(DecayTest, CyclicPolynomialDecayMatchesTensorFlow) {
  const auto rate_at = [&](int64_t step, double power) {
    return train::PolynomialDecay(
        root_, 0.1, Step(step), 10,
        {.end_learning_rate = 0.01, .power = power, .cycle = true});
  };
  EXPECT_THAT(Run(rate_at(17, 2.0)), FloatsNear({0.012025f}));
  EXPECT_THAT(Run(rate_at(0, 2.0)), FloatsNear({0.1f}));
  EXPECT_THAT(Run(rate_at(20, 0.5)), FloatsNear({0.01f}));
}

TEST_F(DecayTest, PiecewiseConstantMatchesTensorFlow) {
  const auto rate_at = [&](int64_t step) {
    return train::PiecewiseConstant(root_, Step(step), {5, 10},
                                    {1.0, 0.5, 0.1});
  };
  const std::vector<int64_t> steps = {5, 6, 7, 10, 11};
  const std::vector<float> rates = {1.0f, 0.5f, 0.5f, 0.5f, 0.1f};
  for (size_t i = 0; i < steps.size(); ++i) {
    EXPECT_THAT(Run(rate_at(steps[i])), FloatsNear({rates[i]})) << steps[i];
  }
}

TEST_F(DecayTest, CosineDecayMatchesTensorFlow) {
  EXPECT_THAT(Run(train::CosineDecay(root_, 0.1, Step(7), 20, 0.1)),
              FloatsNear({0.07542957f}));
  const std::vector<int64_t> steps = {0, 10, 20, 30};
  const std::vector<float> rates = {0.1f, 0.05f, 0.0f, 0.0f};
  for (size_t i = 0; i < steps.size(); ++i) {
    EXPECT_THAT(Run(train::CosineDecay(root_, 0.1, Step(steps[i]), 20)),
                FloatsNear({rates[i]}))
        << steps[i];
  }
}

TEST_F(DecayTest, CosineDecayRestartsMatchesTensorFlow) {
  EXPECT_THAT(Run(train::CosineDecayRestarts(root_, 0.1, Step(7), 3)),
              FloatsNear({0.025f}));
  const std::vector<int64_t> steps = {0, 2, 3, 8, 9, 17};
  const std::vector<float> rates = {0.1f,        0.0325f, 0.082f,
                                    0.01482308f, 0.0676f, 0.0244f};
  for (size_t i = 0; i < steps.size(); ++i) {
    EXPECT_THAT(Run(train::CosineDecayRestarts(
                    root_, 0.1, Step(steps[i]), 3,
                    {.t_mul = 2.0, .m_mul = 0.8, .alpha = 0.1})),
                FloatsNear({rates[i]}))
        << steps[i];
  }
}

TEST_F(DecayTest, LinearCosineDecayMatchesTensorFlow) {
  const Output rate = train::LinearCosineDecay(root_, 0.1, Step(7), 20);
  EXPECT_EQ(rate.name(), "LinearCosineDecay:0");
  EXPECT_THAT(Run(rate), FloatsNear({0.04735469f}));
  EXPECT_THAT(Run(train::LinearCosineDecay(
                  root_, 0.1, Step(27), 20,
                  {.num_periods = 0.7, .alpha = 0.2, .beta = 0.01})),
              FloatsNear({0.00790983f}));
}

TEST_F(DecayTest, DecayFollowsTheGlobalStep) {
  const ops::Variable step = train::GetOrCreateGlobalStep(root_);
  const Output rate = train::ExponentialDecay(root_, 1.0, step, 1, 0.5);
  const ops::Variable w(root_.WithName("w"), 1.0f);
  const Operation train =
      train::GradientDescent(rate).Minimize(root_, w, {.global_step = step});
  InitializeVariables();
  for (int i = 0; i < 3; ++i) RunOperation(train);
  EXPECT_THAT(Run(w), FloatsNear({1 - 1 - 0.5f - 0.25f}));
}

TEST_F(DecayTest, GlobalStepIsRequired) {
  train::ExponentialDecay(root_, 0.1, ops::Variable(), 3, 0.9);
  EXPECT_THAT(
      root_.status(),
      StatusIs(kInvalid, "global_step is required for ExponentialDecay."));
}

TEST_F(DecayTest, RequiresOneMoreValueThanBoundaries) {
  train::PiecewiseConstant(root_, Step(1), {1, 2}, {1.0, 2.0});
  EXPECT_THAT(
      root_.status(),
      StatusIs(kInvalid,
               "boundaries should be 1 less than the length of values"));
}

TEST_F(DecayTest, NoValuesAreAnError) {
  train::PiecewiseConstant(root_, Step(1), {}, {});
  EXPECT_THAT(root_.status(), StatusIs(kInvalid, "length of values"));
}

// ---- moving averages ----

class AverageTest : public GraphTest, public testing::WithParamInterface<bool> {
 protected:
  ops::Variable Make(const std::string& name, const std::vector<float>& value) {
    return ops::Variable(root_.WithName(name),
                         Tensor::Vector(absl::Span<const float>(value)),
                         {.use_resource = GetParam()});
  }
};

TEST_P(AverageTest, AverageStartsAtTheVariableAndFollowsIt) {
  const ops::Variable v = Make("v", {1, 2});
  train::ExponentialMovingAverage ema(0.9);
  EXPECT_EQ(ema.AverageName(v), "v/ExponentialMovingAverage");
  const Operation update = ema.Apply(root_);
  const ops::Variable average = ema.Average(v);
  ASSERT_OK(root_.status());
  EXPECT_EQ(update.name(), "ExponentialMovingAverage");
  EXPECT_EQ(average.name(), "v/ExponentialMovingAverage");
  EXPECT_EQ(average.is_resource(), GetParam());
  EXPECT_FALSE(average.trainable());
  EXPECT_EQ(root_.GetCollection("moving_average_variables"),
            std::vector<Output>{v.handle()});
  const Output grow = ops::Assign(root_, v, Tensor::Vector<float>({11, 2}));
  InitializeVariables();
  EXPECT_THAT(Run(average), FloatsNear({1, 2}));
  Run(grow);
  RunOperation(update);
  EXPECT_THAT(Run(average), FloatsNear({2, 2}));
  RunOperation(update);
  EXPECT_THAT(Run(average), FloatsNear({2.9f, 2}));
}

TEST_P(AverageTest, AverageStartsAtTheCurrentVariableValue) {
  const ops::Variable v = Make("v", {1, 2});
  const Output other = ops::Assign(root_, v, Tensor::Vector<float>({5, 6}));
  train::ExponentialMovingAverage ema(0.9);
  ema.Apply(root_, {v});
  Run(other);
  RunOperation(ema.Average(v).initializer());
  EXPECT_THAT(Run(ema.Average(v)), FloatsNear({5, 6}));
}

TEST_P(AverageTest, EarlyUpdatesHaveMoreWeight) {
  const ops::Variable v = Make("v", {1, 2});
  train::ExponentialMovingAverage ema(0.9, {.num_updates = 3});
  const Operation update = ema.Apply(root_, {v});
  const Output zero = ops::Assign(root_, v, Tensor::Vector<float>({0, 0}));
  InitializeVariables();
  Run(zero);
  RunOperation(update);
  // The effective decay is min(0.9, 4 / 13).
  EXPECT_THAT(Run(ema.Average(v)), FloatsNear({4 / 13.0f, 8 / 13.0f}));
}

TEST_P(AverageTest, AverageOfTensorStartsAtZero) {
  const ops::Variable v = Make("v", {1, 2});
  const Output t = ops::Mul(root_.WithName("t"), v, 3.0f);
  train::ExponentialMovingAverage ema(0.9);
  const Operation update = ema.ApplyToTensors(root_, {t});
  InitializeVariables();
  RunOperation(update);
  EXPECT_EQ(ema.Average(t).name(), "t/ExponentialMovingAverage");
  EXPECT_THAT(Run(ema.Average(t)), FloatsNear({0.3f, 0.6f}));
  EXPECT_THAT(root_.GetCollection("moving_average_variables"),
              testing::IsEmpty());
}

TEST_P(AverageTest, AverageOfTensorWithZeroDebias) {
  const ops::Variable v = Make("v", {1, 2});
  const Output t = ops::Mul(root_.WithName("t"), v, 3.0f);
  train::ExponentialMovingAverage ema(0.9, {.zero_debias = true});
  const Operation update = ema.ApplyToTensors(root_, {t});
  ASSERT_OK(root_.status());
  EXPECT_NE(Find("t/ExponentialMovingAverage/biased"), nullptr);
  EXPECT_NE(Find("t/ExponentialMovingAverage/local_step"), nullptr);
  InitializeVariables();
  for (int i = 0; i < 2; ++i) {
    RunOperation(update);
    EXPECT_THAT(Run(ema.Average(t)), FloatsNear({3, 6}));
  }
}

TEST_P(AverageTest, AssignMovingAverageMatchesTensorFlow) {
  const ops::Variable v = Make("v", {1, 1});
  const Output moved = train::AssignMovingAverage(root_, v, Vector({3, 5}), 0.9,
                                                  /*zero_debias=*/false);
  ASSERT_OK(root_.status());
  EXPECT_NE(Find("AssignMovingAvg/decay"), nullptr);
  InitializeVariables();
  EXPECT_THAT(Run(moved), FloatsNear({1.2f, 1.4f}));
  EXPECT_THAT(Run(moved), FloatsNear({1.38f, 1.76f}));
}

TEST_P(AverageTest, ZeroDebiasedAverageMatchesTensorFlow) {
  const ops::Variable v = Make("v", {0, 0});
  const Output values = ops::Placeholder(root_, DT_FLOAT, {.shape = {2}});
  const Output moved = train::AssignMovingAverage(root_, v, values, 0.9);
  ASSERT_OK(root_.status());
  InitializeVariables();
  EXPECT_THAT(Run({{values, Tensor::Vector<float>({3, 5})}}, moved),
              FloatsNear({3, 5}));
  // The debiased average is (0.9 * 0.1 * 3 + 0.1 * 1) / (1 - 0.81).
  EXPECT_THAT(Run({{values, Tensor::Vector<float>({1, 5})}}, moved),
              FloatsNear({0.37f / 0.19f, 5}));
}

TEST_P(AverageTest, DecayMayBeTensor) {
  const ops::Variable v = Make("v", {1, 1});
  const Output decay = ops::Placeholder(root_, DT_FLOAT, {.shape = {}});
  const Output moved =
      train::AssignMovingAverage(root_, v, Vector({3, 5}), decay, false);
  InitializeVariables();
  EXPECT_THAT(Run({{decay, Tensor::Scalar(0.5f)}}, moved), FloatsNear({2, 3}));
}

TEST_P(AverageTest, IntegersAreRejected) {
  const ops::Variable count(root_.WithName("count"), int64_t{1},
                            {.use_resource = GetParam()});
  train::ExponentialMovingAverage(0.9).Apply(root_, {count});
  EXPECT_THAT(root_.status(),
              StatusIs(kInvalid,
                       "The variables must be half, float, or double: count"));
}

TEST_P(AverageTest, MismatchedShapesAreRejected) {
  const ops::Variable v = Make("v", {1, 1});
  train::AssignMovingAverage(root_, v, Vector({1, 2, 3}), 0.9);
  EXPECT_THAT(root_.status(), StatusIs(kInvalid, "are incompatible"));
}

INSTANTIATE_TEST_SUITE_P(Families, AverageTest, testing::Bool());

}  // namespace
}  // namespace weft
