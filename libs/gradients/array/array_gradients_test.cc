// The gradients of ops that rearrange, join and cut tensors match numeric
// differences, whatever is known of the shapes while the graph is built.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/gradients/gradients.h"
#include "libs/gradients/testing/reference_evaluator.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"

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
Tensor Int(int32_t value) { return Tensor::Scalar(value); }

TEST(ArrayGradientsTest, ForwardingOpsPassTheGradient) {
  ExpectGradient("Identity", {{2, 3}});
  ExpectGradient("Snapshot", {{2, 3}});
  ExpectGradient("IdentityN", {{2}, {3}});
  ExpectGradient("EnsureShape", {{2, 3}}, {{"shape", PartialShape{2, -1}}});
  ExpectGradient("CheckNumerics", {{2}}, {{"message", "none"}});
}

TEST(ArrayGradientsTest, ReshapedTensorsGetTheirShapeBack) {
  ExpectGradient("Reshape", {{2, 3}, Ints({3, -1})});
  ExpectGradient("Reshape", {{}, Ints({1, 1})});
  ExpectGradient("ExpandDims", {{2, 3}, Int(1)});
  ExpectGradient("ExpandDims", {{2, 3}, Int(-1)});
  ExpectGradient("Squeeze", {{2, 1, 3}});
}

TEST(ArrayGradientsTest, RepeatedElementsAddTheirGradients) {
  ExpectGradient("BroadcastTo", {{2, 1}, Ints({3, 2, 4})});
  ExpectGradient("BroadcastTo", {{2, 3}, Ints({2, 3})});
  ExpectGradient("Fill", {Ints({2, 3}), {}});
  ExpectGradient("Tile", {{2, 3}, Ints({2, 3})});
  ExpectGradient("Tile", {{2}, Tensor::Vector<int64_t>({3})});
}

TEST(ArrayGradientsTest, OrdersAreUndone) {
  ExpectGradient("Transpose", {{2, 3, 4}, Ints({2, 0, 1})});
  ExpectGradient("ReverseV2", {{2, 3}, Ints({0, 1})});
  ExpectGradient("ReverseV2", {{2, 3}, Ints({-1})});
}

TEST(ArrayGradientsTest, CheckNumericsAlsoChecksTheGradient) {
  const Scope root = Scope::Root();
  const Output x = ops::Placeholder(root, DT_FLOAT, {.shape = {2}});
  const Output y = ops::CheckNumerics(root, x, "of the loss");
  ASSERT_OK_AND_ASSIGN(const auto gradients, AddGradients(root, {y}, {x}));
  const Node* check = gradients[0].dense.node();
  EXPECT_EQ(check->type(), "CheckNumerics");
  EXPECT_EQ(*check->attr<std::string>("message"),
            "Not a number (NaN) or infinity (Inf) values detected in "
            "gradient. of the loss");
}

TEST(ArrayGradientsTest, StopGradientEndsTheFlow) {
  const Scope root = Scope::Root();
  const Output x = ops::Placeholder(root, DT_FLOAT, {.shape = {2}});
  const Output stopped = ops::Square(root, ops::StopGradient(root, x));
  ASSERT_OK_AND_ASSIGN(auto gradients, AddGradients(root, {stopped}, {x}));
  EXPECT_TRUE(gradients[0].IsNone());
  const Output both = ops::Mul(root, x, stopped);
  ASSERT_OK_AND_ASSIGN(gradients, AddGradients(root, {both}, {x}));
  EXPECT_EQ(gradients[0].dense.node()->type(), "Mul");
}

TEST(ArrayGradientsTest, PreventGradientIsAnErrorWithItsReason) {
  const Scope root = Scope::Root();
  const Output x = ops::Placeholder(root, DT_FLOAT, {.shape = {2}});
  const Output y = ops::PreventGradient(root.WithName("guard"), x,
                                        {.message = "use the sparse loss"});
  const int nodes = root.graph().num_nodes();
  EXPECT_THAT(AddGradients(root, {y}, {x}),
              StatusIs(absl::StatusCode::kNotFound,
                       "Gradient explicitly disabled at node 'guard'. Reason: "
                       "use the sparse loss"));
  EXPECT_EQ(root.graph().num_nodes(), nodes);
  EXPECT_OK(root.status());
}

