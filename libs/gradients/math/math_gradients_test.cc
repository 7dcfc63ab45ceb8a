// The gradients of elementwise ops match numeric differences, whatever is known
// of the shapes while the graph is built, and special points have TensorFlow's
// values.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/gradients/testing/reference_evaluator.h"

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

std::vector<double> Elements(const Tensor& tensor) {
  if (!tensor.IsInitialized()) return {};
  const auto flat = tensor.flat<double>();
  return {flat.begin(), flat.end()};
}

// The gradients of the sum of `op` with respect to two vectors.
std::vector<std::vector<double>> AtPoints(const std::string& op,
                                          std::initializer_list<double> x,
                                          std::initializer_list<double> y) {
  const auto gradients =
      OpGradientsAt(op, {Tensor::Vector(x), Tensor::Vector(y)});
  EXPECT_THAT(gradients, IsOk()) << op;
  if (!gradients.ok()) return {{}, {}};
  return {Elements((*gradients)[0]), Elements((*gradients)[1])};
}

std::vector<double> AtPoints(const std::string& op,
                             std::initializer_list<double> x) {
  const auto gradients = OpGradientsAt(op, {Tensor::Vector(x)});
  EXPECT_THAT(gradients, IsOk()) << op;
  return gradients.ok() ? Elements((*gradients)[0]) : std::vector<double>();
}

TEST(UnaryGradientsTest, MatchDifferencesAroundZero) {
  for (const char* op :
       {"Neg",  "Abs",   "Sign",  "Square", "Exp",  "Expm1",   "Sin",
        "Cos",  "Tan",   "Asin",  "Acos",   "Atan", "Sinh",    "Cosh",
        "Tanh", "Asinh", "Atanh", "Erf",    "Erfc", "Sigmoid", "L2Loss"}) {
    ExpectGradient(op, {{2, 3}});
  }
}

TEST(UnaryGradientsTest, MatchDifferencesOfPositiveNumbers) {
  for (const char* op :
       {"Log", "Log1p", "Sqrt", "Rsqrt", "Reciprocal", "Inv"}) {
    ExpectGradient(op, {{{2, 3}, 0.6, 2.9}});
  }
  ExpectGradient("Acosh", {{{2, 3}, 1.2, 2.9}});
}

TEST(UnaryGradientsTest, MatchDifferencesOfScalars) {
  for (const char* op : {"Square", "Tanh", "Exp"}) ExpectGradient(op, Args{{}});
}

TEST(UnaryGradientsTest, AbsHasSlopeZeroAtZero) {
  EXPECT_THAT(AtPoints("Abs", {-2, 0, 3}), ElementsAre(-1, 0, 1));
  EXPECT_THAT(AtPoints("Sign", {-2, 0, 3}), ElementsAre(0, 0, 0));
}

TEST(UnaryGradientsTest, CastToIntegersHasNone) {
  const auto none =
      OpGradientsAt("Cast", {Tensor::Vector({1.5})}, {{"DstT", DT_INT32}});
  // An integer cannot be a y.
  EXPECT_THAT(none, StatusIs(kInvalid, "floating-point"));
  ExpectGradient("Cast", {{2, 3}}, {{"DstT", DT_DOUBLE}});
}

TEST(BinaryGradientsTest, MatchDifferencesOfBroadcasts) {
  for (const char* op : {"Add", "AddV2", "Sub", "Mul", "Maximum", "Minimum",
                         "SquaredDifference"}) {
    ExpectGradient(op, {{2, 3}, {2, 3}});
    ExpectGradient(op, {{2, 3}, {3}});
    ExpectGradient(op, {{3}, {2, 3}});
    ExpectGradient(op, {{2, 1}, {1, 3}});
    ExpectGradient(op, {{}, {2, 3}});
    ExpectGradient(op, {{1}, {2, 1, 3}});
  }
}

TEST(BinaryGradientsTest, MatchDifferencesOfPositiveNumbers) {
  const GradientArg matrix({2, 3}, 0.6, 2.9), row({3}, 0.6, 2.9);
  for (const char* op :
       {"Div", "RealDiv", "DivNoNan", "FloorMod", "Mod", "TruncateMod", "Pow",
        "Atan2", "Xdivy", "Xlogy", "Xlog1py", "MulNoNan"}) {
    ExpectGradient(op, {matrix, matrix});
    ExpectGradient(op, {matrix, row});
    ExpectGradient(op, {row, matrix});
  }
}

TEST(BinaryGradientsTest, SecondDerivativesMatchDifferences) {
  const GradientArg arg({2, 3}, 0.2, 0.9);
  for (const char* op : {"TanhGrad", "SigmoidGrad", "SqrtGrad", "RsqrtGrad",
                         "ReciprocalGrad", "InvGrad"}) {
    ExpectGradient(op, {arg, arg});
  }
}

