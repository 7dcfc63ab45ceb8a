// Tests that known fields of an estimator case are read and all others are
// rejected. The field names are those that the generator of the estimator cases
// writes.
#include "tools/conformance/estimator_fields.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/memory_file_system.h"
#include "libs/graph/graph.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/state/variable.h"
#include "tools/conformance/estimator_model.h"
#include "tools/conformance/estimator_model_fn.h"

namespace weft::conformance {
namespace {

using Json = nlohmann::json;
using ::testing::Contains;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

constexpr char kColumns[] = R"({
  "age": {"type": "numeric", "key": "age"},
  "job": {"type": "hash_bucket", "key": "job", "hash_bucket_size": 10},
  "job_embedding": {"type": "embedding", "of": "job", "dimension": 2}
})";

NamedColumns Columns() {
  return MakeColumns(Json::parse(kColumns), "/case").value();
}

absl::Status TryColumns(const std::string& specs) {
  return MakeColumns(Json::parse(specs), "/case").status();
}
absl::Status TryModel(const std::string& spec) {
  return MakeEstimator(Json::parse(spec), Columns(), {}).status();
}
absl::Status TryOptimizer(const std::string& spec) {
  return OptimizerOf(Json::parse(spec)).status();
}
absl::Status TryPartitioner(const std::string& spec) {
  return PartitionerOf(Json::parse(spec)).status();
}
absl::Status TryModelFn(const std::string& spec) {
  return ModelFnOf(Json::parse(spec), Columns()).status();
}

// Returns the values of all constants that the optimizer adds to a graph.
std::vector<float> ConstantsOf(const std::string& optimizer) {
  const Scope scope = Scope::Root();
  const ops::Variable x(scope.WithName("x"), 1.0f);
  const auto choice = OptimizerOf(Json::parse(optimizer)).value();
  const auto made = choice.Make(scope, 0).value();
  made->Minimize(scope, ops::Square(scope, x));
  EXPECT_OK(scope.status());
  std::vector<float> values;
  for (const Node* node : scope.graph().nodes()) {
    if (node->op().name != "Const") continue;
    const Tensor& value = *node->attr<Tensor>("value");
    if (value.dtype() == DT_FLOAT && value.num_elements() == 1) {
      values.push_back(value.flat<float>()[0]);
    }
  }
  return values;
}

TEST(EstimatorFieldsTest, MissingFieldIsNamed) {
  const Json json = {{"units", 3}};
  Fields fields(json, "the layer");
  EXPECT_THAT(fields.Get<std::string>("name").status(),
              StatusIs(kInvalid, "the layer lacks the field name"));
}

TEST(EstimatorFieldsTest, FieldOfAnotherTypeIsRefused) {
  const Json json = {{"units", "three"}, {"wide", int64_t{1} << 40}};
  Fields fields(json, "the layer");
  EXPECT_THAT(
      fields.Get<int64_t>("units").status(),
      StatusIs(kInvalid, "the field units has another type: \"three\""));
  EXPECT_THAT(fields.Get<int>("wide").status(),
              StatusIs(kInvalid, "the field wide has another type"));
}

TEST(EstimatorFieldsTest, NullCountsAsAbsent) {
  const Json json = {{"axis", nullptr}};
  Fields fields(json, "the partitioner");
  int axis = 7;
  EXPECT_OK(fields.Take("axis", axis));
  EXPECT_EQ(axis, 7);
  EXPECT_OK(fields.CheckAllTaken());
}

TEST(EstimatorFieldsTest, UnknownFieldIsRefused) {
  const Json json = {{"axis", 0}, {"axes", 0}};
  Fields fields(json, "the partitioner");
  fields.Skip("axis");
  EXPECT_THAT(
      fields.CheckAllTaken(),
      StatusIs(kInvalid, "the partitioner has the field axes, unknown here"));
}

