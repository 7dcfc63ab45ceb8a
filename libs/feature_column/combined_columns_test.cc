// Tests of crossed and weighted columns.
#include <cstdint>
#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/feature_column/feature_column.h"
#include "libs/feature_column/input_layer.h"
#include "libs/feature_column/parse_spec.h"
#include "libs/ops/array/array_ops.h"

namespace weft::feature_column {
namespace {

using testing::SizeIs;

class CombinedColumnTest : public testing::Test {
 protected:
  void Give(const std::string& key, DataType dtype) {
    features_[key] = ops::Placeholder(root_, dtype, {.shape = {-1, 2}});
  }
  int64_t IdsOf(const FeatureColumn& column) {
    const Output net = InputLayer(root_, features_, {IndicatorColumn(column)});
    return net ? net.shape().dim(1) : -1;
  }
  // Returns the only node of type `type`; null if there are several or none.
  const Node* Only(const std::string& type) {
    const Node* found = nullptr;
    for (const Node* node : root_.graph().nodes()) {
      if (node->type() != type) continue;
      if (found != nullptr) return nullptr;
      found = node;
    }
    return found;
  }

  const Scope root_ = Scope::Root();
  Features features_;
  const FeatureColumn age_ = BucketizedColumn(NumericColumn("age"), {18, 65});
};

TEST_F(CombinedColumnTest, CrossIsHashed) {
  Give("job", DT_STRING);
  Give("city", DT_STRING);
  EXPECT_EQ(IdsOf(CrossedColumn({"job", "city"}, 50)), 50);
  ASSERT_OK(root_.status());
  const Node* cross = Only("SparseCross");
  ASSERT_NE(cross, nullptr);
  EXPECT_EQ(*cross->attr<int64_t>("num_buckets"), 50);
  EXPECT_EQ(*cross->attr<int64_t>("hash_key"), 0xDECAFCAFFE);
  EXPECT_EQ(*cross->attr<DataType>("internal_type"), DT_STRING);
}

TEST_F(CombinedColumnTest, HashKeyMayBeGiven) {
  Give("job", DT_STRING);
  Give("city", DT_STRING);
  IdsOf(CrossedColumn({"job", "city"}, 50, 7));
  const Node* cross = Only("SparseCross");
  ASSERT_NE(cross, nullptr);
  EXPECT_EQ(*cross->attr<int64_t>("hash_key"), 7);
}

TEST_F(CombinedColumnTest, IntegersAreCrossedAsInt64) {
  Give("job", DT_STRING);
  Give("item", DT_INT32);
  IdsOf(CrossedColumn({"job", "item"}, 50));
  ASSERT_OK(root_.status());
  const Node* cross = Only("SparseCross");
  ASSERT_NE(cross, nullptr);
  EXPECT_EQ(*cross->attr<DataType>("internal_type"), DT_INT64);
}

TEST_F(CombinedColumnTest, BucketizedColumnsMayBeCrossed) {
  features_["age"] = ops::Placeholder(root_, DT_FLOAT, {.shape = {-1, 1}});
  Give("job", DT_STRING);
  const auto cross = CrossedColumn({age_, "job"}, 50);
  EXPECT_TRUE(cross.is_categorical());
  EXPECT_FALSE(cross.is_dense());
  EXPECT_EQ(IdsOf(cross), 50);
  EXPECT_OK(root_.status());
}

TEST_F(CombinedColumnTest, NestedCrossIsExpanded) {
  Give("a", DT_STRING);
  Give("b", DT_STRING);
  Give("c", DT_STRING);
  IdsOf(CrossedColumn({CrossedColumn({"c", "a"}, 3), "b"}, 50));
  ASSERT_OK(root_.status());
  EXPECT_NE(Only("SparseCross"), nullptr) << "one cross of three features";
}

TEST_F(CombinedColumnTest, NumbersMustBeBucketizedFirst) {
  Give("job", DT_STRING);
  Give("height", DT_FLOAT);
  IdsOf(CrossedColumn({"job", "height"}, 50));
  EXPECT_THAT(root_.status(),
              StatusIs(kInvalid,
                       "feature 'height' is float, but strings and "
                       "integers can be crossed"));
}

TEST_F(CombinedColumnTest, CrossOptionsAreChecked) {
  const auto job = CategoricalColumnWithVocabularyList(
      "job", {std::string("cook"), "baker"});
  EXPECT_THAT(CrossedColumn({"a", "b"}, 0).status(),
              StatusIs(kInvalid, "'a_X_b': hash_bucket_size must be at least"));
  EXPECT_THAT(CrossedColumn({FeatureColumn(), "b"}, 5).status(),
              StatusIs(kInvalid, "one of its keys is not a column"));
  EXPECT_THAT(
      CrossedColumn({WeightedCategoricalColumn(job, "w"), "b"}, 5).status(),
      StatusIs(kInvalid, "a weighted column cannot be crossed"));
  EXPECT_THAT(CrossedColumn({CategoricalColumnWithIdentity("item", 0), "b"}, 5)
                  .status(),
              StatusIs(kInvalid, "'item': num_buckets"));
  EXPECT_OK(CrossedColumn({job, "b"}, 5).status());
}

TEST_F(CombinedColumnTest, CrossNeedsFeaturesOfAllKeys) {
  ASSERT_OK_AND_ASSIGN(
      const ParseSpec spec,
      MakeParseExampleSpec({CrossedColumn({age_, "job", "city"}, 5)}));
  EXPECT_THAT(spec, SizeIs(3));
  EXPECT_TRUE(spec.at("age") == ParseFeature(FixedLenFeature{.shape = {1}}));
  EXPECT_TRUE(spec.at("job") == ParseFeature(VarLenFeature{DT_STRING}));
}

// ---- weights ----

TEST_F(CombinedColumnTest, EachIdNeedsAWeight) {
  Give("item", DT_INT64);
  Give("w", DT_FLOAT);
  EXPECT_EQ(IdsOf(WeightedCategoricalColumn(
                CategoricalColumnWithIdentity("item", 7), "w")),
            7);
  ASSERT_OK(root_.status());
  EXPECT_NE(Only("Assert"), nullptr);
}

TEST_F(CombinedColumnTest, IntegerWeightsBecomeFloats) {
  Give("item", DT_INT64);
  Give("w", DT_INT32);
  const auto column = WeightedCategoricalColumn(
      CategoricalColumnWithIdentity("item", 7), "w", DT_INT32);
  const auto linear = LinearModel(root_, features_, {column});
  ASSERT_OK(root_.status());
  EXPECT_EQ(linear.logits.dtype(), DT_FLOAT);
  EXPECT_EQ(linear.weights.at("item_weighted_by_w")[0].shape(),
            PartialShape({7, 1}));
}

TEST_F(CombinedColumnTest, WeightsMustBeNumbers) {
  const auto item = CategoricalColumnWithIdentity("item", 7);
  EXPECT_THAT(WeightedCategoricalColumn(item, "w", DT_STRING).status(),
              StatusIs(kInvalid, "weights are numbers, but dtype is string"));
  Give("item", DT_INT64);
  Give("w", DT_STRING);
  IdsOf(WeightedCategoricalColumn(item, "w"));
  EXPECT_THAT(root_.status(),
              StatusIs(kInvalid,
                       "weights are numbers, but feature 'w' is "
                       "string"));
}

TEST_F(CombinedColumnTest, OnlyIdsMayBeWeighted) {
  EXPECT_THAT(WeightedCategoricalColumn(NumericColumn("age"), "w").status(),
              StatusIs(kInvalid, "'age' is not categorical"));
  EXPECT_THAT(WeightedCategoricalColumn(FeatureColumn(), "w").status(),
              StatusIs(kInvalid, "'?_weighted_by_w': it has no column"));
}

TEST_F(CombinedColumnTest, MissingWeightFeatureIsNamed) {
  Give("item", DT_INT64);
  IdsOf(
      WeightedCategoricalColumn(CategoricalColumnWithIdentity("item", 7), "w"));
  EXPECT_THAT(root_.status(),
              StatusIs(kInvalid,
                       "Feature w is not in features dictionary "
                       "(it has: item)"));
}

}  // namespace
}  // namespace weft::feature_column
