// The gradients of reductions, scans and products of matrices match numeric
// differences, whatever is known of the shapes while the graph is built.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/gradients/testing/reference_evaluator.h"

namespace weft {
namespace {

using testing::ElementsAre;
using Args = std::vector<GradientArg>;

void ExpectGradientWith(GradientShapes shapes, const std::string& op,
                        const Args& args, const AttrMap& attrs) {
  const absl::StatusOr<double> error = OpGradientError(op, args, attrs, shapes);
  ASSERT_THAT(error, IsOk()) << op;
  EXPECT_LT(*error, 1e-5) << op << ", shapes " << static_cast<int>(shapes);
}

void ExpectGradient(const std::string& op, const Args& args,
                    const AttrMap& attrs = {}) {
  for (GradientShapes shapes : {GradientShapes::kKnown, GradientShapes::kRank,
                                GradientShapes::kUnknown}) {
    ExpectGradientWith(shapes, op, args, attrs);
  }
}

Tensor Ints(std::initializer_list<int32_t> values) {
  return Tensor::Vector(values);
}

// The gradient of the sum of all results.
std::vector<double> At(const std::string& op, const Tensor& x,
                       const Tensor& axes) {
  const auto gradients = OpGradientsAt(op, {x, axes});
  EXPECT_THAT(gradients, IsOk()) << op;
  if (!gradients.ok()) return {};
  const auto flat = (*gradients)[0].flat<double>();
  return {flat.begin(), flat.end()};
}

TEST(ReductionGradientsTest, MatchDifferences) {
  for (const char* op : {"Sum", "Mean", "Prod", "Max", "Min"}) {
    ExpectGradient(op, {{2, 3, 2}, Ints({1})});
    ExpectGradient(op, {{2, 3, 2}, Ints({0, 2})});
    ExpectGradient(op, {{2, 3}, Ints({0, 1})});
    ExpectGradient(op, {{2, 3}, Tensor::Scalar<int32_t>(1)});
  }
}

TEST(ReductionGradientsTest, NegativeAxesCountFromTheEnd) {
  for (const char* op : {"Sum", "Mean", "Prod", "Max"}) {
    ExpectGradient(op, {{2, 3, 2}, Ints({-1})});
    ExpectGradient(op, {{2, 3, 2}, Ints({0, -2})});
  }
}

TEST(ReductionGradientsTest, KeptDimensionsMatchDifferences) {
  for (const char* op : {"Sum", "Mean", "Prod", "Min"}) {
    ExpectGradient(op, {{2, 3, 2}, Ints({1})}, {{"keep_dims", true}});
    ExpectGradient(op, {{2, 3}, Ints({0, 1})}, {{"keep_dims", true}});
  }
}

TEST(ReductionGradientsTest, NoAxesLeaveTheGradientAsItIs) {
  for (const char* op : {"Sum", "Mean", "Max"}) {
    ExpectGradient(op, {{2, 3}, Ints({})});
  }
}

TEST(ReductionGradientsTest, AxesMayBeInt64) {
  for (const char* op : {"Sum", "Prod"}) {
    ExpectGradient(op, {{2, 3}, Tensor::Vector<int64_t>({-1})});
  }
}

TEST(ReductionGradientsTest, EqualExtremaShareTheGradient) {
  const Tensor x = Tensor::FromValues<double>({2, 3}, {1, 4, 4, 7, 5, 6});
  EXPECT_THAT(At("Max", x, Ints({1})), ElementsAre(0, 0.5, 0.5, 1, 0, 0));
  const Tensor y = Tensor::Vector({2.0, 2.0, 3.0, 2.0, 2.0});
  EXPECT_THAT(At("Min", y, Ints({0})), ElementsAre(0.25, 0.25, 0, 0.25, 0.25));
}

TEST(ReductionGradientsTest, ProductsWithZerosHaveExactGradients) {
  const Tensor x =
      Tensor::FromValues<double>({3, 3}, {2, 0, 3, 0, 5, 0, 2, 3, 4});
  EXPECT_THAT(At("Prod", x, Ints({1})),
              ElementsAre(0, 6, 0, 0, 0, 0, 12, 8, 6));
}

TEST(ReductionGradientsTest, MeanDividesByTheReducedElements) {
  const Tensor x(DT_DOUBLE, {2, 4});
  EXPECT_THAT(At("Mean", x, Ints({1})),
              ElementsAre(.25, .25, .25, .25, .25, .25, .25, .25));
  EXPECT_THAT(At("Mean", x, Ints({0})),
              ElementsAre(.5, .5, .5, .5, .5, .5, .5, .5));
}

TEST(ScanGradientsTest, MatchDifferences) {
  for (const char* op : {"Cumsum", "Cumprod"}) {
    for (const bool exclusive : {false, true}) {
      for (const bool reverse : {false, true}) {
        const AttrMap attrs = {{"exclusive", exclusive}, {"reverse", reverse}};
        ExpectGradient(op, {{2, 3}, Tensor::Scalar<int32_t>(1)}, attrs);
        ExpectGradient(op, {{3, 2}, Tensor::Scalar<int32_t>(-2)}, attrs);
      }
    }
  }
}

TEST(MatMulGradientsTest, MatchDifferences) {
  ExpectGradient("MatMul", {{2, 3}, {3, 4}});
  ExpectGradient("MatMul", {{3, 2}, {3, 4}}, {{"transpose_a", true}});
  ExpectGradient("MatMul", {{2, 3}, {4, 3}}, {{"transpose_b", true}});
  ExpectGradient("MatMul", {{3, 2}, {4, 3}},
                 {{"transpose_a", true}, {"transpose_b", true}});
}

TEST(MatMulGradientsTest, BatchesMatchDifferences) {
  for (const char* op : {"BatchMatMul", "BatchMatMulV2"}) {
    ExpectGradient(op, {{2, 2, 3}, {2, 3, 2}});
    ExpectGradient(op, {{2, 3, 2}, {2, 3, 2}}, {{"adj_x", true}});
    ExpectGradient(op, {{2, 2, 3}, {2, 2, 3}}, {{"adj_y", true}});
    ExpectGradient(op, {{2, 3, 2}, {2, 2, 3}},
                   {{"adj_x", true}, {"adj_y", true}});
  }
}

// The gradient of the broadcast operand is summed over the batches.
TEST(MatMulGradientsTest, BroadcastBatchesMatchDifferences) {
  ExpectGradient("BatchMatMulV2", {{2, 2, 3}, {3, 2}});
  ExpectGradient("BatchMatMulV2", {{2, 3}, {2, 3, 2}});
  ExpectGradient("BatchMatMulV2", {{2, 1, 2, 3}, {3, 3, 2}});
}

}  // namespace
}  // namespace weft