TEST(EstimatorFieldsTest, EachColumnIsKnown) {
  EXPECT_OK(TryColumns(R"({
    "n": {"type": "numeric", "key": "n", "shape": [2], "dtype": "int64",
          "default_value": [1, 2],
          "normalizer": {"subtract": 1, "divide": 2}},
    "log": {"type": "numeric", "key": "l", "default_value": 0.5,
            "normalizer": {"log1p": true}},
    "plain": {"type": "numeric", "key": "p"},
    "b": {"type": "bucketized", "source": "plain", "boundaries": [1, 2.5]},
    "h": {"type": "hash_bucket", "key": "h", "hash_bucket_size": 5,
          "dtype": "int64"},
    "v": {"type": "vocabulary_list", "key": "v", "vocabulary_list": ["a"],
          "dtype": "string", "default_value": 0},
    "vn": {"type": "vocabulary_list", "key": "vn", "vocabulary_list": [4, 5],
           "num_oov_buckets": 2},
    "f": {"type": "vocabulary_file", "key": "f", "vocabulary_file": "f.txt",
          "vocabulary_size": 3, "num_oov_buckets": 1, "dtype": "string"},
    "i": {"type": "identity", "key": "i", "num_buckets": 4,
          "default_value": 0},
    "c": {"type": "crossed", "keys": ["h", {"column": "b"}],
          "hash_bucket_size": 9, "hash_key": 7},
    "w": {"type": "weighted", "of": "v", "weight_feature_key": "x",
          "dtype": "float32"},
    "ind": {"type": "indicator", "of": "v"},
    "e": {"type": "embedding", "of": "v", "dimension": 2, "combiner": "sum",
          "max_norm": 1, "trainable": false, "ckpt_to_load_from": "m",
          "tensor_name_in_ckpt": "t"},
    "s": {"type": "shared_embedding", "of": ["i"], "dimension": 2,
          "combiner": "sqrtn", "max_norm": 1, "trainable": true,
          "shared_embedding_collection_name": "s"}
  })"));
}

TEST(EstimatorFieldsTest, UnknownFieldsOfColumnsAreRefused) {
  const std::vector<std::string> specs = {
      R"({"n": {"type": "numeric", "key": "n", "colour": 1}})",
      R"({"n": {"type": "numeric", "key": "n",
                "normalizer": {"log1p": true, "colour": 1}}})",
      R"({"n": {"type": "numeric", "key": "n",
                "normalizer": {"subtract": 1, "divide": 1, "colour": 1}}})",
      R"({"c": {"type": "crossed", "keys": [{"column": "c", "colour": 1}, "a"],
                "hash_bucket_size": 3}})",
      R"({"i": {"type": "identity", "key": "i", "num_buckets": 4,
                "colour": 1}})"};
  for (const std::string& spec : specs) {
    EXPECT_THAT(TryColumns(spec),
                StatusIs(kInvalid, "has the field colour, unknown here"))
        << spec;
  }
  EXPECT_THAT(TryColumns(R"({"n": {"type": "colour", "key": "n"}})"),
              StatusIs(kInvalid, "a column of type colour, unknown here"));
}

TEST(EstimatorFieldsTest, EachModelIsKnown) {
  for (const char* spec :
       {R"({"class": "LinearClassifier", "feature_columns": ["job"],
            "n_classes": 3, "weight_column": "w",
            "label_vocabulary": ["a", "b", "c"], "optimizer": "Ftrl",
            "partitioner": {"fixed_size": {"num_shards": 2, "axis": 0}},
            "loss_reduction": "weighted_mean", "sparse_combiner": "mean"})",
        R"({"class": "LinearRegressor", "feature_columns": ["job"],
            "label_dimension": 2, "optimizer": null})",
        R"({"class": "DNNClassifier", "feature_columns": ["job_embedding"],
            "hidden_units": [2], "activation_fn": null, "dropout": 0.5,
            "batch_norm": true, "input_layer_partitioner":
                {"variable_axis_size": {"max_shard_bytes": 64, "axis": 0,
                 "bytes_per_string_element": 8, "max_shards": 2}}})",
        R"({"class": "DNNRegressor", "feature_columns": ["age"],
            "hidden_units": [2], "activation_fn": "elu"})",
        R"({"class": "DNNLinearCombinedClassifier",
            "linear_feature_columns": ["job"], "linear_optimizer": "SGD",
            "dnn_feature_columns": ["age"], "dnn_optimizer": "Adam",
            "dnn_hidden_units": [2], "dnn_activation_fn": "tanh",
            "dnn_dropout": 0.0, "batch_norm": false,
            "linear_sparse_combiner": "sqrtn", "input_layer_partitioner":
                {"min_max_variable": {"max_partitions": 2, "axis": 0,
                 "min_slice_size": 16, "bytes_per_string_element": 8}}})",
        R"({"class": "DNNLinearCombinedRegressor", "dnn_hidden_units": [2],
            "dnn_feature_columns": ["age"], "dnn_activation_fn": "sigmoid"})",
        R"({"class": "BaselineClassifier", "optimizer": "RMSProp"})",
        R"({"class": "BaselineRegressor", "weight_column": "w"})"}) {
    EXPECT_OK(TryModel(spec)) << spec;
  }
}