TEST(BinaryGradientsTest, FirstOperandGetsTheGradientOfATie) {
  const auto maximum = AtPoints("Maximum", {1, 2, 3}, {2, 2, 2});
  EXPECT_THAT(maximum[0], ElementsAre(0, 1, 1));
  EXPECT_THAT(maximum[1], ElementsAre(1, 0, 0));
  const auto minimum = AtPoints("Minimum", {1, 2, 3}, {2, 2, 2});
  EXPECT_THAT(minimum[0], ElementsAre(1, 1, 0));
  EXPECT_THAT(minimum[1], ElementsAre(0, 0, 1));
}

TEST(BinaryGradientsTest, DivisionsByZeroHaveFiniteGradients) {
  const auto divided = AtPoints("DivNoNan", {3, 3}, {0, 2});
  EXPECT_THAT(divided[0], ElementsAre(0, 0.5));
  EXPECT_THAT(divided[1], ElementsAre(0, -0.75));
  const auto logarithm = AtPoints("Xlogy", {0, 2}, {0, 1});
  EXPECT_THAT(logarithm[0], ElementsAre(0, 0));
  EXPECT_THAT(logarithm[1], ElementsAre(0, 2));
  const auto quotient = AtPoints("Xdivy", {0, 2}, {0, 4});
  EXPECT_THAT(quotient[0], ElementsAre(0, 0.25));
  EXPECT_THAT(quotient[1], ElementsAre(0, -0.125));
}

// The exponent has no gradient where the base has no logarithm.
TEST(BinaryGradientsTest, PowerOfZeroHasFiniteGradients) {
  const auto power = AtPoints("Pow", {0, -2, 1}, {2, 3, 5});
  EXPECT_THAT(power[0], ElementsAre(0, 12, 5));
  EXPECT_THAT(power[1], ElementsAre(0, 0, 0));
}

TEST(BinaryGradientsTest, ComparisonsAreNotDifferentiable) {
  EXPECT_THAT(OpGradientsAt("Less", {Tensor::Vector({1.0, 2.0}),
                                     Tensor::Vector({2.0, 1.0})}),
              StatusIs(kInvalid, "is bool"));
  const auto floor = AtPoints("FloorDiv", {5, 7}, {2, 2});
  EXPECT_TRUE(floor[0].empty());
  EXPECT_TRUE(floor[1].empty());
}

TEST(SelectGradientsTest, MatchDifferences) {
  const Tensor rows = Tensor::Vector({true, false});
  const Tensor columns = Tensor::Vector({true, false, true});
  const Tensor all =
      Tensor::FromValues({2, 3}, {true, false, false, true, true, false});
  ExpectGradient("Select", {rows, {2, 3}, {2, 3}});
  ExpectGradient("Select", {all, {2, 3}, {2, 3}});
  ExpectGradient("SelectV2", {columns, {2, 3}, {2, 1}});
  ExpectGradient("SelectV2", {all, {}, {3}});
}

TEST(SelectGradientsTest, UnselectedInfinityDoesNotSpread) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto gradients = OpGradientsAt(
      "SelectV2", {Tensor::Vector({true, false}), Tensor::Vector({1.0, 2.0}),
                   Tensor::Vector({kInfinity, 3.0})});
  ASSERT_THAT(gradients, IsOk());
  EXPECT_THAT(Elements((*gradients)[0]), ElementsAre(1, 0));
  EXPECT_THAT(Elements((*gradients)[1]), ElementsAre(0, 1));
}

TEST(ClipGradientsTest, BoundsGetTheGradientsOfClippedElements) {
  ExpectGradient(
      "ClipByValue",
      {{2, 3}, GradientArg({}, -0.5, -0.3), GradientArg({}, 0.3, 0.5)});
  const auto gradients =
      OpGradientsAt("ClipByValue", {Tensor::Vector({-2.0, 0.0, 0.5, 3.0, 4.0}),
                                    Tensor::Scalar(-1.0), Tensor::Scalar(1.0)});
  ASSERT_THAT(gradients, IsOk());
  EXPECT_THAT(Elements((*gradients)[0]), ElementsAre(0, 1, 1, 0, 0));
  EXPECT_THAT(Elements((*gradients)[1]), ElementsAre(1));
  EXPECT_THAT(Elements((*gradients)[2]), ElementsAre(2));
}

TEST(AddNGradientsTest, EachTermGetsTheGradient) {
  ExpectGradient("AddN", {{2}, {2}, {2}});
  ExpectGradient("Cross", {{2, 3}, {2, 3}});
}

}  // namespace
}  // namespace weft
