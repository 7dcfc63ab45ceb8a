// Tests shape inference for sparse tensors while the graph is built.
#include "libs/ops/sparse/sparse_ops.h"

#include <gtest/gtest.h>

#include <string>

#include "libs/base/test_matchers.h"
#include "libs/ops/array/array_ops.h"

namespace weft {
namespace {

class SparseOpsTest : public testing::Test {
 protected:
  Output In(DataType dtype, const PartialShape& shape) {
    return ops::Placeholder(root_, dtype, {.shape = shape});
  }
  std::string ShapeOf(const Output& output) {
    EXPECT_OK(root_.status());
    return output ? output.shape().ToString() : "no output";
  }
  void ExpectInvalid(const std::string& text) {
    EXPECT_THAT(root_.status(), StatusIs(kInvalid, text));
  }

  const Scope root_ = Scope::Root();
  const Output indices_ = In(DT_INT64, {4, 2});
  const Output values_ = In(DT_FLOAT, {4});
  const Output shape_ = root_.ToOutput(Tensor::Vector<int64_t>({5, 6}));
};

TEST_F(SparseOpsTest, ProductsTakeTheOuterSizes) {
  const auto product = [&](const PartialShape& b,
                           const ops::SparseTensorDenseMatMulAttrs& attrs) {
    return ShapeOf(ops::SparseTensorDenseMatMul(
        root_, indices_, values_, shape_, In(DT_FLOAT, b), attrs));
  };
  EXPECT_EQ(product({6, 3}, {}), "[5,3]");
  EXPECT_EQ(product({5, 3}, {.adjoint_a = true}), "[6,3]");
  EXPECT_EQ(product({3, 6}, {.adjoint_b = true}), "[5,3]");
  EXPECT_EQ(product({-1, 3}, {}), "[5,3]");
}

TEST_F(SparseOpsTest, InnerSizesMustBeEqual) {
  ops::SparseTensorDenseMatMul(root_, indices_, values_, shape_,
                               In(DT_FLOAT, {5, 3}));
  ExpectInvalid("must be equal");
}

TEST_F(SparseOpsTest, EachValueNeedsAnIndex) {
  ops::SparseReorder(root_, indices_, In(DT_FLOAT, {3}), shape_);
  ExpectInvalid("must be equal");
}

TEST_F(SparseOpsTest, IndicesHaveAColumnForEachDimension) {
  ops::SparseReorder(root_, indices_, values_, In(DT_INT64, {3}));
  ExpectInvalid("must be equal");
}

TEST_F(SparseOpsTest, ReorderingKeepsTheShapes) {
  const auto ordered = ops::SparseReorder(root_, indices_, values_, shape_);
  EXPECT_EQ(ShapeOf(ordered.output_values), "[4]");
  EXPECT_EQ(ordered.output_values.dtype(), DT_FLOAT);
}

TEST_F(SparseOpsTest, DenseTensorHasTheGivenShape) {
  EXPECT_EQ(ShapeOf(ops::SparseToDense(root_, indices_, shape_, values_, 0.0f)),
            "[5,6]");
  EXPECT_EQ(ShapeOf(ops::SparseToDense(root_, indices_, In(DT_INT64, {2}),
                                       values_, 0.0f)),
            "[?,?]");
}

TEST_F(SparseOpsTest, ReshapingKeepsTheNumberOfValues) {
  const auto reshaped = ops::SparseReshape(root_, indices_, shape_,
                                           Tensor::Vector<int64_t>({3, -1, 2}));
  EXPECT_EQ(ShapeOf(reshaped.output_indices), "[4,3]");
  EXPECT_EQ(ShapeOf(reshaped.output_shape), "[3]");
}

TEST_F(SparseOpsTest, SlicesKeepTheRank) {
  const Output begin = root_.ToOutput(Tensor::Vector<int64_t>({0, 1}));
  const auto part =
      ops::SparseSlice(root_, indices_, values_, shape_, begin, begin);
  EXPECT_EQ(ShapeOf(part.indices), "[?,2]");
  EXPECT_EQ(ShapeOf(part.values), "[?]");
  EXPECT_EQ(ShapeOf(part.shape), "[2]");
}

TEST_F(SparseOpsTest, FilledRowsAreMarkedForEachRow) {
  const Node* filled =
      root_.AddNode("SparseFillEmptyRows", {indices_, values_, shape_, 0.0f});
  ASSERT_OK(root_.status());
  EXPECT_EQ(ShapeOf(Output(filled, 0)), "[?,2]");
  EXPECT_EQ(ShapeOf(Output(filled, 2)), "[5]");
  EXPECT_EQ(Output(filled, 2).dtype(), DT_BOOL);
  EXPECT_EQ(ShapeOf(Output(filled, 3)), "[4]");
}

TEST_F(SparseOpsTest, SumsDropTheReducedAxes) {
  const auto sum = [&](std::initializer_list<int32_t> axes, bool keep) {
    return ShapeOf(root_.AddOutput(
        "SparseReduceSum", {indices_, values_, shape_, Tensor::Vector(axes)},
        {{"keep_dims", keep}}));
  };
  EXPECT_EQ(sum({0}, false), "[6]");
  EXPECT_EQ(sum({-1}, true), "[5,1]");
  EXPECT_EQ(sum({}, false), "[5,6]");
}

}  // namespace
}  // namespace weft
