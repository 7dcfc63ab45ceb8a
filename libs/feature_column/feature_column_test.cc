// Tests of feature columns as a program uses them: names of columns and
// variables, order, specs, and errors. (integration_tests and tools/conformance
// compare the values of columns with TensorFlow.)
#include "libs/feature_column/feature_column.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/feature_column/input_layer.h"
#include "libs/feature_column/parse_spec.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/state/variable_scope.h"

namespace weft::feature_column {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Inputs holds a graph with some features.
struct Inputs {
  Inputs() {
    features["age"] = ops::Placeholder(root, DT_FLOAT, {.shape = {-1}});
    features["numbers"] = ops::Placeholder(root, DT_FLOAT, {.shape = {-1, 3}});
    features["job"] = ops::Placeholder(root, DT_STRING, {.shape = {-1}});
    features["item"] = ops::Placeholder(root, DT_INT64, {.shape = {-1}});
    features["tags"] =
        ops::SparseOutputs{ops::Placeholder(root, DT_INT64, {.shape = {-1, 2}}),
                           ops::Placeholder(root, DT_STRING, {.shape = {-1}}),
                           ops::Placeholder(root, DT_INT64, {.shape = {2}})};
  }

  std::vector<std::string> VariableNames() const {
    std::vector<std::string> names;
    for (const auto& variable : ops::GlobalVariables(root)) {
      names.push_back(variable.name());
    }
    return names;
  }
  Scope root = Scope::Root();
  Features features;
};

// Returns the error of an input layer that has only this column.
std::string InputError(const FeatureColumn& column) {
  Inputs inputs;
  InputLayer(inputs.root, inputs.features, {column});
  return std::string(inputs.root.status().message());
}

class FeatureColumnTest : public ::testing::Test, public Inputs {};

TEST_F(FeatureColumnTest, NamesMatchTensorFlow) {
  const auto age = NumericColumn("age");
  const auto job = CategoricalColumnWithHashBucket("job", 10);
  EXPECT_EQ(age.name(), "age");
  const auto buckets = BucketizedColumn(age, {1, 2});
  EXPECT_EQ(buckets.name(), "age_bucketized");
  EXPECT_EQ(IndicatorColumn(job).name(), "job_indicator");
  EXPECT_EQ(EmbeddingColumn(job, 3).name(), "job_embedding");
  EXPECT_EQ(WeightedCategoricalColumn(job, "w").name(), "job_weighted_by_w");
  const auto cross = CrossedColumn({"job", buckets}, 5);
  EXPECT_EQ(cross.name(), "age_bucketized_X_job");
  EXPECT_EQ(CrossedColumn({cross, "a"}, 5).name(), "a_X_age_bucketized_X_job");
  EXPECT_EQ(SharedEmbeddingColumns({job, job}, 3)[0].name(),
            "job_shared_embedding");
}

TEST_F(FeatureColumnTest, InputLayerTakesColumnsByName) {
  const auto job = CategoricalColumnWithHashBucket("job", 10);
  const Output net = InputLayer(
      root, features,
      {NumericColumn("numbers", {.shape = {3}}), EmbeddingColumn(job, 4),
       BucketizedColumn(NumericColumn("age"), {1, 2}), IndicatorColumn(job)});
  ASSERT_OK(root.status());
  EXPECT_EQ(net.shape().dim(1), 3 + 4 + 3 + 10);
  EXPECT_THAT(VariableNames(),
              ElementsAre("input_layer/job_embedding/embedding_weights"));
  InputLayer(root, features, {EmbeddingColumn(job, 4)});
  EXPECT_THAT(VariableNames(),
              ElementsAre("input_layer/job_embedding/embedding_weights",
                          "input_layer_1/job_embedding/embedding_weights"));
}

TEST_F(FeatureColumnTest, LinearModelHasWeightsOfEachColumnAndABias) {
  const auto outputs = LinearModel(root, features,
                                   {NumericColumn("numbers", {.shape = {3}}),
                                    CategoricalColumnWithHashBucket("job", 10),
                                    CrossedColumn({"job", "item"}, 7)},
                                   {.units = 2});
  ASSERT_OK(root.status());
  EXPECT_EQ(outputs.logits.shape().dim(1), 2);
  EXPECT_THAT(
      VariableNames(),
      ElementsAre("linear_model/item_X_job/weights", "linear_model/job/weights",
                  "linear_model/numbers/weights", "linear_model/bias_weights"));
}

TEST_F(FeatureColumnTest, NonTrainableLinearModelHasNoTrainables) {
  const auto job = CategoricalColumnWithHashBucket("job", 10);
  const FeatureColumns columns = {EmbeddingColumn(job, 4), job};
  LinearModel(root, features, columns, {.trainable = false});
  ASSERT_OK(root.status());
  EXPECT_EQ(VariableNames().size(), 4);
  EXPECT_TRUE(ops::TrainableVariables(root).empty());
  LinearModel(root, features, columns);
  EXPECT_EQ(ops::TrainableVariables(root).size(), 4);
}

// Conditions that can only be checked at run time are not checked at graph
// construction.
TEST_F(FeatureColumnTest, KnownShapesNeedNoRuntimeCheck) {
  const auto job = CategoricalColumnWithHashBucket("job", 10);
  const auto ages = BucketizedColumn(NumericColumn("age"), {1, 2});
  InputLayer(root, features,
             {NumericColumn("numbers", {.shape = {3}}), EmbeddingColumn(job, 4),
              ages, IndicatorColumn(job),
              IndicatorColumn(CategoricalColumnWithHashBucket("tags", 5))});
  LinearModel(root, features, {NumericColumn("age"), ages, job});
  ASSERT_OK(root.status());
  for (const auto& node : root.graph().nodes()) {
    EXPECT_NE(node->type(), "EnsureShape") << node->name();
  }
}

TEST_F(FeatureColumnTest, SharedEmbeddingTableIsCreatedOnce) {
  const auto columns =
      SharedEmbeddingColumns({CategoricalColumnWithIdentity("item", 9),
                              CategoricalColumnWithIdentity("last", 9)},
                             3);
  features["last"] = ops::Placeholder(root, DT_INT64, {.shape = {-1}});
  InputLayer(root, features, columns);
  ASSERT_OK(root.status());
  EXPECT_THAT(
      VariableNames(),
      ElementsAre("input_layer/item_last_shared_embedding/embedding_weights"));
}

TEST_F(FeatureColumnTest, ErrorsNameTheColumn) {
  EXPECT_THAT(InputError(NumericColumn("height")),
              AllOf(HasSubstr("'height'"), HasSubstr("is not in features"),
                    HasSubstr("age, item, job, numbers, tags")));
  EXPECT_THAT(InputError(NumericColumn("numbers")),
              AllOf(HasSubstr("'numbers'"), HasSubstr("has 3 values")));
  EXPECT_THAT(InputError(NumericColumn("job")),
              AllOf(HasSubstr("'job'"), HasSubstr("takes numbers")));
  EXPECT_THAT(InputError(NumericColumn("tags")), HasSubstr("sparse"));
  EXPECT_THAT(InputError(CategoricalColumnWithHashBucket("job", 5)),
              AllOf(HasSubstr("'job'"), HasSubstr("EmbeddingColumn")));
  EXPECT_THAT(
      InputError(IndicatorColumn(CategoricalColumnWithIdentity("job", 5))),
      AllOf(HasSubstr("'job'"), HasSubstr("takes integers")));
  EXPECT_THAT(
      InputError(IndicatorColumn(CategoricalColumnWithHashBucket("item", 5))),
      HasSubstr("takes strings"));
  EXPECT_THAT(InputError(EmbeddingColumn(NumericColumn("age"), 3)),
              HasSubstr("must be categorical"));
  EXPECT_THAT(InputError(FeatureColumn()), HasSubstr("default-constructed"));
}

TEST_F(FeatureColumnTest, InvalidColumnOptionsAreRejected) {
  const auto says = [](const FeatureColumn& column, const char* text) {
    EXPECT_THAT(column.status(),
                StatusIs(absl::StatusCode::kInvalidArgument, text));
  };
  const auto job = CategoricalColumnWithHashBucket("job", 5);
  says(CategoricalColumnWithHashBucket("job", 0), "at least 1");
  says(CategoricalColumnWithIdentity("item", 3, 3), "not in range [0, 3)");
  says(CategoricalColumnWithVocabularyList("job", {std::string("a"), "a"}),
       "twice");
  says(CategoricalColumnWithVocabularyFile("job", "/no/such/file"),
       "/no/such/file");
  says(BucketizedColumn(NumericColumn("age"), {2, 1}), "rise");
  says(BucketizedColumn(job, {1}), "NumericColumn");
  says(CrossedColumn({"job"}, 5), "at least two");
  says(CrossedColumn({job, "item"}, 5), "hashed already");
  says(CrossedColumn({NumericColumn("age"), "item"}, 5), "bucketize");
  says(EmbeddingColumn(job, 0), "dimension");
  says(EmbeddingColumn(job, 2, {.combiner = "max"}), "combiner");
  says(EmbeddingColumn(job, 2, {.ckpt_to_load_from = "/x"}), "both or none");
  says(SharedEmbeddingColumns({job, CategoricalColumnWithHashBucket("x", 6)},
                              2)[0],
       "same number of ids");
  says(NumericColumn("age", {.shape = {0}}), "greater than 0");
  says(NumericColumn("age", {.dtype = DT_STRING}), "convertible to float");
  says(NumericColumn("age", {.default_value = Tensor::Scalar(int64_t{1})}),
       "default_value is int64");
}

TEST_F(FeatureColumnTest, DuplicateColumnNamesAreRejected) {
  InputLayer(root, features, {NumericColumn("age"), NumericColumn("age")});
  EXPECT_THAT(root.status(),
              StatusIs(absl::StatusCode::kInvalidArgument, "'age' is twice"));
}

TEST_F(FeatureColumnTest, ParseSpecListsFeaturesOfColumns) {
  const auto job = CategoricalColumnWithHashBucket("job", 5);
  ASSERT_OK_AND_ASSIGN(
      const ParseSpec spec,
      MakeParseExampleSpec(
          {NumericColumn("age"), EmbeddingColumn(job, 3),
           IndicatorColumn(WeightedCategoricalColumn(job, "w")),
           IndicatorColumn(CrossedColumn({"a", "job"}, 4)),
           NumericColumn("numbers",
                         {.shape = {2}, .default_value = Tensor::Scalar(7.f)}),
           NumericColumn("counts",
                         {.shape = {1, 3},
                          .default_value = Tensor::Scalar(int64_t{-5}),
                          .dtype = DT_INT64}),
           CategoricalColumnWithIdentity("item", 3)}));
  EXPECT_EQ(spec.size(), 7u);
  EXPECT_TRUE(spec.at("age") == ParseFeature(FixedLenFeature{{1}, DT_FLOAT}));
  EXPECT_TRUE(spec.at("job") == ParseFeature(VarLenFeature{DT_STRING}));
  EXPECT_TRUE(spec.at("a") == ParseFeature(VarLenFeature{DT_STRING}));
  EXPECT_TRUE(spec.at("w") == ParseFeature(VarLenFeature{DT_FLOAT}));
  EXPECT_TRUE(spec.at("item") == ParseFeature(VarLenFeature{DT_INT64}));
  const auto& numbers = std::get<FixedLenFeature>(spec.at("numbers"));
  EXPECT_THAT(numbers.default_value->flat<float>(), ElementsAre(7, 7));
  const auto& counts = std::get<FixedLenFeature>(spec.at("counts"));
  EXPECT_EQ(counts.default_value->shape(), TensorShape({1, 3}));
  EXPECT_THAT(counts.default_value->flat<int64_t>(), ElementsAre(-5, -5, -5));
  const Features parsed = ParseExample(
      root, ops::Placeholder(root, DT_STRING, {.shape = {-1}}), spec);
  EXPECT_OK(root.status());
  EXPECT_TRUE(parsed.at("job").is_sparse());
  EXPECT_FALSE(parsed.at("age").is_sparse());
}

TEST_F(FeatureColumnTest, ConflictingParseSpecsAreRejected) {
  const auto spec = MakeParseExampleSpec(
      {NumericColumn("age"), CategoricalColumnWithIdentity("age", 3)});
  EXPECT_THAT(spec.status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                      "different parse_spec for key age"));
}

}  // namespace
}  // namespace weft::feature_column
