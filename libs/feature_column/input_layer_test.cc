#include "libs/feature_column/input_layer.h"

#include <map>
#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/feature_column/parse_spec.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/state/partitioners.h"
#include "libs/ops/state/variable_scope.h"

namespace weft::feature_column {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Key;
using testing::SizeIs;

class InputLayerTest : public testing::Test {
 protected:
  InputLayerTest() {
    features_["age"] = ops::Placeholder(root_, DT_FLOAT, {.shape = {-1, 1}});
    features_["job"] = ops::Placeholder(root_, DT_STRING, {.shape = {-1, 2}});
  }
  std::vector<std::string> VariableNames() {
    std::vector<std::string> names;
    for (const auto& variable : ops::GlobalVariables(root_)) {
      names.push_back(variable.name());
    }
    return names;
  }
  int Count(const std::string& type) {
    int count = 0;
    for (const Node* node : root_.graph().nodes()) {
      count += node->type() == type;
    }
    return count;
  }

  const Scope root_ = Scope::Root();
  Features features_;
  const FeatureColumn age_ = NumericColumn("age");
  const FeatureColumn job_ = CategoricalColumnWithHashBucket("job", 10);
};

TEST_F(InputLayerTest, ColumnsMustBeGiven) {
  EXPECT_FALSE(InputLayer(root_, features_, {}));
  EXPECT_THAT(root_.status(),
              StatusIs(kInvalid, "feature_columns must not be empty"));
}

TEST_F(InputLayerTest, VariablesAreReportedByColumn) {
  ColumnsToVariables variables;
  InputLayer(root_, features_, {age_, EmbeddingColumn(job_, 3)},
             {.cols_to_vars = &variables});
  ASSERT_OK(root_.status());
  EXPECT_THAT(variables, ElementsAre(Key("age"), Key("job_embedding")));
  EXPECT_THAT(variables["age"], IsEmpty());
  EXPECT_THAT(variables["job_embedding"], SizeIs(1));
}

TEST_F(InputLayerTest, NonTrainableLayerHasNoTrainables) {
  InputLayer(root_, features_, {EmbeddingColumn(job_, 3)},
             {.trainable = false});
  ASSERT_OK(root_.status());
  EXPECT_THAT(VariableNames(), SizeIs(1));
  EXPECT_THAT(ops::TrainableVariables(root_), IsEmpty());
}

TEST_F(InputLayerTest, FeatureIsTransformedOnce) {
  InputLayer(root_, features_,
             {EmbeddingColumn(job_, 3), IndicatorColumn(job_)});
  ASSERT_OK(root_.status());
  EXPECT_EQ(Count("StringToHashBucketFast"), 1);
}

TEST_F(InputLayerTest, OutputIsNamedAsInTensorFlow) {
  EXPECT_EQ(InputLayer(root_, features_, {age_}).name(),
            "input_layer/concat:0");
  EXPECT_EQ(InputLayer(root_, features_, {age_, IndicatorColumn(job_)}).name(),
            "input_layer_1/concat:0");
  EXPECT_OK(root_.status());
}

TEST_F(InputLayerTest, ScopeNameReplacesInvalidCharacters) {
  features_["job title"] = features_["job"];
  InputLayer(
      root_, features_,
      {EmbeddingColumn(CategoricalColumnWithHashBucket("job title", 5), 3)});
  ASSERT_OK(root_.status());
  EXPECT_THAT(VariableNames(),
              ElementsAre("input_layer/job_title_embedding/embedding_weights"));
}

TEST_F(InputLayerTest, EarlierErrorIsKept) {
  root_.UpdateStatus(absl::UnknownError("first"));
  EXPECT_FALSE(InputLayer(root_, features_, {FeatureColumn()}));
  EXPECT_FALSE(LinearModel(root_, features_, {FeatureColumn()}).logits);
  EXPECT_THAT(root_.status(), StatusIs(absl::StatusCode::kUnknown, "first"));
}

// ---- linear models ----

TEST_F(InputLayerTest, LinearModelStartsAtZero) {
  const auto linear = LinearModel(root_, features_, {age_, job_});
  ASSERT_OK(root_.status());
  EXPECT_EQ(linear.weights.at("age")[0].shape(), PartialShape({1, 1}));
  EXPECT_EQ(linear.weights.at("job")[0].shape(), PartialShape({10, 1}));
  for (const auto& variable : ops::GlobalVariables(root_)) {
    const auto* const value =
        variable.initial_value().node()->attr<Tensor>("value");
    ASSERT_NE(value, nullptr) << variable.name();
    EXPECT_THAT(value->flat<float>(), testing::Each(0.f)) << variable.name();
  }
}

TEST_F(InputLayerTest, EachUnitHasWeightsAndABias) {
  const auto linear = LinearModel(root_, features_, {age_, job_}, {.units = 3});
  ASSERT_OK(root_.status());
  EXPECT_EQ(linear.logits.shape().dim(1), 3);
  EXPECT_EQ(linear.weights.at("job")[0].shape(), PartialShape({10, 3}));
  ASSERT_THAT(linear.bias.parts(), SizeIs(1));
  EXPECT_EQ(linear.bias.parts()[0].shape(), PartialShape({3}));
  EXPECT_EQ(linear.logits.name(), "linear_model/weighted_sum:0");
}

TEST_F(InputLayerTest, SecondLinearModelHasWeightsOfItsOwn) {
  LinearModel(root_, features_, {age_});
  LinearModel(root_, features_, {age_});
  ASSERT_OK(root_.status());
  EXPECT_THAT(
      VariableNames(),
      ElementsAre("linear_model/age/weights", "linear_model/bias_weights",
                  "linear_model_1/age/weights", "linear_model_1/bias_weights"));
}

TEST_F(InputLayerTest, LinearWeightsAreInTheVariableScope) {
  const Scope scope = ops::VariableScope(
      root_, "linear", {.partitioner = ops::FixedSizePartitioner(2)});
  const auto linear = LinearModel(scope, features_, {job_});
  ASSERT_OK(root_.status());
  ASSERT_THAT(linear.weights.at("job"), SizeIs(2));
  EXPECT_EQ(linear.weights.at("job")[1].name(),
            "linear/linear_model/job/weights/part_1");
}

TEST_F(InputLayerTest, UnitsMustBePositive) {
  EXPECT_FALSE(LinearModel(root_, features_, {age_}, {.units = 0}).logits);
  EXPECT_THAT(root_.status(),
              StatusIs(kInvalid, "units must be at least 1, but is 0"));
}

// ---- Examples ----

TEST_F(InputLayerTest, ParsedFeaturesFeedTheLayer) {
  const FeatureColumns columns = {age_, EmbeddingColumn(job_, 3)};
  ASSERT_OK_AND_ASSIGN(const ParseSpec spec, MakeParseExampleSpec(columns));
  const Features parsed = ParseExample(
      root_, ops::Placeholder(root_, DT_STRING, {.shape = {-1}}), spec);
  const Output net = InputLayer(root_, parsed, columns);
  ASSERT_OK(root_.status());
  EXPECT_EQ(net.shape().dim(1), 4);
}

TEST_F(InputLayerTest, SpecMayHaveUnusedFeatures) {
  ASSERT_OK_AND_ASSIGN(ParseSpec spec, MakeParseExampleSpec({age_}));
  EXPECT_OK(AddToSpec("label", FixedLenFeature{.shape = {}}, spec));
  EXPECT_OK(AddToSpec("label", FixedLenFeature{.shape = {}}, spec)) << "same";
  EXPECT_THAT(AddToSpec("label", VarLenFeature{DT_INT64}, spec),
              StatusIs(kInvalid, "float [] and any number of int64"));
  const auto parsed =
      ParseExample(root_, ops::Const(root_, Tensor(DT_STRING, {2})), spec);
  ASSERT_OK(root_.status());
  EXPECT_THAT(parsed, ElementsAre(Key("age"), Key("label")));
}

TEST_F(InputLayerTest, SpecsWithDifferentDefaultsDiffer) {
  const FixedLenFeature none = {.shape = {1}};
  FixedLenFeature zero = none, one = none;
  zero.default_value = Tensor::Vector<float>({0});
  one.default_value = Tensor::Vector<float>({1});
  EXPECT_TRUE(zero == zero);
  EXPECT_FALSE(zero == one);
  EXPECT_FALSE(zero == none);
  EXPECT_FALSE(FixedLenFeature{.shape = {2}} == none);
  EXPECT_FALSE(VarLenFeature{DT_INT64} == VarLenFeature{DT_STRING});
}

TEST_F(InputLayerTest, SpecOfInvalidColumnReturnsItsError) {
  EXPECT_THAT(MakeParseExampleSpec({FeatureColumn()}).status(),
              StatusIs(kInvalid, "default-constructed"));
  EXPECT_THAT(
      MakeParseExampleSpec({NumericColumn("age", {.shape = {0}})}).status(),
      StatusIs(kInvalid, "'age': shape dimensions"));
}

}  // namespace
}  // namespace weft::feature_column
