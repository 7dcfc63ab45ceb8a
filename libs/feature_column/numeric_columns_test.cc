#include <limits>
#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/feature_column/feature_column.h"
#include "libs/feature_column/input_layer.h"
#include "libs/feature_column/parse_spec.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"

namespace weft::feature_column {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

class NumericColumnTest : public testing::Test {
 protected:
  // Adds a dense feature to the inputs of the column.
  void Give(const std::string& key, DataType dtype, const PartialShape& shape) {
    features_[key] = ops::Placeholder(root_, dtype, {.shape = shape});
  }
  std::vector<const Node*> NodesOf(const std::string& type) {
    std::vector<const Node*> found;
    for (const Node* node : root_.graph().nodes()) {
      if (node->type() == type) found.push_back(node);
    }
    return found;
  }

  const Scope root_ = Scope::Root();
  Features features_;
};

TEST_F(NumericColumnTest, NumbersBecomeFloats) {
  for (const DataType dtype : {DT_INT64, DT_DOUBLE, DT_BOOL, DT_UINT8}) {
    Give("age", dtype, {-1, 1});
    const Output net = InputLayer(root_, features_, {NumericColumn("age")});
    ASSERT_OK(root_.status());
    EXPECT_EQ(net.dtype(), DT_FLOAT) << DataTypeName(dtype);
    EXPECT_EQ(net.shape(), PartialShape({-1, 1}));
  }
}

TEST_F(NumericColumnTest, ShapeIsFlattened) {
  Give("image", DT_FLOAT, {-1, 2, 3});
  const Output net =
      InputLayer(root_, features_, {NumericColumn("image", {.shape = {2, 3}})});
  ASSERT_OK(root_.status());
  EXPECT_EQ(net.shape(), PartialShape({-1, 6}));
}

TEST_F(NumericColumnTest, UnknownShapeIsCheckedInTheStep) {
  Give("numbers", DT_FLOAT, {-1, -1});
  const Output net =
      InputLayer(root_, features_, {NumericColumn("numbers", {.shape = {3}})});
  ASSERT_OK(root_.status());
  EXPECT_EQ(net.shape(), PartialShape({-1, 3}));
  EXPECT_THAT(NodesOf("EnsureShape"), SizeIs(1));
}

TEST_F(NumericColumnTest, NormalizerGetsTheRawValues) {
  Give("age", DT_INT64, {-1, 1});
  DataType given = DT_INVALID;
  const auto column = NumericColumn(
      "age", {.normalizer_fn = [&](const Scope& scope, const Output& values) {
        given = values.dtype();
        return ops::Mul(scope.WithName("normalized"), values, 2);
      }});
  InputLayer(root_, features_, {column});
  ASSERT_OK(root_.status());
  EXPECT_EQ(given, DT_INT64);
  EXPECT_THAT(NodesOf("Mul"), SizeIs(1));
}

TEST_F(NumericColumnTest, ScalarFeatureIsRejected) {
  Give("age", DT_FLOAT, PartialShape::Scalar());
  InputLayer(root_, features_, {NumericColumn("age")});
  EXPECT_THAT(root_.status(),
              StatusIs(kInvalid, "(key: age) cannot have rank 0"));
}

TEST_F(NumericColumnTest, OptionsAreChecked) {
  const auto says = [](const NumericColumnOptions& options, const char* text) {
    EXPECT_THAT(NumericColumn("age", options).status(),
                StatusIs(kInvalid, text));
  };
  says({.shape = {2, -1}}, "greater than 0, and all together");
  says({.shape = {int64_t{1} << 30, int64_t{1} << 30}}, "less than 2^40");
  says({.dtype = DT_BOOL}, "convertible to float, but is bool");
  says({.shape = {3}, .default_value = Tensor::Vector<float>({1, 2})},
       "default_value is of shape [2], but the column of [3]");
  EXPECT_OK(NumericColumn("age", {.dtype = DT_HALF}).status());
}

TEST_F(NumericColumnTest, DefaultOfOtherRankIsReshaped) {
  ASSERT_OK_AND_ASSIGN(
      const ParseSpec spec,
      MakeParseExampleSpec({NumericColumn(
          "x",
          {.shape = {2, 1}, .default_value = Tensor::Vector<float>({1, 2})})}));
  const auto& feature = std::get<FixedLenFeature>(spec.at("x"));
  EXPECT_EQ(feature.default_value->shape(), TensorShape({2, 1}));
  EXPECT_THAT(feature.default_value->flat<float>(), ElementsAre(1, 2));
}

// ---- buckets ----

TEST_F(NumericColumnTest, OneMoreBucketThanBoundaries) {
  Give("age", DT_FLOAT, {-1, 1});
  const auto column = BucketizedColumn(NumericColumn("age"), {18, 25, 65});
  EXPECT_TRUE(column.is_dense());
  EXPECT_TRUE(column.is_categorical());
  const Output net = InputLayer(root_, features_, {column});
  ASSERT_OK(root_.status());
  EXPECT_EQ(net.shape(), PartialShape({-1, 4}));
  const auto bucketize = NodesOf("Bucketize");
  ASSERT_THAT(bucketize, SizeIs(1));
  EXPECT_THAT(*bucketize[0]->attr<std::vector<float>>("boundaries"),
              ElementsAre(18, 25, 65));
}

TEST_F(NumericColumnTest, EachPositionHasItsOwnBuckets) {
  Give("pair", DT_FLOAT, {-1, 2});
  const auto column =
      BucketizedColumn(NumericColumn("pair", {.shape = {2}}), {0, 1});
  const Output net = InputLayer(root_, features_, {column});
  const auto linear = LinearModel(root_, features_, {column});
  ASSERT_OK(root_.status());
  EXPECT_EQ(net.shape(), PartialShape({-1, 6}));
  EXPECT_EQ(linear.weights.at("pair_bucketized")[0].shape(),
            PartialShape({6, 1}));
}

TEST_F(NumericColumnTest, BoundariesMustRise) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::vector<float>& wrong : std::vector<std::vector<float>>{
           {}, {1, 1}, {2, 1}, {nan}, {1, nan}, {nan, 1}}) {
    EXPECT_THAT(BucketizedColumn(NumericColumn("age"), wrong).status(),
                StatusIs(kInvalid, "numbers that rise"));
  }
}

TEST_F(NumericColumnTest, BucketsNeedNumbersOfOneDimension) {
  EXPECT_THAT(
      BucketizedColumn(NumericColumn("image", {.shape = {2, 3}}), {1}).status(),
      StatusIs(kInvalid, "must be of one value or a vector"));
  EXPECT_THAT(BucketizedColumn(FeatureColumn(), {1}).status(),
              StatusIs(kInvalid, "Feature column '?_bucketized'"));
  EXPECT_THAT(
      BucketizedColumn(NumericColumn("age", {.shape = {0}}), {1}).status(),
      StatusIs(kInvalid, "greater than 0"));
}

TEST_F(NumericColumnTest, BucketsNeedTheFeatureOfTheirSource) {
  ASSERT_OK_AND_ASSIGN(
      const ParseSpec spec,
      MakeParseExampleSpec({BucketizedColumn(NumericColumn("age"), {1})}));
  EXPECT_THAT(spec, SizeIs(1));
  EXPECT_TRUE(spec.at("age") == ParseFeature(FixedLenFeature{.shape = {1}}));
}

}  // namespace
}  // namespace weft::feature_column