TEST(JoinGradientsTest, JoinedTensorsGetTheirParts) {
  ExpectGradient("ConcatV2", {{2, 3}, {2, 1}, Int(-1)});
  ExpectGradient("ConcatV2", {{2, 3}, {1, 3}, {3, 3}, Int(0)});
  ExpectGradient("Pack", {{2, 3}, {2, 3}}, {{"axis", 1}});
  ExpectGradient("Pack", {{2, 3}, {2, 3}}, {{"axis", -1}});
}

TEST(JoinGradientsTest, PartsAreJoinedAgain) {
  ExpectGradient("Split", {Int(1), {2, 4}}, {{"num_split", 2}});
  ExpectGradient("Split", {Int(0), {2, 4}}, {{"num_split", 1}});
  ExpectGradient("SplitV", {{2, 4}, Ints({1, 3}), Int(1)}, {{"num_split", 2}});
  ExpectGradient("Unpack", {{2, 3}}, {{"num", 3}, {"axis", 1}});
  ExpectGradient("Unpack", {{2, 3}}, {{"num", 3}, {"axis", -1}});
}

// Only one part is used: the others count as zeros.
TEST(JoinGradientsTest, UnusedPartsGetZeros) {
  const Scope root = Scope::Root();
  const Output x = root.ToOutput(Tensor::Vector({1.0, 2.0, 3.0, 4.0}));
  const Output second = ops::Split(root, 0, x, 2)[1];
  const Output third = ops::Unstack(root, x, 4)[2];
  ASSERT_OK_AND_ASSIGN(auto gradients,
                       AddGradients(root, {second, third}, {x}));
  ASSERT_OK_AND_ASSIGN(const auto values,
                       EvaluateByReference({}, {gradients[0].dense}));
  EXPECT_THAT(values[0].flat<double>(), ElementsAre(0, 0, 2, 1));
}

TEST(JoinGradientsTest, PaddingIsCutOff) {
  const Tensor paddings = Tensor::FromValues<int32_t>({2, 2}, {1, 0, 2, 1});
  ExpectGradient("Pad", {{2, 3}, paddings});
  ExpectGradient("PadV2", {{2, 3}, paddings, {}});
  const Tensor wide = Tensor::FromValues<int64_t>({1, 2}, {2, 1});
  ExpectGradient("Pad", {{3}, wide});
}

TEST(JoinGradientsTest, StitchedRowsReturnToTheirSources) {
  ExpectGradient("DynamicPartition", {{4, 2}, Ints({1, 0, 1, 1})},
                 {{"num_partitions", 2}});
  ExpectGradient("DynamicStitch", {Ints({2, 0}), Ints({1}), {2, 3}, {1, 3}});
  ExpectGradient("ParallelDynamicStitch",
                 {Ints({1, 2}), Ints({0, 3}), {2}, {2}});
}

TEST(SliceGradientsTest, SlicesArePaddedWithZeros) {
  ExpectGradient("Slice", {{3, 4}, Ints({1, 0}), Ints({2, 3})});
  ExpectGradient("Slice", {{3, 4}, Ints({0, 2}), Ints({-1, -1})});
  const Tensor begin = Tensor::Vector<int64_t>({1}),
               size = Tensor::Vector<int64_t>({2});
  ExpectGradient("Slice", {{4}, begin, size});
}

