// Gradients of the ops on sparse tensors: only values have gradients, never
// indices and shapes. Their values are tested with the kernels.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/gradients/gradients.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/sparse/sparse_ops.h"

namespace weft {
namespace {

class SparseGradientsTest : public testing::Test {
 protected:
  Output In(DataType dtype, const PartialShape& shape) {
    return ops::Placeholder(root_, dtype, {.shape = shape});
  }
  // The gradients of y, each with the shape of its x.
  std::vector<Output> Of(const Output& y, const std::vector<Output>& xs) {
    EXPECT_THAT(root_.status(), IsOk());
    const auto gradients = AddGradients(root_, {y}, xs);
    EXPECT_THAT(gradients, IsOk());
    std::vector<Output> dense(xs.size());
    for (size_t i = 0; gradients.ok() && i < xs.size(); ++i) {
      dense[i] = (*gradients)[i].dense;
    }
    return dense;
  }

  const Scope root_ = Scope::Root();
  const Output indices_ = In(DT_INT64, {4, 2});
  const Output values_ = In(DT_FLOAT, {4});
  const Output shape_ = root_.ToOutput(Tensor::Vector<int64_t>({5, 6}));
};

TEST_F(SparseGradientsTest, ProductsUseTheTransposedMatrix) {
  for (const bool adjoint : {false, true}) {
    const Output b =
        In(DT_FLOAT, adjoint ? PartialShape{5, 3} : PartialShape{6, 3});
    const Output y = ops::SparseTensorDenseMatMul(
        root_, indices_, values_, shape_, b, {.adjoint_a = adjoint});
    const std::vector<Output> grads = Of(y, {values_, b});
    ASSERT_TRUE(grads[0] && grads[1]);
    EXPECT_EQ(grads[0].shape(), (PartialShape{4}));
    EXPECT_EQ(grads[1].node()->type(), "SparseTensorDenseMatMul");
    EXPECT_EQ(*grads[1].node()->attr<bool>("adjoint_a"), !adjoint);
    EXPECT_EQ(grads[1].shape(), b.shape());
  }
}

TEST_F(SparseGradientsTest, DefaultValueOfADenseTensorHasAGradient) {
  const Output fallback = In(DT_FLOAT, TensorShape());
  const Output y =
      ops::SparseToDense(root_, indices_, shape_, values_, fallback);
  const std::vector<Output> grads = Of(y, {values_, fallback});
  ASSERT_TRUE(grads[0] && grads[1]);
  EXPECT_EQ(grads[0].node()->type(), "GatherNd");
  EXPECT_EQ(grads[0].shape(), (PartialShape{4}));
  EXPECT_EQ(grads[1].node()->type(), "Sub");
  EXPECT_EQ(grads[1].shape(), PartialShape::Scalar());
}

TEST_F(SparseGradientsTest, SparseToDenseNeedsKnownRanks) {
  const Output unknown = ops::Placeholder(root_, DT_FLOAT);
  const Output y = ops::SparseToDense(root_, indices_, shape_, unknown, 0.0f);
  EXPECT_THAT(AddGradients(root_, {y}, {unknown}),
              StatusIs(absl::StatusCode::kUnimplemented,
                       "the gradient of SparseToDense needs indices and values "
                       "of known rank"));
}

TEST_F(SparseGradientsTest, ReorderedValuesReturnToTheirPlaces) {
  const auto ordered = ops::SparseReorder(root_, indices_, values_, shape_);
  const std::vector<Output> grads = Of(ordered.output_values, {values_});
  ASSERT_TRUE(grads[0]);
  EXPECT_EQ(grads[0].node()->type(), "Gather");
  EXPECT_EQ(grads[0].node()->input(1).node->type(), "InvertPermutation");
}

TEST_F(SparseGradientsTest, SlicedValuesUseTheIndicesOfTheSlice) {
  const Output begin = root_.ToOutput(Tensor::Vector<int64_t>({0, 1}));
  const Output size = root_.ToOutput(Tensor::Vector<int64_t>({2, 2}));
  const Node* slice =
      root_.AddNode("SparseSlice", {indices_, values_, shape_, begin, size});
  ASSERT_NE(slice, nullptr);
  const std::vector<Output> grads = Of(Output(slice, 1), {values_});
  ASSERT_TRUE(grads[0]);
  EXPECT_EQ(grads[0].node()->type(), "SparseSliceGrad");
  EXPECT_EQ(grads[0].node()->input(1).node, indices_.node());
  EXPECT_EQ(grads[0].node()->input(3), (OutputTensor{slice, 0}));
}

TEST_F(SparseGradientsTest, FilledRowsHaveAGradientOfTheDefault) {
  const Output fallback = In(DT_FLOAT, TensorShape());
  const Node* filled = root_.AddNode("SparseFillEmptyRows",
                                     {indices_, values_, shape_, fallback});
  ASSERT_NE(filled, nullptr);
  const std::vector<Output> grads = Of(Output(filled, 1), {values_, fallback});
  ASSERT_TRUE(grads[0] && grads[1]);
  EXPECT_EQ(grads[0].node()->type(), "SparseFillEmptyRowsGrad");
  EXPECT_EQ(grads[1], Output(grads[0].node(), 1));
  // The map back to the given values.
  EXPECT_EQ(grads[0].node()->input(0), (OutputTensor{filled, 3}));
}

TEST_F(SparseGradientsTest, OpsWithoutAGradientSaySo) {
  const Output dense = In(DT_FLOAT, {5, 6});
  const Output y = root_.AddOutput("SparseDenseCwiseAdd",
                                   {indices_, values_, shape_, dense});
  ASSERT_THAT(root_.status(), IsOk());
  EXPECT_THAT(AddGradients(root_, {y}, {values_}),
              StatusIs(absl::StatusCode::kUnimplemented,
                       "Gradient for SparseDenseCwiseAdd is not implemented."));
}

TEST_F(SparseGradientsTest, DenseOperandGetsItsOwnShape) {
  const Output dense = In(DT_FLOAT, {5, 6});
  for (const char* op : {"SparseDenseCwiseMul", "SparseDenseCwiseDiv"}) {
    const Output y = root_.AddOutput(op, {indices_, values_, shape_, dense});
    const std::vector<Output> grads = Of(y, {values_, dense});
    ASSERT_TRUE(grads[0] && grads[1]);
    EXPECT_TRUE(grads[0].shape().IsCompatibleWith(TensorShape({4})));
    EXPECT_EQ(grads[1].shape(), (PartialShape{5, 6}));
  }
}

}  // namespace
}  // namespace weft
