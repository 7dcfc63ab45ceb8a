// The gradients of segment reductions match numeric differences; ties, zeros
// and rows without a segment have TensorFlow's values.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/gradients/gradients.h"
#include "libs/gradients/testing/reference_evaluator.h"
#include "libs/ops/array/array_ops.h"

namespace weft {
namespace {

using testing::ElementsAre;
using Args = std::vector<GradientArg>;

void ExpectGradient(const std::string& op, const Args& args) {
  for (GradientShapes shapes : {GradientShapes::kKnown, GradientShapes::kRank,
                                GradientShapes::kUnknown}) {
    const absl::StatusOr<double> error = OpGradientError(op, args, {}, shapes);
    ASSERT_THAT(error, IsOk()) << op;
    EXPECT_LT(*error, 1e-5) << op << ", shapes " << static_cast<int>(shapes);
  }
}

Tensor Ints(std::initializer_list<int32_t> values) {
  return Tensor::Vector(values);
}

std::vector<double> At(const std::string& op, std::vector<Tensor> args) {
  const auto gradients = OpGradientsAt(op, args);
  EXPECT_THAT(gradients, IsOk()) << op;
  if (!gradients.ok()) return {};
  const auto flat = (*gradients)[0].flat<double>();
  return {flat.begin(), flat.end()};
}

TEST(SegmentGradientsTest, SortedSegmentsMatchDifferences) {
  for (const char* op : {"SegmentSum", "SegmentMean", "SegmentMin",
                         "SegmentMax", "SegmentProd"}) {
    ExpectGradient(op, {{4, 2}, Ints({0, 0, 1, 1})});
    ExpectGradient(op, {{3}, Ints({0, 1, 1})});
  }
}

TEST(SegmentGradientsTest, UnsortedSegmentsMatchDifferences) {
  const Tensor count = Tensor::Scalar<int32_t>(3);
  for (const char* op : {"UnsortedSegmentSum", "UnsortedSegmentMin",
                         "UnsortedSegmentMax", "UnsortedSegmentProd"}) {
    ExpectGradient(op, {{4, 2}, Ints({2, 0, 1, 2}), count});
    ExpectGradient(op, {{4}, Ints({0, 1, 2, 1}), count});
  }
}

TEST(SegmentGradientsTest, IdsOfSeveralDimensionsMatchDifferences) {
  const Tensor ids = Tensor::FromValues<int32_t>({2, 2}, {1, 0, 1, 1});
  ExpectGradient("UnsortedSegmentSum",
                 {{2, 2, 3}, ids, Tensor::Scalar<int32_t>(2)});
}

TEST(SegmentGradientsTest, RowsWithNegativeIdsGetZeros) {
  const Tensor data = Tensor::Vector({3.0, 1.0, 2.0, 4.0});
  const Tensor ids = Ints({1, -1, 1, 0}), count = Tensor::Scalar<int32_t>(2);
  EXPECT_THAT(At("UnsortedSegmentSum", {data, ids, count}),
              ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(At("UnsortedSegmentMax", {data, ids, count}),
              ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(At("UnsortedSegmentMin", {data, ids, count}),
              ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(At("UnsortedSegmentProd", {data, ids, count}),
              ElementsAre(2, 0, 3, 1));
}

TEST(SegmentGradientsTest, TiesShareTheGradient) {
  const Tensor data = Tensor::Vector({2.0, 2.0, 1.0, 7.0});
  EXPECT_THAT(At("SegmentMax", {data, Ints({0, 0, 0, 1})}),
              ElementsAre(0.5, 0.5, 0, 1));
  EXPECT_THAT(At("UnsortedSegmentMax",
                 {data, Ints({0, 0, 0, 1}), Tensor::Scalar<int32_t>(2)}),
              ElementsAre(0.5, 0.5, 0, 1));
}

TEST(SegmentGradientsTest, ProductsWithZerosHaveExactGradients) {
  const Tensor data = Tensor::Vector({0.0, 3.0, 4.0, 0.0, 0.0});
  const Tensor ids = Ints({0, 0, 0, 1, 1});
  EXPECT_THAT(At("SegmentProd", {data, ids}), ElementsAre(12, 0, 0, 0, 0));
  EXPECT_THAT(
      At("UnsortedSegmentProd", {data, ids, Tensor::Scalar<int32_t>(2)}),
      ElementsAre(12, 0, 0, 0, 0));
}

TEST(SegmentGradientsTest, MeanDividesByTheRowsOfTheSegment) {
  EXPECT_THAT(At("SegmentMean", {Tensor(DT_DOUBLE, {3}), Ints({0, 1, 1})}),
              ElementsAre(1, 0.5, 0.5));
}

TEST(SegmentGradientsTest, SparseSegmentsUseTheirGradientOps) {
  for (const std::string op :
       {"SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"}) {
    const Scope root = Scope::Root();
    const Output data = ops::Placeholder(root, DT_FLOAT, {.shape = {-1, 4}});
    const Output y = root.AddOutput(op, {data, Ints({2, 0}), Ints({0, 0})});
    ASSERT_OK_AND_ASSIGN(const auto gradients, AddGradients(root, {y}, {data}));
    const Node* grad = gradients[0].dense.node();
    EXPECT_EQ(grad->type(), op + "Grad");
    EXPECT_EQ(grad->input(1).node, y.node()->input(1).node);
    EXPECT_EQ(grad->input(2).node, y.node()->input(2).node);
    // The number of rows, known at run time.
    EXPECT_EQ(grad->input(3).node->type(), "StridedSlice");
  }
}

// As in TensorFlow: no second derivatives, and no error either.
TEST(SegmentGradientsTest, SparseSegmentGradientsHaveNone) {
  const Scope root = Scope::Root();
  const Output grad = ops::Placeholder(root, DT_FLOAT, {.shape = {1, 4}});
  const Output y =
      ops::SparseSegmentSumGrad(root, grad, Ints({2, 0}), Ints({0, 0}), 3);
  ASSERT_OK_AND_ASSIGN(const auto gradients, AddGradients(root, {y}, {grad}));
  EXPECT_TRUE(gradients[0].IsNone());
}

}  // namespace
}  // namespace weft
