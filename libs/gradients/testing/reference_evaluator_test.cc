// The reference ops compute what NumPy computes, and the gradient checker finds
// wrong gradients: all tests of gradients depend on both.
#include "libs/gradients/testing/reference_evaluator.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/gradients/gradients.h"
#include "libs/gradients/testing/gradient_checker.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/control/cond.h"
#include "libs/ops/math/math_ops.h"

namespace weft {
namespace {

using testing::ElementsAre;

class ReferenceEvaluatorTest : public testing::Test {
 protected:
  Output Doubles(const TensorShape& shape,
                 std::initializer_list<double> values) {
    return root_.ToOutput(Tensor::FromValues(shape, values));
  }
  // Checks the shape; returns the elements.
  std::vector<double> Run(const Output& y, const TensorShape& shape) {
    EXPECT_THAT(root_.status(), IsOk());
    const auto values = EvaluateByReference({}, {y});
    EXPECT_THAT(values, IsOk());
    if (!values.ok()) return {};
    EXPECT_EQ((*values)[0].shape(), shape);
    const auto flat = (*values)[0].flat<double>();
    return {flat.begin(), flat.end()};
  }

  const Scope root_ = Scope::Root();
};

TEST_F(ReferenceEvaluatorTest, ElementsBroadcast) {
  const Output x = Doubles({2, 1}, {1, 2}), y = Doubles({3}, {10, 20, 30});
  EXPECT_THAT(Run(ops::Add(root_, x, y), {2, 3}),
              ElementsAre(11, 21, 31, 12, 22, 32));
  EXPECT_THAT(Run(ops::Sub(root_, y, x), {2, 3}),
              ElementsAre(9, 19, 29, 8, 18, 28));
}

TEST_F(ReferenceEvaluatorTest, ReductionsKeepTheOtherAxes) {
  const Output x = Doubles({2, 3}, {1, 2, 3, 4, 5, 7});
  EXPECT_THAT(Run(ops::Sum(root_, x, {0}), {3}), ElementsAre(5, 7, 10));
  EXPECT_THAT(Run(ops::Mean(root_, x, {-1}, {.keep_dims = true}), {2, 1}),
              ElementsAre(2, 16.0 / 3));
  EXPECT_THAT(Run(ops::Prod(root_, x, {0, 1}), {}), ElementsAre(840));
  EXPECT_THAT(Run(ops::Max(root_, x, {1}), {2}), ElementsAre(3, 7));
}

TEST_F(ReferenceEvaluatorTest, ScansRunInBothDirections) {
  const Output x = Doubles({3}, {1, 2, 4});
  EXPECT_THAT(Run(ops::Cumsum(root_, x, 0), {3}), ElementsAre(1, 3, 7));
  EXPECT_THAT(
      Run(ops::Cumsum(root_, x, 0, {.exclusive = true, .reverse = true}), {3}),
      ElementsAre(6, 4, 0));
  EXPECT_THAT(Run(ops::Cumprod(root_, x, 0, {.exclusive = true}), {3}),
              ElementsAre(1, 1, 2));
}

TEST_F(ReferenceEvaluatorTest, MatricesMultiply) {
  const Output a = Doubles({2, 2}, {1, 2, 3, 4});
  const Output b = Doubles({2, 3}, {1, 0, 2, 0, 1, 3});
  EXPECT_THAT(Run(ops::MatMul(root_, a, b), {2, 3}),
              ElementsAre(1, 2, 8, 3, 4, 18));
  EXPECT_THAT(Run(ops::MatMul(root_, a, b, {.transpose_a = true}), {2, 3}),
              ElementsAre(1, 3, 11, 2, 4, 16));
  const Output batch = Doubles({2, 1, 2}, {1, 1, 2, 0});
  EXPECT_THAT(Run(ops::BatchMatMulV2(root_, batch, a), {2, 1, 2}),
              ElementsAre(4, 6, 2, 4));
}

TEST_F(ReferenceEvaluatorTest, TensorsAreCutAndJoined) {
  const Output x = Doubles({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(Run(ops::Transpose(root_, x, {1, 0}), {3, 2}),
              ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(Run(ops::Concat(root_, {x, x}, 1), {2, 6}),
              ElementsAre(1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6));
  EXPECT_THAT(Run(ops::Slice(root_, x, {0, 1}, {-1, 2}), {2, 2}),
              ElementsAre(2, 3, 5, 6));
  EXPECT_THAT(Run(ops::Unstack(root_, x, 3, {.axis = 1})[2], {2}),
              ElementsAre(3, 6));
  EXPECT_THAT(Run(ops::Tile(root_, Doubles({2}, {1, 2}), {2}), {4}),
              ElementsAre(1, 2, 1, 2));
}

TEST_F(ReferenceEvaluatorTest, RowsAreGatheredAndSummed) {
  const Output x = Doubles({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(Run(ops::GatherV2(root_, x, {2, 0}, 0), {2, 2}),
              ElementsAre(5, 6, 1, 2));
  EXPECT_THAT(Run(ops::GatherV2(root_, x, {1, 1}, 1), {3, 2}),
              ElementsAre(2, 2, 4, 4, 6, 6));
  EXPECT_THAT(Run(ops::UnsortedSegmentSum(root_, x, {1, -1, 1}, 2), {2, 2}),
              ElementsAre(0, 0, 6, 8));
  const Output places = ops::Const(root_, {2, 0, 0, 1}, {2, 2});
  EXPECT_THAT(Run(ops::GatherNd(root_, x, places), {2}), ElementsAre(5, 2));
}

TEST_F(ReferenceEvaluatorTest, OnlyTheTakenBranchHasValues) {
  const Output x = Doubles({2}, {1, 2});
  Output inside;
  const std::vector<Output> y = ops::Cond(
      root_, root_.ToOutput(Tensor::Scalar(false), "pred"),
      [&](const Scope& s) {
        inside = ops::Neg(s, x);
        return std::vector<Output>{inside};
      },
      [&](const Scope& s) { return std::vector<Output>{ops::Mul(s, x, 3.0)}; });
  ASSERT_EQ(y.size(), 1u);
  EXPECT_THAT(Run(y[0], {2}), ElementsAre(3, 6));
  EXPECT_THAT(EvaluateByReference({}, {inside}),
              StatusIs(kInvalid, "branch that was not taken"));
}

TEST_F(ReferenceEvaluatorTest, ErrorsNameTheNode) {
  const Output x =
      ops::Placeholder(root_.WithName("x"), DT_DOUBLE, {.shape = {2}});
  EXPECT_THAT(EvaluateByReference({}, {ops::Neg(root_, x)}),
              StatusIs(kInvalid, "placeholder 'x' is not fed"));
  const Output odd = root_.WithName("odd").AddOutput("Lgamma", {x});
  EXPECT_THAT(EvaluateByReference({{x, Tensor(DT_DOUBLE, {2})}}, {odd}),
              StatusIs(absl::StatusCode::kUnimplemented,
                       "no reference for op Lgamma (node 'odd')"));
}

// The gradient of a function with a stop in it is not that of the function.
TEST_F(ReferenceEvaluatorTest, CheckerFindsWrongGradients) {
  const Output x = ops::Placeholder(root_, DT_DOUBLE, {.shape = {2}});
  const std::vector<Tensor> at = {Tensor::Vector({0.5, 1.5})};
  const Output right = ops::Mul(root_, x, x);
  ASSERT_OK_AND_ASSIGN(double error, MaxGradientError(root_, {right}, {x}, at,
                                                      EvaluateByReference));
  EXPECT_LT(error, 1e-7);
  const Output wrong = ops::Mul(root_, x, ops::StopGradient(root_, x));
  ASSERT_OK_AND_ASSIGN(
      error, MaxGradientError(root_, {wrong}, {x}, at, EvaluateByReference));
  EXPECT_GT(error, 0.4);
}

TEST_F(ReferenceEvaluatorTest, CheckerCountsNoGradientAsZero) {
  const Output x = ops::Placeholder(root_, DT_DOUBLE, {.shape = {2}});
  const std::vector<Tensor> at = {Tensor::Vector({0.5, 1.5})};
  const Output none = ops::Neg(root_, ops::StopGradient(root_, x));
  ASSERT_OK_AND_ASSIGN(
      const double error,
      MaxGradientError(root_, {none}, {x}, at, EvaluateByReference));
  EXPECT_GT(error, 0.4);
}

TEST_F(ReferenceEvaluatorTest, CheckerRejectsOtherArguments) {
  const Output x = ops::Placeholder(root_, DT_DOUBLE, {.shape = {2}});
  const Output y = ops::Neg(root_, x);
  EXPECT_THAT(MaxGradientError(root_, {y}, {x}, {}, EvaluateByReference),
              StatusIs(kInvalid, "the number of values must equal that of xs"));
  EXPECT_THAT(MaxGradientError(root_, {y}, {x}, {Tensor(DT_INT32, {2})},
                               EvaluateByReference),
              StatusIs(kInvalid, "xs must be float or double"));
  EXPECT_THAT(MaxGradientError(root_, {}, {x}, {Tensor(DT_DOUBLE, {2})},
                               EvaluateByReference),
              StatusIs(kInvalid, "ys must not be empty"));
  const Output rank = ops::Rank(root_, x);
  EXPECT_THAT(MaxGradientError(root_, {rank}, {x}, {Tensor(DT_DOUBLE, {2})},
                               EvaluateByReference),
              StatusIs(kInvalid, "ys must be float or double"));
}

}  // namespace
}  // namespace weft
