#include "libs/train/optimizers/learning_rate_decay.h"

#include <cstdint>
#include <functional>
#include <string>

#include "libs/base/test_matchers.h"
#include "libs/train/testing/scalar_graph.h"

namespace weft::train {
namespace {

class DecayValueTest : public testing::Test {
 protected:
  using Make = std::function<Output(const Scope& scope, const Output& step)>;

  // Returns the rate at global step `step`.
  double RateAt(int64_t step, const Make& make) {
    ScalarGraph graph;
    const Output rate =
        make(graph.root(), graph.Fed(static_cast<double>(step), DT_INT64));
    EXPECT_OK(graph.root().status());
    return rate ? graph.ValueOf(rate) : -1;
  }
};

TEST_F(DecayValueTest, ExponentialDecayHalvesTheRate) {
  const Make smooth = [](const Scope& s, const Output& step) {
    return ExponentialDecay(s, 0.1, step, 10, 0.5);
  };
  EXPECT_NEAR(RateAt(0, smooth), 0.1, kNear);
  EXPECT_NEAR(RateAt(5, smooth), 0.0707107, kNear);
  EXPECT_NEAR(RateAt(10, smooth), 0.05, kNear);
}

TEST_F(DecayValueTest, StaircaseDropsAfterEachPeriod) {
  const DecayOptions staircase = {.staircase = true};
  const Make exponential = [=](const Scope& s, const Output& step) {
    return ExponentialDecay(s, 0.1, step, 10, 0.5, staircase);
  };
  EXPECT_NEAR(RateAt(9, exponential), 0.1, kNear);
  EXPECT_NEAR(RateAt(10, exponential), 0.05, kNear);
  EXPECT_NEAR(RateAt(29, exponential), 0.025, kNear);
  const Make natural = [=](const Scope& s, const Output& step) {
    return NaturalExpDecay(s, 0.1, step, 10, 0.5, staircase);
  };
  EXPECT_NEAR(RateAt(19, natural), 0.0606531, kNear);
  const Make inverse = [=](const Scope& s, const Output& step) {
    return InverseTimeDecay(s, 0.1, step, 10, 0.5, staircase);
  };
  EXPECT_NEAR(RateAt(19, inverse), 0.0666667, kNear);
}

TEST_F(DecayValueTest, NaturalExpDecayUsesPowersOfE) {
  const Make make = [](const Scope& s, const Output& step) {
    return NaturalExpDecay(s, 0.1, step, 10, 0.5);
  };
  EXPECT_NEAR(RateAt(5, make), 0.0778801, kNear);
  EXPECT_NEAR(RateAt(20, make), 0.0367879, kNear);
}

TEST_F(DecayValueTest, InverseTimeDecayDividesTheRate) {
  const Make make = [](const Scope& s, const Output& step) {
    return InverseTimeDecay(s, 0.1, step, 10, 0.5);
  };
  EXPECT_NEAR(RateAt(5, make), 0.08, kNear);
  EXPECT_NEAR(RateAt(20, make), 0.05, kNear);
}

TEST_F(DecayValueTest, PolynomialDecayKeepsTheEndRate) {
  const Make make = [](const Scope& s, const Output& step) {
    return PolynomialDecay(s, 0.1, step, 10,
                           {.end_learning_rate = 0.01, .power = 2.0});
  };
  EXPECT_NEAR(RateAt(0, make), 0.1, kNear);
  EXPECT_NEAR(RateAt(5, make), 0.0325, kNear);
  EXPECT_NEAR(RateAt(10, make), 0.01, kNear);
  EXPECT_NEAR(RateAt(20, make), 0.01, kNear);
}

TEST_F(DecayValueTest, CyclicPolynomialDecayRisesAgain) {
  const Make make = [](const Scope& s, const Output& step) {
    return PolynomialDecay(
        s, 0.1, step, 10,
        {.end_learning_rate = 0.01, .power = 2.0, .cycle = true});
  };
  EXPECT_NEAR(RateAt(0, make), 0.1, kNear) << "the first period has step 0";
  EXPECT_NEAR(RateAt(10, make), 0.01, kNear);
  EXPECT_NEAR(RateAt(11, make), 0.028225, kNear);
  EXPECT_NEAR(RateAt(15, make), 0.015625, kNear);
}

TEST_F(DecayValueTest, PiecewiseConstantIncludesTheBoundary) {
  const Make make = [](const Scope& s, const Output& step) {
    return PiecewiseConstant(s, step, {5, 10}, {1.0, 0.5, 0.1});
  };
  EXPECT_NEAR(RateAt(0, make), 1, kNear);
  EXPECT_NEAR(RateAt(5, make), 1, kNear);
  EXPECT_NEAR(RateAt(6, make), 0.5, kNear);
  EXPECT_NEAR(RateAt(10, make), 0.5, kNear);
  EXPECT_NEAR(RateAt(11, make), 0.1, kNear);
}

TEST_F(DecayValueTest, PiecewiseConstantNeedsOneMoreValue) {
  for (const InputList& values : {InputList{}, InputList{1.0, 0.5, 0.1}}) {
    const Scope root = Scope::Root();
    EXPECT_FALSE(
        PiecewiseConstant(root, ops::Const(root, int64_t{3}), {5}, values));
    EXPECT_THAT(root.status(), StatusIs(kInvalid, "should be 1 less than"));
  }
}

TEST_F(DecayValueTest, CosineDecayEndsAtAlpha) {
  const Make make = [](const Scope& s, const Output& step) {
    return CosineDecay(s, 0.1, step, 10, 0.2);
  };
  EXPECT_NEAR(RateAt(0, make), 0.1, kNear);
  EXPECT_NEAR(RateAt(5, make), 0.06, kNear);
  EXPECT_NEAR(RateAt(10, make), 0.02, kNear);
  EXPECT_NEAR(RateAt(99, make), 0.02, kNear);
}

TEST_F(DecayValueTest, RestartedPeriodIsLongerAndLower) {
  const Make make = [](const Scope& s, const Output& step) {
    return CosineDecayRestarts(s, 0.1, step, 10, {.t_mul = 2, .m_mul = 0.5});
  };
  EXPECT_NEAR(RateAt(0, make), 0.1, kNear);
  EXPECT_NEAR(RateAt(5, make), 0.05, kNear);
  // Step 20 is the middle of the second period, which has the steps 10 to 29.
  EXPECT_NEAR(RateAt(20, make), 0.025, kNear);
  // Step 50 is the middle of the third period.
  EXPECT_NEAR(RateAt(50, make), 0.0125, kNear);
}

TEST_F(DecayValueTest, RestartedPeriodsMayHaveEqualLength) {
  const Make make = [](const Scope& s, const Output& step) {
    return CosineDecayRestarts(s, 0.1, step, 10,
                               {.t_mul = 1, .m_mul = 0.5, .alpha = 0.2});
  };
  EXPECT_NEAR(RateAt(5, make), 0.06, kNear);
  EXPECT_NEAR(RateAt(15, make), 0.04, kNear);
  EXPECT_NEAR(RateAt(25, make), 0.03, kNear);
}

TEST_F(DecayValueTest, LinearCosineDecayFallsToBeta) {
  const Make usual = [](const Scope& s, const Output& step) {
    return LinearCosineDecay(s, 0.1, step, 10);
  };
  EXPECT_NEAR(RateAt(5, usual), 0.0251, kNear);
  EXPECT_NEAR(RateAt(20, usual), 0.0001, kNear);
  const Make waves = [](const Scope& s, const Output& step) {
    return LinearCosineDecay(s, 0.1, step, 10,
                             {.num_periods = 1, .alpha = 0.2, .beta = 0.1});
  };
  EXPECT_NEAR(RateAt(5, waves), 0.01, kNear);
  EXPECT_NEAR(RateAt(10, waves), 0.03, kNear);
}

TEST(DecayNameTest, RateIsNamedAsInTensorFlow) {
  const Scope root = Scope::Root();
  const Output step = ops::Const(root, int64_t{1});
  EXPECT_EQ(ExponentialDecay(root, 0.1, step, 10, 0.5).name(),
            "ExponentialDecay:0");
  EXPECT_EQ(NaturalExpDecay(root, 0.1, step, 10, 0.5).name(),
            "ExponentialDecay_1:0");
  EXPECT_EQ(InverseTimeDecay(root, 0.1, step, 10, 0.5).name(),
            "InverseTimeDecay:0");
  EXPECT_EQ(PolynomialDecay(root, 0.1, step, 10).name(), "PolynomialDecay:0");
  EXPECT_EQ(PiecewiseConstant(root, step, {5}, {1.0, 0.1}).name(),
            "PiecewiseConstant/value:0");
  EXPECT_EQ(CosineDecayRestarts(root, 0.1, step, 10).name(), "SGDRDecay:0");
  EXPECT_EQ(LinearCosineDecay(root, 0.1, step, 10).name(),
            "LinearCosineDecay:0");
  EXPECT_EQ(ExponentialDecay(root.WithName("rate"), 0.1, step, 10, 0.5).name(),
            "rate:0");
  EXPECT_OK(root.status());
}

TEST(DecayNameTest, NumbersBecomeFloats) {
  const Scope root = Scope::Root();
  const Output step = ops::Const(root, int64_t{1});
  EXPECT_EQ(CosineDecay(root, 0.1, step, 10).dtype(), DT_FLOAT);
  EXPECT_EQ(PiecewiseConstant(root, step, {5}, {1.0, 0.1}).dtype(), DT_FLOAT);
  EXPECT_OK(root.status());
}

}  // namespace
}  // namespace weft::train
