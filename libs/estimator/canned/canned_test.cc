// Tests of the graphs of canned models: variables, optimizers and errors.
// tools/conformance compares the models' results with TensorFlow.
#include "libs/estimator/canned/canned.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/logging.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/memory_file_system.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/state/variable_scope.h"
#include "libs/train/optimizers/adam.h"

namespace weft::estimator {
namespace {

using feature_column::CategoricalColumnWithIdentity;
using feature_column::EmbeddingColumn;
using feature_column::NumericColumn;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

absl::StatusOr<InputTensors> ClassInput(const Scope& scope) {
  InputTensors input;
  input.features["age"] = ops::Placeholder(scope, DT_FLOAT, {.shape = {-1, 1}});
  input.features["item"] = ops::Placeholder(scope, DT_INT64, {.shape = {-1}});
  input.labels = ops::Placeholder(scope, DT_INT64, {.shape = {-1}});
  return input;
}

class CannedGraphTest : public testing::Test {
 protected:
  // Returns options of an Estimator whose training fails with UNIMPLEMENTED as
  // soon as its graph is built, so that the test can inspect the graph.
  EstimatorOptions Options() {
    EstimatorOptions options;
    options.model_dir = "/model";
    options.file_system = &files_;
    options.logger = &logger_;
    options.session_factory =
        [this](
            const std::string&, const Scope& scope,
            const SessionOptions&) -> absl::StatusOr<std::unique_ptr<Session>> {
      built_ = scope;
      return absl::UnimplementedError("the graph is built");
    };
    return options;
  }
  static RunConfig Config() {
    RunConfig config;
    config.save_summary_steps = 0;
    config.save_checkpoints_steps = 0;
    config.log_step_count_steps = 0;
    return config;
  }
  // Builds the training graph of a model in `built_`.
  void Train(Estimator model, const InputFn& input_fn = ClassInput) {
    EXPECT_THAT(
        model.Train(input_fn, {.steps = 1}),
        StatusIs(absl::StatusCode::kUnimplemented, "the graph is built"));
    ASSERT_TRUE(built_.has_value());
  }
  absl::Status ErrorOf(Estimator model) {
    return model.Train(ClassInput, {.steps = 1});
  }
  std::vector<std::string> VariableNames() {
    std::vector<std::string> names;
    if (!built_) return names;
    for (const auto& variable : ops::TrainableVariables(*built_)) {
      names.push_back(variable.name());
    }
    return names;
  }
  PartialShape ShapeOf(const std::string& name) {
    for (const auto& variable : ops::GlobalVariables(*built_)) {
      if (variable.name() == name) return variable.shape();
    }
    ADD_FAILURE() << "no variable " << name;
    return PartialShape();
  }
  // Returns the learning rates in the graph, in the order of the optimizers.
  std::vector<float> Rates() {
    std::vector<float> rates;
    if (!built_) return rates;
    for (const Node* node : built_->graph().nodes()) {
      if (node->type() != "Const" ||
          !absl::EndsWith(node->name(), "/learning_rate")) {
        continue;
      }
      rates.push_back(node->attr<Tensor>("value")->scalar<float>());
    }
    return rates;
  }
  bool HasOp(const std::string& type) {
    for (const Node* node : built_->graph().nodes()) {
      if (node->type() == type) return true;
    }
    return false;
  }
  DnnOptions Dnn() {
    DnnOptions options;
    options.hidden_units = {4, 3};
    options.feature_columns = {NumericColumn("age"), EmbeddingColumn(item_, 2)};
    options.estimator = Options();
    return options;
  }
  LinearOptions Linear() {
    LinearOptions options;
    options.feature_columns = {NumericColumn("age"), item_};
    options.estimator = Options();
    return options;
  }
  DnnLinearCombinedOptions Combined() {
    DnnLinearCombinedOptions options;
    options.linear_feature_columns = {item_};
    options.dnn_feature_columns = {NumericColumn("age")};
    options.dnn_hidden_units = {4};
    options.estimator = Options();
    return options;
  }

