// Tests shape functions of math ops for partial shapes, their errors, and
// values of constants.
#include "libs/ops/math/math_ops.h"

#include "libs/base/test_matchers.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/array/array_ops.h"

namespace weft {
namespace {

using ops::Placeholder;

class MathOpsTest : public testing::Test {
 protected:
  Output Float(const PartialShape& shape) {
    return Placeholder(root_, DT_FLOAT, {.shape = shape});
  }
  // Returns the inferred shape or the error.
  std::string ShapeOf(const Output& output) {
    return output ? output.shape().ToString()
                  : std::string(root_.status().message());
  }
  std::optional<Tensor> ValueOf(const Output& output) {
    return root_.graph().ConstantValue(output.output_tensor());
  }
  std::vector<int32_t> IntsOf(const Output& output) {
    const std::optional<Tensor> value = ValueOf(output);
    if (!value) return {-99};
    return std::vector<int32_t>(value->flat<int32_t>().begin(),
                                value->flat<int32_t>().end());
  }

  Scope root_ = Scope::Root();
};

TEST_F(MathOpsTest, BroadcastingOfPartialShapes) {
  EXPECT_EQ(ShapeOf(ops::Add(root_, Float({-1, 3}), Float({3}))), "[?,3]");
  EXPECT_EQ(ShapeOf(ops::Add(root_, Float({2, 1}), Float({5}))), "[2,5]");
  EXPECT_EQ(ShapeOf(ops::Add(root_, Float(PartialShape()), Float({5}))),
            "<unknown>");
  EXPECT_EQ(ShapeOf(ops::Add(root_, Float({2, 3}), 1)), "[2,3]");
}

TEST_F(MathOpsTest, ShapesThatCanNotBroadcastAreRefused) {
  EXPECT_FALSE(ops::Add(root_, Float({2}), Float({3})));
  EXPECT_THAT(root_.status(), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(MathOpsTest, TypesThatDifferAreRefused) {
  const Output integers = Placeholder(root_, DT_INT32, {.shape = {2}});
  EXPECT_FALSE(ops::Mul(root_, Float({2}), integers));
  EXPECT_THAT(root_.status(), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(MathOpsTest, ReductionsDropOrKeepTheirAxes) {
  const Output x = Float({-1, 3, 4});
  EXPECT_EQ(ShapeOf(ops::Sum(root_, x, {-1, 0})), "[3]");
  EXPECT_EQ(ShapeOf(ops::Mean(root_, x, 1, {.keep_dims = true})), "[?,1,4]");
  const Output axes = Placeholder(root_, DT_INT32, {.shape = {-1}});
  EXPECT_EQ(ShapeOf(ops::Max(root_, x, axes)), "<unknown>");
  EXPECT_EQ(ShapeOf(ops::Max(root_, x, axes, {.keep_dims = true})), "[?,?,?]");
  EXPECT_EQ(ShapeOf(ops::ArgMax(root_, x, 1)), "[?,4]");
  EXPECT_FALSE(ops::Sum(root_, x, 3));
  EXPECT_THAT(root_.status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                       "Invalid reduction dimension"));
}

TEST_F(MathOpsTest, ProductsTakeTheOuterSizes) {
  EXPECT_EQ(ShapeOf(ops::MatMul(root_, Float({-1, 3}), Float({3, 4}))),
            "[?,4]");
  EXPECT_EQ(ShapeOf(ops::MatMul(root_, Float({3, 2}), Float({4, 3}),
                                {.transpose_a = true, .transpose_b = true})),
            "[2,4]");
  EXPECT_EQ(ShapeOf(ops::MatMul(root_, Float(PartialShape()), Float({3, 4}))),
            "[?,4]");
  EXPECT_EQ(
      ShapeOf(ops::BatchMatMulV2(root_, Float({6, 1, 2, 3}), Float({5, 3, 4}))),
      "[6,5,2,4]");
  EXPECT_FALSE(ops::MatMul(root_, Float({2, 3}), Float({2, 3})));
  EXPECT_THAT(root_.status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                       "Dimensions must be equal"));
}

TEST_F(MathOpsTest, SelectionsKnowTheirRows) {
  const Output rows = Placeholder(root_, DT_BOOL, {.shape = {2}});
  EXPECT_EQ(ShapeOf(ops::Select(root_, rows, Float({2, 3}), Float({-1, 3}))),
            "[2,3]");
  EXPECT_EQ(ShapeOf(ops::SelectV2(root_, rows, Float({3, 1}), Float({1}))),
            "[3,2]");
}

TEST_F(MathOpsTest, SequencesHaveTheLengthOfTheirConstants) {
  EXPECT_EQ(ShapeOf(ops::Range(root_, 0, 5, 2)), "[3]");
  EXPECT_EQ(ShapeOf(ops::Range(root_, 1.0f, 0.0f, -0.25f)), "[4]");
  EXPECT_EQ(ShapeOf(ops::LinSpace(root_, 0.0f, 1.0f, 7)), "[7]");
  // The kernel's number of elements: 0.3 / 0.1 is 3 in floats and more than 3
  // in doubles.
  EXPECT_EQ(ShapeOf(ops::Range(root_, 0.0f, 0.3f, 0.1f)), "[3]");
  // The differences are not representable in double.
  const int64_t large = int64_t{1} << 60;
  const auto range = [&](int64_t start, int64_t limit, int64_t delta) {
    return ShapeOf(ops::Range(root_, Tensor::Scalar(start),
                              Tensor::Scalar(limit), Tensor::Scalar(delta)));
  };
  EXPECT_EQ(range(large, large + 3, 1), "[3]");
  EXPECT_EQ(range(large + 3, large, -2), "[2]");
  EXPECT_EQ(range(std::numeric_limits<int64_t>::min(),
                  std::numeric_limits<int64_t>::max(), large),
            "[16]");
}

TEST_F(MathOpsTest, ArithmeticOnShapesHasAValue) {
  const Output shape = ops::Const(root_, {2, 3, 4});
  EXPECT_EQ(IntsOf(ops::Mul(root_, shape, 2)), (std::vector{4, 6, 8}));
  EXPECT_EQ(IntsOf(ops::FloorDiv(root_, shape, 2)), (std::vector{1, 1, 2}));
  EXPECT_EQ(IntsOf(ops::Maximum(root_, shape, 3)), (std::vector{3, 3, 4}));
  EXPECT_EQ(IntsOf(ops::Prod(root_, shape, 0)), (std::vector{24}));
  EXPECT_EQ(IntsOf(ops::Range(root_, 0, 3, 1)), (std::vector{0, 1, 2}));
  EXPECT_EQ(IntsOf(ops::FloorMod(root_, ops::Neg(root_, shape), 3)),
            (std::vector{1, 0, 2}));
  EXPECT_FALSE(ValueOf(ops::FloorDiv(root_, shape, 0)).has_value());
  const int32_t large = std::numeric_limits<int32_t>::max();
  EXPECT_FALSE(ValueOf(ops::Mul(root_, shape, large)).has_value());
  const std::optional<Tensor> wide = ValueOf(ops::Cast(root_, shape, DT_INT64));
  ASSERT_TRUE(wide.has_value());
  EXPECT_EQ(wide->flat<int64_t>()[2], 4);
}

}  // namespace
}  // namespace weft