TEST(SliceGradientsTest, StridedSliceKeepsItsMasks) {
  const Scope root = Scope::Root();
  const Output x = ops::Placeholder(root, DT_FLOAT, {.shape = {4, 5}});
  const Output y = ops::StridedSlice(root, x, {1, 0}, {2, 2}, {1, 1},
                                     {.begin_mask = 2, .shrink_axis_mask = 1});
  ASSERT_OK_AND_ASSIGN(const auto gradients, AddGradients(root, {y}, {x}));
  const Output grad = gradients[0].dense;
  EXPECT_EQ(grad.node()->type(), "StridedSliceGrad");
  EXPECT_EQ(grad.shape(), (PartialShape{4, 5}));
  EXPECT_EQ(*grad.node()->attr<int64_t>("begin_mask"), 2);
  EXPECT_EQ(*grad.node()->attr<int64_t>("shrink_axis_mask"), 1);
  EXPECT_EQ(*grad.node()->attr<int64_t>("end_mask"), 0);
}

TEST(SliceGradientsTest, GatheredRowsAddTheirGradients) {
  ExpectGradient("Gather", {{4, 2}, Ints({3, 0, 3})});
  ExpectGradient("GatherV2", {{4, 2}, Ints({3, 0, 3}), Int(0)});
  const Tensor matrix = Tensor::FromValues<int32_t>({2, 2}, {1, 1, 0, 2});
  ExpectGradient("GatherV2", {{3, 2}, matrix, Int(0)});
}

TEST(SliceGradientsTest, GatherAlongOtherAxesIsDense) {
  ExpectGradient("GatherV2", {{2, 4}, Ints({3, 0, 3}), Int(1)});
  ExpectGradient("GatherV2", {{2, 3, 2}, Ints({2, 2}), Int(-2)});
  const Tensor matrix = Tensor::FromValues<int32_t>({2, 2}, {1, 1, 0, 2});
  ExpectGradient("GatherV2", {{2, 3}, matrix, Int(-1)});
}

// The gradient holds one row for each index, not one for each row of params.
TEST(SliceGradientsTest, GatherOfManyRowsIsSparse) {
  const Scope root = Scope::Root();
  const Output params = ops::Placeholder(root, DT_FLOAT, {.shape = {1000, 8}});
  const Output ids = ops::Placeholder(root, DT_INT64, {.shape = {2, 3}});
  const Output y = ops::GatherV2(root, params, ids, 0);
  ASSERT_OK_AND_ASSIGN(const auto gradients, AddGradients(root, {y}, {params}));
  ASSERT_TRUE(gradients[0].IsSparse());
  EXPECT_EQ(gradients[0].values.shape(), (PartialShape{6, 8}));
  EXPECT_EQ(gradients[0].indices.shape(), (PartialShape{6}));
  EXPECT_EQ(gradients[0].indices.dtype(), DT_INT64);
  EXPECT_FALSE(gradients[0].is_distinct);
}

TEST(SliceGradientsTest, ScatterAndGatherNdAreOpposites) {
  const Tensor places = Tensor::FromValues<int32_t>({2, 2}, {0, 1, 2, 0});
  const Tensor rows = Tensor::FromValues<int32_t>({3, 1}, {2, 0, 2});
  ExpectGradient("GatherNd", {{3, 2}, places});
  ExpectGradient("GatherNd", {{3, 2}, rows});
  ExpectGradient("ScatterNd", {places, {2}, Ints({3, 2})});
  ExpectGradient("ScatterNd", {rows, {3, 2}, Ints({4, 2})});
}

TEST(SliceGradientsTest, TensorScattersMatchDifferences) {
  const Tensor rows = Tensor::FromValues<int32_t>({2, 1}, {2, 0});
  for (const char* op :
       {"TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub",
        "TensorScatterMax", "TensorScatterMin"}) {
    ExpectGradient(op, {{3, 2}, rows, {2, 2}});
  }
}

TEST(SliceGradientsTest, TiedTensorScatterMaxSharesTheGradient) {
  const auto gradients = OpGradientsAt(
      "TensorScatterMax",
      {Tensor::Vector({1.0, 5.0}), Tensor::FromValues<int32_t>({1, 1}, {1}),
       Tensor::Vector({5.0})});
  ASSERT_THAT(gradients, IsOk());
  EXPECT_THAT((*gradients)[0].flat<double>(), ElementsAre(1, 0.5));
  EXPECT_THAT((*gradients)[1].flat<double>(), ElementsAre(0.5));
}

}  // namespace
}  // namespace weft