TEST(EstimatorFieldsTest, UnknownFieldsOfModelsAreRefused) {
  EXPECT_THAT(
      TryModel(R"({"class": "BaselineClassifier", "hidden_units": [3]})"),
      StatusIs(kInvalid, "the model has the field hidden_units, unknown here"));
  EXPECT_THAT(TryModel(R"({"class": "Classifier"})"),
              StatusIs(kInvalid, "unknown here"));
  EXPECT_THAT(TryModel(R"({"class": "Estimator", "n_classes": 2, "model_fn":
                  {"net": [], "loss": "softmax_mean", "optimizer": "SGD"}})"),
              StatusIs(kInvalid, "the model has the field n_classes"));
}

TEST(EstimatorFieldsTest, UnknownFieldsOfPartitionersAreRefused) {
  EXPECT_THAT(
      TryPartitioner(R"({"fixed_size": {"num_shards": 2, "shards": 2}})"),
      StatusIs(kInvalid, "the partitioner fixed_size has the field shards"));
  EXPECT_THAT(TryPartitioner(R"({"colour": {}})"),
              StatusIs(kInvalid, "partitioner colour, unknown here"));
  EXPECT_THAT(TryPartitioner("{}"), StatusIs(kInvalid, "of one field"));
}

TEST(EstimatorFieldsTest, OptionsAreSetInTheOptimizer) {
  const struct {
    const char* spec;
    std::vector<float> values;
  } cases[] = {
      {R"({"type": "RMSProp", "learning_rate": 0.25, "decay": 0.75,
           "momentum": 0.5, "epsilon": 0.125, "centered": true})",
       {.25f, .75f, .5f, .125f}},
      {R"({"type": "Momentum", "learning_rate": 0.25, "momentum": 0.5,
           "use_nesterov": true})",
       {.25f, .5f}},
      {R"({"type": "Adam", "learning_rate": 0.25, "beta1": 0.5, "beta2": 0.75,
           "epsilon": 0.125})",
       {.25f, .5f, .75f, .125f}},
      {R"({"type": "Adam", "beta1": 0.5})", {.001f, .5f}},
      {R"({"type": "Ftrl", "learning_rate": 0.25, "learning_rate_power": -0.75,
           "l1_regularization_strength": 0.5,
           "l2_regularization_strength": 0.125,
           "l2_shrinkage_regularization_strength": 0.625})",
       {.25f, -.75f, .5f, .125f, .625f}},
      {R"({"type": "ProximalAdagrad", "learning_rate": 0.25,
           "l1_regularization_strength": 0.5,
           "l2_regularization_strength": 0.125})",
       {.25f, .5f, .125f}},
      {R"({"type": "SGD", "learning_rate": 0.25})", {.25f}}};
  for (const auto& [spec, values] : cases) {
    const std::vector<float> constants = ConstantsOf(spec);
    for (const float value : values) {
      EXPECT_THAT(constants, Contains(value)) << spec;
    }
  }
}

TEST(EstimatorFieldsTest, UnknownFieldsOfOptimizersAreRefused) {
  EXPECT_THAT(
      TryOptimizer(R"({"type": "SGD", "learning_rate": 1, "momentum": 0.5})"),
      StatusIs(kInvalid, "the optimizer has the field momentum"));
  EXPECT_THAT(TryOptimizer(R"({"type": "Momentum", "learning_rate": 1})"),
              StatusIs(kInvalid, "the optimizer lacks the field momentum"));
  EXPECT_THAT(
      TryOptimizer(R"({"type": "Adagrad"})"),
      StatusIs(kInvalid, "the optimizer lacks the field learning_rate"));
  EXPECT_THAT(TryOptimizer(R"({"type": "Colour", "learning_rate": 1})"),
              StatusIs(kInvalid, "optimizer Colour, unknown here"));
}

