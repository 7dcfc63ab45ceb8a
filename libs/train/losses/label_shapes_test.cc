#include "libs/train/losses/label_shapes.h"

#include <string>

#include "libs/base/test_matchers.h"
#include "libs/ops/array/array_ops.h"

namespace weft::train {
namespace {

using testing::Contains;
using testing::IsEmpty;

class LabelShapeTest : public testing::Test {
 protected:
  Output Floats(const PartialShape& shape) {
    return ops::Placeholder(root_, DT_FLOAT, {.shape = shape});
  }
  // Returns the control inputs of a node in the scope that WithWeightsChecked
  // returns.
  std::vector<std::string> ChecksOf(const PartialShape& weights,
                                    const PartialShape& values) {
    const Scope checked =
        WithWeightsChecked(root_, Floats(weights), Floats(values));
    std::vector<std::string> types;
    const Output probe = ops::Const(checked, 1.0f);
    if (!probe) return types;
    for (const Node* node : probe.node()->control_inputs()) {
      types.push_back(node->type());
    }
    return types;
  }

  const Scope root_ = Scope::Root();
};

TEST_F(LabelShapeTest, KnownWeightsNeedNoRuntimeCheck) {
  EXPECT_THAT(ChecksOf(PartialShape::Scalar(), {2, 3}), IsEmpty());
  EXPECT_THAT(ChecksOf({2, 3}, {2, 3}), IsEmpty());
  EXPECT_THAT(ChecksOf({2, 1}, {2, 3}), IsEmpty());
  EXPECT_THAT(ChecksOf({1, 1}, {-1, -1}), IsEmpty());
  EXPECT_OK(root_.status());
}

TEST_F(LabelShapeTest, UnknownWeightsAreCheckedInTheStep) {
  for (const auto& checks :
       {ChecksOf({-1, 3}, {2, 3}), ChecksOf({2, 3}, {-1, 3}),
        ChecksOf(PartialShape(), {2, 3}), ChecksOf({2, 3}, PartialShape())}) {
    EXPECT_THAT(checks, Contains("Assert"));
  }
  EXPECT_OK(root_.status());
}

TEST_F(LabelShapeTest, WeightsDoNotBroadcastAsInNumpy) {
  ChecksOf({3}, {2, 3});
  EXPECT_THAT(root_.status(),
              StatusIs(kInvalid,
                       "weights can not be broadcast to values. values.rank=2. "
                       "weights.rank=1. values.shape=[2,3], "
                       "weights.shape=[3]."));
}

TEST_F(LabelShapeTest, MismatchNamesTheDimension) {
  ChecksOf({2, 2}, {2, 3});
  EXPECT_THAT(root_.status(), StatusIs(kInvalid, "Mismatch at dim 1."));
}

TEST_F(LabelShapeTest, WeightsOfEqualShapeAreNotBroadcast) {
  const Output weights = Floats({2, 3});
  EXPECT_EQ(BroadcastWeights(root_, weights, Floats({2, 3})), weights);
  EXPECT_OK(root_.status());
}

TEST_F(LabelShapeTest, WeightsGetTheShapeOfTheValues) {
  for (const PartialShape& shape :
       {PartialShape::Scalar(), PartialShape({2, 1}), PartialShape({1, 3})}) {
    const Output weights =
        BroadcastWeights(root_, Floats(shape), Floats({2, 3}));
    ASSERT_OK(root_.status());
    EXPECT_EQ(weights.shape(), PartialShape({2, 3})) << shape.ToString();
  }
}

TEST_F(LabelShapeTest, BroadcastWeightsKeepTheirType) {
  const Output weights = ops::Placeholder(root_, DT_INT64, {.shape = {2, 1}});
  EXPECT_EQ(BroadcastWeights(root_, weights, Floats({2, 3})).dtype(), DT_INT64);
  EXPECT_OK(root_.status());
}

TEST_F(LabelShapeTest, ColumnOfLabelsIsSqueezed) {
  const auto labels =
      RemoveSqueezableDimensions(root_, Floats({4, 1}), Floats({4}));
  EXPECT_EQ(labels.labels.shape(), PartialShape({4}));
  EXPECT_EQ(labels.predictions.shape(), PartialShape({4}));
  const auto predictions =
      RemoveSqueezableDimensions(root_, Floats({4}), Floats({4, 1}));
  EXPECT_EQ(predictions.labels.shape(), PartialShape({4}));
  EXPECT_EQ(predictions.predictions.shape(), PartialShape({4}));
  EXPECT_OK(root_.status());
}

TEST_F(LabelShapeTest, PredictionsMayHaveOneMoreDimension) {
  const auto ids =
      RemoveSqueezableDimensions(root_, Floats({4, 1}), Floats({4, 3}), 1);
  EXPECT_EQ(ids.labels.shape(), PartialShape({4}));
  EXPECT_EQ(ids.predictions.shape(), PartialShape({4, 3}));
  EXPECT_OK(root_.status());
}

TEST_F(LabelShapeTest, OtherRankDifferencesAreUnchanged) {
  const Output labels = Floats({4, 2}), predictions = Floats({4});
  const auto wide = RemoveSqueezableDimensions(root_, labels, predictions);
  EXPECT_EQ(wide.labels, labels);
  EXPECT_EQ(wide.predictions, predictions);
  const Output open = Floats(PartialShape());
  const auto unknown = RemoveSqueezableDimensions(root_, open, predictions);
  EXPECT_EQ(unknown.labels, open);
  EXPECT_OK(root_.status());
}

TEST_F(LabelShapeTest, MatchRankAddsOrDropsADimension) {
  const Output values = Floats({4, 3});
  EXPECT_EQ(MatchRank(root_, Floats({4}), values).shape(),
            PartialShape({4, 1}));
  EXPECT_EQ(MatchRank(root_, Floats({4, 3, 1}), values).shape(),
            PartialShape({4, 3}));
  const Output scalar = Floats(PartialShape::Scalar());
  EXPECT_EQ(MatchRank(root_, scalar, values), scalar);
  const Output open = Floats(PartialShape());
  EXPECT_EQ(MatchRank(root_, open, values), open);
  EXPECT_OK(root_.status());
}

TEST_F(LabelShapeTest, NullTensorsStayNull) {
  const Output x = Floats({4});
  EXPECT_FALSE(BroadcastWeights(root_, Output(), x));
  EXPECT_FALSE(MatchRank(root_, Output(), x));
  EXPECT_FALSE(RemoveSqueezableDimensions(root_, Output(), x).predictions);
}

}  // namespace
}  // namespace weft::train