  MemoryFileSystem files_;
  RecordingLogger logger_;
  std::optional<Scope> built_;
  const feature_column::FeatureColumn item_ =
      CategoricalColumnWithIdentity("item", 9);
};

TEST_F(CannedGraphTest, LinearVariablesMatchTensorFlow) {
  Train(LinearClassifier(Linear(), Config()));
  EXPECT_THAT(VariableNames(),
              ElementsAre("linear/linear_model/age/weights/part_0",
                          "linear/linear_model/item/weights/part_0",
                          "linear/linear_model/bias_weights/part_0"));
  EXPECT_EQ(ShapeOf("linear/linear_model/item/weights/part_0"),
            PartialShape({9, 1}));
  EXPECT_TRUE(HasOp("ResourceApplyFtrl"));
  EXPECT_THAT(Rates(), ElementsAre(0.2f));
}

TEST_F(CannedGraphTest, EachOfManyClassesHasALogit) {
  Train(LinearClassifier(Linear(), Config(), {.n_classes = 5}));
  EXPECT_EQ(ShapeOf("linear/linear_model/item/weights/part_0"),
            PartialShape({9, 5}));
  EXPECT_EQ(ShapeOf("linear/linear_model/bias_weights/part_0"),
            PartialShape({5}));
}

TEST_F(CannedGraphTest, LinearRateFallsWithNumberOfColumns) {
  LinearOptions options = Linear();
  options.optimizer = {};
  options.feature_columns.clear();
  for (int i = 0; i < 100; ++i) {
    options.feature_columns.push_back(NumericColumn(absl::StrCat("x", i)));
  }
  Train(LinearClassifier(options, Config()), [](const Scope& scope) {
    auto input = ClassInput(scope);
    for (int i = 0; i < 100; ++i) {
      input->features[absl::StrCat("x", i)] = input->features["age"];
    }
    return input;
  });
  // The rate is 1 / sqrt(100 columns).
  EXPECT_THAT(Rates(), ElementsAre(0.1f));
}

TEST_F(CannedGraphTest, DnnVariablesMatchTensorFlow) {
  Train(DnnClassifier(Dnn(), Config()));
  EXPECT_THAT(
      VariableNames(),
      ElementsAre(
          "dnn/input_from_feature_columns/input_layer/item_embedding/"
          "embedding_weights/part_0",
          "dnn/hiddenlayer_0/kernel/part_0", "dnn/hiddenlayer_0/bias/part_0",
          "dnn/hiddenlayer_1/kernel/part_0", "dnn/hiddenlayer_1/bias/part_0",
          "dnn/logits/kernel/part_0", "dnn/logits/bias/part_0"));
  EXPECT_EQ(ShapeOf("dnn/hiddenlayer_0/kernel/part_0"), PartialShape({3, 4}));
  EXPECT_EQ(ShapeOf("dnn/logits/kernel/part_0"), PartialShape({3, 1}));
  EXPECT_THAT(Rates(), ElementsAre(0.05f));
}

TEST_F(CannedGraphTest, OptimizerMayBeChosen) {
  DnnOptions options = Dnn();
  options.optimizer = [](const Scope&) {
    return std::make_unique<train::Adam>(0.25f);
  };
  Train(DnnClassifier(options, Config()));
  EXPECT_TRUE(HasOp("ResourceApplyAdam"));
  EXPECT_FALSE(HasOp("ResourceApplyAdagrad"));
  EXPECT_THAT(Rates(), ElementsAre(0.25f));
}

TEST_F(CannedGraphTest, BatchNormKeepsMovingMeans) {
  DnnOptions options = Dnn();
  options.hidden_units = {4};
  options.batch_norm = true;
  Train(DnnRegressor(options, Config()));
  const std::string scope = "dnn/hiddenlayer_0/batchnorm_0/";
  for (const char* name : {"gamma", "beta"}) {
    EXPECT_THAT(VariableNames(), Contains(scope + name + "/part_0"));
  }
  for (const char* name : {"moving_mean", "moving_variance"}) {
    EXPECT_EQ(ShapeOf(scope + name), PartialShape({4}));
    EXPECT_THAT(VariableNames(), Not(Contains(scope + name)));
  }
}

TEST_F(CannedGraphTest, DropoutIsOptional) {
  const auto draws = [&](const DnnOptions& options) {
    Train(DnnRegressor(options, Config()));
    int count = 0;
    for (const Node* node : built_->graph().nodes()) {
      count += node->type() == "RandomUniform" &&
               !absl::StrContains(node->name(), "/Initializer/");
    }
    return count;
  };
  EXPECT_EQ(draws(Dnn()), 0);
  DnnOptions options = Dnn();
  options.dropout = 0.5f;
  EXPECT_EQ(draws(options), 2) << "one for each hidden layer";
}

TEST_F(CannedGraphTest, CombinedModelTrainsBothParts) {
  Train(DnnLinearCombinedClassifier(Combined(), Config()));
  EXPECT_THAT(VariableNames(),
              ElementsAre("dnn/hiddenlayer_0/kernel/part_0",
                          "dnn/hiddenlayer_0/bias/part_0",
                          "dnn/logits/kernel/part_0", "dnn/logits/bias/part_0",
                          "linear/linear_model/item/weights/part_0",
                          "linear/linear_model/bias_weights/part_0"));
  EXPECT_TRUE(HasOp("ResourceApplyAdagrad"));
  EXPECT_TRUE(HasOp("ResourceApplyFtrl") || HasOp("ResourceSparseApplyFtrl"));
  EXPECT_THAT(Rates(), ElementsAre(0.001f, 0.005f));
}

TEST_F(CannedGraphTest, CombinedModelMayHaveOnePart) {
  DnnLinearCombinedOptions options = Combined();
  options.dnn_feature_columns.clear();
  Train(DnnLinearCombinedRegressor(options, Config()));
  EXPECT_THAT(VariableNames(),
              ElementsAre("linear/linear_model/item/weights/part_0",
                          "linear/linear_model/bias_weights/part_0"));
}

TEST_F(CannedGraphTest, BaselineHasOnlyABias) {
  BaselineOptions options;
  options.estimator = Options();
  Train(BaselineClassifier(options, Config(), {.n_classes = 3}));
  EXPECT_THAT(VariableNames(), ElementsAre("baseline/bias"));
  EXPECT_EQ(ShapeOf("baseline/bias"), PartialShape({3}));
  EXPECT_THAT(Rates(), ElementsAre(0.3f));
}

TEST_F(CannedGraphTest, TrainingStartsAtTheGlobalStep) {
  Train(DnnLinearCombinedClassifier(Combined(), Config()));
  EXPECT_EQ(ops::GlobalVariables(*built_)[0].name(), "global_step");
}

// ---- errors ----

TEST_F(CannedGraphTest, DnnOptionsAreChecked) {
  DnnOptions narrow = Dnn();
  narrow.hidden_units = {4, 0};
  EXPECT_THAT(ErrorOf(DnnClassifier(narrow, Config())),
              StatusIs(kInvalid,
                       "hidden_units must be at least 1 each, but "
                       "one is 0"));
  DnnOptions dropped = Dnn();
  dropped.dropout = 1.0f;
  EXPECT_THAT(ErrorOf(DnnClassifier(dropped, Config())),
              StatusIs(kInvalid, "dropout must be in [0, 1), but is 1"));
}

TEST_F(CannedGraphTest, CombinedOptionsAreChecked) {
  DnnLinearCombinedOptions empty;
  empty.estimator = Options();
  EXPECT_THAT(ErrorOf(DnnLinearCombinedClassifier(empty, Config())),
              StatusIs(kInvalid,
                       "Either linear_feature_columns or "
                       "dnn_feature_columns must be defined"));
  DnnLinearCombinedOptions flat = Combined();
  flat.dnn_hidden_units.clear();
  EXPECT_THAT(ErrorOf(DnnLinearCombinedClassifier(flat, Config())),
              StatusIs(kInvalid, "dnn_hidden_units must be defined"));
}

TEST_F(CannedGraphTest, ColumnsMustBeGiven) {
  LinearOptions options;
  options.estimator = Options();
  EXPECT_THAT(ErrorOf(LinearClassifier(options, Config())),
              StatusIs(kInvalid, "feature_columns must not be empty"));
}

TEST_F(CannedGraphTest, HeadErrorsAreReturnedByEachCall) {
  EXPECT_THAT(ErrorOf(LinearClassifier(Linear(), Config(), {.n_classes = 1})),
              StatusIs(kInvalid, "n_classes must be at least 3, but is 1"));
  EXPECT_THAT(ErrorOf(LinearEstimator(nullptr, Linear(), Config())),
              StatusIs(kInvalid, "head must be given"));
  EXPECT_THAT(
      ErrorOf(LinearRegressor(Linear(), Config(), {.label_dimension = 0})),
      StatusIs(kInvalid, "Invalid label_dimension 0"));
}

TEST_F(CannedGraphTest, UnknownOptimizerIsRejected) {
  LinearOptions options = Linear();
  options.optimizer = "Momentum";
  EXPECT_THAT(ErrorOf(LinearClassifier(options, Config())),
              StatusIs(kInvalid, "Unsupported optimizer name: 'Momentum'"));
}

// ---- parts of the models ----

TEST_F(CannedGraphTest, LogitsMayBePartOfACustomModel) {
  const Scope root = Scope::Root();
  ASSERT_OK_AND_ASSIGN(const InputTensors input, ClassInput(root));
  const Output deep = DnnLogits(ops::VariableScope(root, "own"), input.features,
                                /*is_training=*/false, Dnn(), 2, nullptr);
  const Output wide =
      LinearLogits(root, input.features, /*is_training=*/false, Linear(), 2);
  ASSERT_OK(root.status());
  EXPECT_EQ(deep.shape().dim(1), 2);
  EXPECT_EQ(wide.shape().dim(1), 2);
  EXPECT_NE(root.graph().FindNode("own/logits/kernel"), nullptr);
  EXPECT_THAT(root.GetCollection(collection::kSummaries), IsEmpty());
}

}  // namespace
}  // namespace weft::estimator