TEST(EstimatorFieldsTest, EachPartOfAModelFunctionIsKnown) {
  EXPECT_OK(TryModelFn(R"({
    "net": [{"input_layer": ["age", "job_embedding"]},
            {"dense": {"units": 3, "name": "d", "activation": "relu",
                       "l2": 0.5}},
            {"layer_scale": {"name": "s"}}],
    "loss": "sigmoid_mean", "optimizer": {"type": "SGD", "learning_rate": 1},
    "clip_global_norm": 0.5,
    "metrics": ["accuracy", "mean_per_class_accuracy", "auc",
                "precision_at_0.25", "mean_top_probability"]
  })"));
}

TEST(EstimatorFieldsTest, UnknownPartsOfAModelFunctionAreRefused) {
  const std::string end = R"("loss": "softmax_mean", "optimizer": "SGD"})";
  EXPECT_THAT(TryModelFn(R"({"colour": 1, "net": [], )" + end),
              StatusIs(kInvalid, "model_fn has the field colour"));
  EXPECT_THAT(TryModelFn(R"({"net": [{"colour": {"name": "c"}}], )" + end),
              StatusIs(kInvalid, "layer colour, unknown here"));
  EXPECT_THAT(TryModelFn(R"({"net": [{"dense": {"name": "d", "units": 1,
                             "l1": 0.5}}], )" +
                         end),
              StatusIs(kInvalid, "the layer dense has the field l1"));
  EXPECT_THAT(TryModelFn(R"({"net": [], "metrics": ["colour"], )" + end),
              StatusIs(kInvalid, "metric colour, unknown here"));
  EXPECT_THAT(TryModelFn(R"({"net": [], "loss": "colour",
                             "optimizer": "SGD"})"),
              StatusIs(kInvalid, "loss colour, unknown here"));
}

TEST(EstimatorFieldsTest, UnknownFieldsOfDataAreRefused) {
  EXPECT_THAT(ReadData(Json::parse(R"({"train": "t", "eval": "e",
                  "train_batch": 1, "eval_batch": 1, "features": {},
                  "label": {}, "shuffle": true})"))
                  .status(),
              StatusIs(kInvalid, "data has the field shuffle"));
}

class EstimatorInputTest : public ::testing::Test {
 protected:
  absl::Status TryFeature(const std::string& feature) {
    EXPECT_OK(files_.WriteFileAtomically("/t.csv", "x,y\n1|2,0\n"));
    DataSpec data;
    data.features = {{"x", Json::parse(feature)}};
    data.label = {{"columns", {"y"}}, {"dtype", "int64"}};
    return ReadInput(files_, "/t.csv", data, {}).status();
  }

  MemoryFileSystem files_;
};

TEST_F(EstimatorInputTest, FeaturesAreKnown) {
  EXPECT_OK(TryFeature(R"({"dtype": "float32", "length": 2})"));
  EXPECT_OK(TryFeature(R"({"dtype": "int64", "multivalent": true})"));
  EXPECT_OK(TryFeature(R"({"dtype": "string"})"));
}

TEST_F(EstimatorInputTest, UnknownFeaturesAreRefused) {
  EXPECT_THAT(TryFeature(R"({"dtype": "string", "shape": [2]})"),
              StatusIs(kInvalid, "the feature x has the field shape"));
  EXPECT_THAT(TryFeature(R"({"dtype": "colour"})"),
              StatusIs(kInvalid, "the dtype colour, unknown here"));
}

TEST_F(EstimatorInputTest, RowsOfAnotherLengthAreRefused) {
  EXPECT_THAT(
      TryFeature(R"({"dtype": "float32", "length": 3})"),
      StatusIs(absl::StatusCode::kDataLoss, "'1|2' of x has 2 values, not 3"));
}

}  // namespace
}  // namespace weft::conformance
