// Tests error-prone cases of the GPU's scalar functions. The same code runs on
// the CPU here.
#include "libs/kernels/cuda/math_scalar.h"

#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "libs/kernels/cuda/line_scalar.h"

namespace weft::cuda {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(CudaScalarTest, IntegersWrapRound) {
  const int64_t most = INT64_MAX;
  EXPECT_EQ(Apply(BinaryOp::kAdd, most, int64_t{1}), INT64_MIN);
  EXPECT_EQ(Apply(BinaryOp::kMul, most, int64_t{2}), -2);
  EXPECT_EQ(Apply(UnaryOp::kNeg, int64_t{INT64_MIN}), INT64_MIN);
  EXPECT_EQ(Apply(UnaryOp::kAbs, int64_t{-3}), 3);
  EXPECT_EQ(Apply(UnaryOp::kSign, int64_t{-3}), -1);
}

TEST(CudaScalarTest, NanWinsAnOrder) {
  for (const BinaryOp op : {BinaryOp::kMaximum, BinaryOp::kMinimum}) {
    EXPECT_TRUE(std::isnan(Apply(op, kNan, 1.0f)));
    EXPECT_TRUE(std::isnan(Apply(op, 1.0f, kNan)));
  }
}

TEST(CudaScalarTest, ZeroGradientsStayZero) {
  EXPECT_EQ(Apply(BinaryOp::kSqrtGrad, 0.0f, 0.0f), 0);
  EXPECT_EQ(Apply(BinaryOp::kRsqrtGrad, kInf, 0.0f), 0);
  EXPECT_EQ(Apply(BinaryOp::kReciprocalGrad, kInf, 0.0f), 0);
  EXPECT_EQ(Apply(BinaryOp::kDivNoNan, 3.0f, 0.0f), 0);
  EXPECT_EQ(Apply(BinaryOp::kXdivy, 0.0f, 0.0f), 0);
  // A product with an infinite operand is still NaN.
  EXPECT_TRUE(std::isnan(Apply(BinaryOp::kReluGrad, kInf, -1.0f)));
}

TEST(CudaScalarTest, RemaindersTakeTheDivisorsSign) {
  EXPECT_EQ(Apply(BinaryOp::kFloorMod, -1.0f, 3.0f), 2);
  EXPECT_EQ(Apply(BinaryOp::kFloorMod, 1.0f, -3.0f), -2);
  EXPECT_EQ(Apply(BinaryOp::kFloorDiv, -1.0f, 3.0f), -1);
}

TEST(CudaScalarTest, FinitePredicatesMatchIeee) {
  EXPECT_TRUE(Apply(Predicate::kIsNan, kNan));
  EXPECT_FALSE(Apply(Predicate::kIsNan, kInf));
  EXPECT_TRUE(Apply(Predicate::kIsInf, -kInf));
  EXPECT_FALSE(Apply(Predicate::kIsInf, kNan));
  EXPECT_TRUE(Apply(Predicate::kIsFinite, 0.0f));
  EXPECT_FALSE(Apply(Predicate::kIsFinite, kInf));
}

TEST(CudaScalarTest, FloatsBecomeIntegersAsOnTheProcessor) {
  EXPECT_EQ(CastTo<int32_t>(-1.9f), -1);
  EXPECT_EQ(CastTo<int32_t>(kNan), INT32_MIN);
  EXPECT_EQ(CastTo<int32_t>(3e9f), INT32_MIN);
  EXPECT_EQ(CastTo<int64_t>(kInf), INT64_MIN);
  EXPECT_EQ(CastTo<uint8_t>(300.0f), 44);
  EXPECT_EQ(CastTo<uint64_t>(1e19), 10000000000000000000u);
  EXPECT_TRUE(CastTo<bool>(0.5f));
  EXPECT_FALSE(CastTo<bool>(-0.0f));
}

TEST(CudaScalarTest, ActivationsOfExtremeValues) {
  EXPECT_EQ(Apply(UnaryOp::kSoftplus, 200.0f), 200);
  EXPECT_EQ(Apply(UnaryOp::kSoftplus, -200.0f), 0);
  EXPECT_EQ(Apply(UnaryOp::kElu, -kInf), -1);
  EXPECT_EQ(Apply(UnaryOp::kSigmoid, -kInf), 0);
  EXPECT_TRUE(std::isnan(Apply(UnaryOp::kRelu, kNan)));
  EXPECT_EQ(Apply(UnaryOp::kRelu6, kInf), 6);
}

TEST(CudaScalarTest, ClipIgnoresNaNBounds) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Clipped(3.0f, -1.0f, 2.0f), 2);
  EXPECT_EQ(Clipped(-kInf, -1.0f, 2.0f), -1);
  EXPECT_EQ(Clipped(3.0f, 5.0f, 2.0f), 5);  // the lower bound wins
  EXPECT_EQ(Clipped(3.0f, nan, nan), 3);
  EXPECT_TRUE(std::isnan(Clipped(nan, -1.0f, 2.0f)));
}

