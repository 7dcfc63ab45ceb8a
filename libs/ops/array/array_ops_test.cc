// Tests static information about array ops: shapes, values, names.
#include "libs/ops/array/array_ops.h"

#include <limits>

#include "libs/base/test_matchers.h"
#include "libs/graph/op_def.h"

namespace weft {
namespace {

using ::testing::ElementsAre;

class ArrayOpsTest : public testing::Test {
 protected:
  Output Unknown(const PartialShape& shape = {}, DataType dtype = DT_FLOAT) {
    return ops::Placeholder(root_, dtype, {.shape = shape});
  }
  std::string ShapeOf(const Output& output) {
    EXPECT_OK(root_.status());
    return output ? output.shape().ToString() : "no output";
  }
  std::vector<int64_t> ValueOf(const Output& output) {
    EXPECT_OK(root_.status());
    if (!output) return {-999};
    const std::optional<Tensor> value =
        root_.graph().ConstantValue(output.output_tensor());
    if (!value) return {-998};
    std::vector<int64_t> result;
    for (int64_t i = 0; i < value->num_elements(); ++i) {
      result.push_back(value->dtype() == DT_INT64 ? value->flat<int64_t>()[i]
                                                  : value->flat<int32_t>()[i]);
    }
    return result;
  }

  Scope root_ = Scope::Root();
};

TEST_F(ArrayOpsTest, ShapesFollowFromConstants) {
  const Output x = Unknown({-1, 6});
  EXPECT_EQ(ShapeOf(ops::Reshape(root_, x, {-1, 2, 3})), "[?,2,3]");
  EXPECT_EQ(ShapeOf(ops::Reshape(root_, Unknown({4, 6}), {-1, 3})), "[8,3]");
  EXPECT_EQ(ShapeOf(ops::ExpandDims(root_, x, -1)), "[?,6,1]");
  EXPECT_EQ(ShapeOf(ops::Squeeze(root_, Unknown({1, 3, 1}))), "[3]");
  EXPECT_EQ(ShapeOf(ops::Squeeze(root_, Unknown({1, 3, 1}), {.axis = {-1}})),
            "[1,3]");
  EXPECT_EQ(ShapeOf(ops::Fill(root_, {2, 3}, 0.0f)), "[2,3]");
  EXPECT_EQ(ShapeOf(ops::Tile(root_, x, {2, 3})), "[?,18]");
  EXPECT_EQ(ShapeOf(ops::Concat(root_, {x, x}, -1)), "[?,12]");
  EXPECT_EQ(ShapeOf(ops::Stack(root_, {x, x, x}, {.axis = 1})), "[?,3,6]");
  EXPECT_EQ(ShapeOf(ops::Unstack(root_, x, 6, {.axis = -1})[5]), "[?]");
  EXPECT_EQ(ShapeOf(ops::Split(root_, 1, x, 2)[1]), "[?,3]");
  EXPECT_EQ(ShapeOf(ops::SplitV(root_, x, {1, -1}, 1, 2)[1]), "[?,5]");
  EXPECT_EQ(ShapeOf(ops::Slice(root_, x, {0, 1}, {-1, 2})), "[?,2]");
  EXPECT_EQ(ShapeOf(ops::Gather(root_, x, Unknown({5}, DT_INT32))), "[5,6]");
  EXPECT_EQ(ShapeOf(ops::GatherV2(root_, x, Unknown({5}, DT_INT32), 1)),
            "[?,5]");
  EXPECT_EQ(ShapeOf(ops::Transpose(root_, x, {1, 0})), "[6,?]");
  EXPECT_EQ(ShapeOf(ops::Pad(root_, Unknown({2, 3}),
                             ops::Const(root_, {1, 1, 0, 2}, {2, 2}))),
            "[4,5]");
  EXPECT_EQ(
      ShapeOf(ops::OneHot(root_, Unknown({-1}, DT_INT32), 10, 1.0f, 0.0f)),
      "[?,10]");
  EXPECT_EQ(ShapeOf(ops::BroadcastTo(root_, Unknown({1, 3}), {2, 3})), "[2,3]");
  EXPECT_EQ(ShapeOf(ops::Where(root_, Unknown({2, 3}, DT_BOOL))), "[?,2]");
  EXPECT_EQ(ShapeOf(ops::Diag(root_, Unknown({2, 3}))), "[2,3,2,3]");
  EXPECT_EQ(
      ShapeOf(ops::UnsortedSegmentSum(root_, x, Unknown({-1}, DT_INT32), 7)),
      "[7,6]");
}

TEST_F(ArrayOpsTest, SizesAreKnownThroughIntegerCasts) {
  const Output sizes = ops::Shape(root_, Unknown({-1, 7}));
  const Output wide = ops::Cast(root_, sizes, DT_INT64);
  const Output narrow = ops::Cast(root_, wide, DT_INT32);
  EXPECT_EQ(ShapeOf(ops::Fill(root_, narrow, 1.0f)), "[?,7]");
}

// [5] as bool is [1], and 261 as uint8 is 5.
TEST_F(ArrayOpsTest, SizesAreUnknownAfterLossyCasts) {
  const auto through = [&](const Output& sizes, DataType type) {
    const Output cast = ops::Cast(root_, sizes, type);
    return ShapeOf(ops::Fill(root_, ops::Cast(root_, cast, DT_INT32), 1.0f));
  };
  EXPECT_EQ(through(ops::Const(root_, {5}), DT_BOOL), "[?]");
  EXPECT_EQ(through(ops::Const(root_, {5}), DT_FLOAT), "[?]");
  EXPECT_EQ(through(ops::Shape(root_, Unknown({-1, 261})), DT_UINT8), "[?,?]");
}

TEST_F(ArrayOpsTest, SizesThatWrapAroundAreUnknown) {
  const int64_t large = (int64_t{1} << 32) + 5;
  const Output constant = ops::Const(root_, Tensor::Vector<int64_t>({large}));
  EXPECT_EQ(ShapeOf(ops::Fill(root_, ops::Cast(root_, constant, DT_INT32), 1)),
            "[?]");
  const Output sizes = ops::Cast(
      root_, ops::Shape(root_, Unknown({-1, large}), {.out_type = DT_INT64}),
      DT_INT32);
  EXPECT_EQ(ShapeOf(ops::Fill(root_, sizes, 1)), "[?,?]");
  const Output size =
      ops::StridedSlice(root_, sizes, {1}, {2}, {1}, {.shrink_axis_mask = 1});
  EXPECT_EQ(ShapeOf(ops::Fill(root_, ops::Stack(root_, {size}), 1)), "[?]");
}

TEST_F(ArrayOpsTest, ValueThroughCastsMayBroadcast) {
  const Output size = ops::Cast(
      root_, ops::Cast(root_, ops::Const(root_, {5}), DT_BOOL), DT_INT32);
  ops::Add(root_, ops::Fill(root_, size, 1.0f), {1.0f, 2.0f});
  EXPECT_OK(root_.status());
}

TEST_F(ArrayOpsTest, ShapeOfPackedVectorsIsUnknown) {
  const Output vector = ops::Reshape(root_, {5}, Unknown({}, DT_INT32));
  const Output packed = ops::Stack(root_, {vector});
  EXPECT_EQ(ShapeOf(ops::Fill(root_, packed, 1.0f)), "<unknown>");
}

TEST_F(ArrayOpsTest, ShapeWithTooManyElementsIsUnknown) {
  const int64_t large = int64_t{1} << 40;
  const Output sizes =
      ops::Shape(root_, Unknown({-1, large}), {.out_type = DT_INT64});
  const Output size =
      ops::StridedSlice(root_, sizes, {1}, {2}, {1}, {.shrink_axis_mask = 1});
  const Output twice = ops::Stack(root_, {size, size});
  EXPECT_EQ(ShapeOf(ops::Fill(root_, twice, 1.0f)), "[?,?]");
}

TEST_F(ArrayOpsTest, UnknownRanksGiveUnknownShapes) {
  const Output x = Unknown();
  EXPECT_EQ(ShapeOf(ops::Reshape(root_, x, Unknown({2}, DT_INT32))), "[?,?]");
  EXPECT_EQ(ShapeOf(ops::ExpandDims(root_, x, 0)), "<unknown>");
  EXPECT_EQ(ShapeOf(ops::Concat(root_, {x, x}, 0)), "<unknown>");
  EXPECT_EQ(ShapeOf(ops::Transpose(root_, x, {1, 0})), "[?,?]");
  EXPECT_EQ(ShapeOf(ops::Rank(root_, x)), "[]");
  EXPECT_EQ(ShapeOf(ops::Shape(root_, x)), "[?]");
}

TEST_F(ArrayOpsTest, ArithmeticOfShapesHasValues) {
  const Output x = Unknown({2, 3, 4});
  const Output shape = ops::Shape(root_, x);
  EXPECT_THAT(ValueOf(shape), ElementsAre(2, 3, 4));
  EXPECT_THAT(ValueOf(ops::Size(root_, x)), ElementsAre(24));
  EXPECT_THAT(ValueOf(ops::Rank(root_, x)), ElementsAre(3));
  EXPECT_THAT(ValueOf(ops::StridedSlice(root_, shape, {-1}, {-4}, {-1},
                                        {.end_mask = 1})),
              ElementsAre(4, 3, 2));
  EXPECT_THAT(ValueOf(ops::Slice(root_, shape, {1}, {-1})), ElementsAre(3, 4));
  EXPECT_THAT(ValueOf(ops::Gather(root_, shape, {2, 0})), ElementsAre(4, 2));
  EXPECT_THAT(ValueOf(ops::Concat(root_, {shape, shape}, 0)),
              ElementsAre(2, 3, 4, 2, 3, 4));
  EXPECT_THAT(ValueOf(ops::Stack(root_, {ops::Rank(root_, x), 7})),
              ElementsAre(3, 7));
  EXPECT_THAT(ValueOf(ops::Fill(root_, {2}, 5)), ElementsAre(5, 5));
  EXPECT_THAT(ValueOf(ops::OnesLike(root_, shape)), ElementsAre(1, 1, 1));
  EXPECT_THAT(ValueOf(ops::Reshape(root_, shape, {1, -1})),
              ElementsAre(2, 3, 4));
  EXPECT_THAT(ValueOf(ops::ExpandDims(root_, shape, 0)), ElementsAre(2, 3, 4));
}

TEST_F(ArrayOpsTest, ElementAtUnknownIndexIsUnknown) {
  const Output shape = ops::Shape(root_, Unknown({2, 3, 4}));
  const Output at = Unknown({1}, DT_INT32);
  const auto element = ops::StridedSlice(
      root_, shape, at, Unknown({1}, DT_INT32), {1}, {.shrink_axis_mask = 1});
  EXPECT_EQ(ShapeOf(element), "[]");
  EXPECT_THAT(ValueOf(element), ElementsAre(-998));
}

TEST_F(ArrayOpsTest, AbsurdGatherBatchIsRejected) {
  const Output x = Unknown({2, 3});
  const Output axis = Unknown(PartialShape::Scalar(), DT_INT32);
  const int64_t least = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(ShapeOf(ops::GatherV2(root_, x, Unknown({5}, DT_INT32), axis,
                                  {.batch_dims = least})),
            "<unknown>");
  ops::GatherV2(root_, x, Unknown({5}, DT_INT32), 1, {.batch_dims = least});
  EXPECT_THAT(root_.status(),
              StatusIs(absl::StatusCode::kInvalidArgument, "batch_dims"));
}

TEST_F(ArrayOpsTest, InvalidShapesAreRejectedWithTheNode) {
  ops::Reshape(root_.WithName("bad"), Unknown({4, 6}), {5, 5});
  EXPECT_THAT(root_.status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "Cannot reshape a tensor with 24 elements"));
  EXPECT_THAT(root_.status(),
              StatusIs(absl::StatusCode::kInvalidArgument, "bad"));
}

TEST_F(ArrayOpsTest, ListsOfOutputsKeepTheirLengthAfterAnError) {
  root_.UpdateStatus(absl::InvalidArgumentError("before"));
  const std::vector<Output> pieces = ops::Split(root_, 0, Unknown(), 3);
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_FALSE(pieces[2]);
}

TEST_F(ArrayOpsTest, ConstantsNeedTheirNumberOfValues) {
  const Output good = ops::Const(root_, {1, 2, 3, 4}, {2, 2});
  EXPECT_EQ(ShapeOf(good), "[2,2]");
  ops::Const(root_, {1, 2, 3}, {2, 2});
  EXPECT_THAT(root_.status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                       "3 values do not fill shape [2,2]"));
}

TEST_F(ArrayOpsTest, PlaceholderDefaultMustFit) {
  ops::PlaceholderWithDefault(root_, ops::Const(root_, {1.0f, 2.0f}), {-1});
  EXPECT_OK(root_.status());
  ops::PlaceholderWithDefault(root_, ops::Const(root_, {1.0f, 2.0f}), {3});
  EXPECT_THAT(root_.status(), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace weft