TEST(CudaLineTest, LrnGradientMatchesDifferences) {
  LrnArgs lrn;
  lrn.channels = 7;
  lrn.radius = 2;
  lrn.bias = 1.5f;
  lrn.alpha = 0.3f;
  lrn.beta = 0.75f;
  std::vector<float> x = {1, -2, 0.5f, 3, 0, -1, 2};
  const std::vector<float> gradient = {0.5f, 1, -1, 2, 0.25f, 0, 1};
  const auto in = [&](int64_t c) { return x[c]; };
  // Returns the sum of the values times the gradient.
  const auto value = [&] {
    double sum = 0;
    for (int64_t c = 0; c < lrn.channels; ++c) {
      sum += static_cast<double>(lrn.Value(in, c)) * gradient[c];
    }
    return sum;
  };
  for (int64_t k = 0; k < lrn.channels; ++k) {
    const float slope = lrn.Slope(
        in, [&](int64_t c) { return lrn.Value(in, c); },
        [&](int64_t c) { return gradient[c]; }, k);
    constexpr float kStep = 1.0f / 64;
    const float at = x[k];
    x[k] = at + kStep;
    const double above = value();
    x[k] = at - kStep;
    const double below = value();
    x[k] = at;
    EXPECT_NEAR(slope, (above - below) / (2 * kStep), 1e-3) << k;
  }
}

TEST(CudaLineTest, TheLargestComesFirstAndNanLast) {
  EXPECT_TRUE(Precedes(2.0f, 5, 1.0f, 0));
  EXPECT_FALSE(Precedes(1.0f, 0, 2.0f, 5));
  EXPECT_TRUE(Precedes(1.0f, 0, 1.0f, 1));
  EXPECT_TRUE(Precedes(0.0f, 0, -0.0f, 1));
  EXPECT_TRUE(Precedes(-kInf, 1, kNan, 0));
  EXPECT_FALSE(Precedes(kNan, 0, -kInf, 1));
  EXPECT_TRUE(Precedes(kNan, 0, kNan, 1));
  EXPECT_FALSE(Precedes(kNan, 0, kNan, 0));
}

// Checks that keys order each pair of numbers as Precedes does, except for
// positions.
template <typename T>
void ExpectKeysAsPrecedes(const std::vector<T>& numbers) {
  for (const T a : numbers) {
    for (const T b : numbers) {
      // Unequal numbers have the same order whichever comes first.
      const bool is_before = Precedes(a, 0, b, 1) && Precedes(a, 1, b, 0);
      EXPECT_EQ(PrecedenceKey(a) < PrecedenceKey(b), is_before)
          << a << " and " << b;
    }
  }
}

TEST(CudaLineTest, KeysHaveTheOrderOfTheirNumbers) {
  const float tiny = 1e-45f, inf = kInf, nan = kNan;
  ExpectKeysAsPrecedes<float>({0.0f, -0.0f, tiny, -tiny, 1, -1, 1.5f, 3e38f,
                               -3e38f, inf, -inf, nan, -nan});
  ExpectKeysAsPrecedes<double>(
      {0.0, -0.0, 5e-324, -5e-324, 1, -1, 1.5, 1e308, -1e308, inf, -inf, nan});
  ExpectKeysAsPrecedes<int64_t>({0, 1, -1, 255, -256,
                                 std::numeric_limits<int64_t>::max(),
                                 std::numeric_limits<int64_t>::min()});
  // The upper half leaves room for a row.
  EXPECT_EQ(PrecedenceKey(nan) >> 32, 0u);
}

}  // namespace
}  // namespace weft::cuda
