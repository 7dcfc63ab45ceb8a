// Tests the heads of Estimators. Losses, metrics and predictions match those of
// TensorFlow. Also tests all forms of labels, and errors.
#include <cmath>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "integration_tests/testing/fresh_folder.h"
#include "libs/api/weft.h"
#include "libs/base/logging.h"
#include "libs/base/test_matchers.h"
#include "libs/estimator/canned/canned.h"
#include "libs/estimator/canned/head.h"
#include "libs/estimator/inputs.h"
#include "libs/fs/local_file_system.h"
#include "libs/runtime/process/process.h"
#include "libs/tensor/buffer.h"

namespace weft::estimator {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

using HeadOrError = absl::StatusOr<std::shared_ptr<const Head>>;

// Returns a model whose logits are the feature "x" plus a variable "b", so that
// the results depend only on the head.
ModelFn ModelOf(const std::shared_ptr<const Head>& head) {
  return [head](const Scope& scope,
                const ModelInput& input) -> absl::StatusOr<EstimatorSpec> {
    const Tensor all = Tensor::Vector<float>({0.125f, -0.25f, 0.5f});
    ASSIGN_OR_RETURN(
        const Tensor first,
        all.SliceRows(0, head->logits_dimension(), HeapAllocator()));
    const ops::Variable b(scope.WithName("b"), first);
    const Output logits = ops::Add(scope, input.features.at("x").dense(), b);
    return head->CreateEstimatorSpec(
        scope, input, logits,
        [](const Scope& inner, Output loss) -> absl::StatusOr<Operation> {
          const Operation minimize = train::GradientDescent(0.1f).Minimize(
              inner, loss, {.global_step = train::GetGlobalStep(inner)});
          RETURN_IF_ERROR(inner.status());
          return minimize;
        });
  };
}

// Returns the logits of four examples in three columns. OneColumn returns
// logits in one column.
Tensor ThreeColumns() {
  return Tensor::FromValues<float>(
      TensorShape({4, 3}),
      {2, -1, 0.5f, -3, 0.25f, 1, 0, 4, -2, 1.5f, -0.5f, -0.75f});
}
Tensor OneColumn() {
  return Tensor::FromValues<float>(TensorShape({4, 1}), {2, -3, 0, 1.5f});
}

class HeadTest : public ::testing::Test {
 protected:
  RunConfig Config() {
    RunConfig config;
    config.model_dir = model_dir_;
    config.save_checkpoints_steps = 100;
    config.session_config.process = &process_;
    return config;
  }
  Estimator Model(const HeadOrError& head) {
    EXPECT_OK(head.status());
    EstimatorOptions estimator;
    estimator.logger = &logger_;
    return Estimator(ModelOf(*head), estimator, Config());
  }
  static InputFn Examples(const Tensor& x, const Tensor& labels,
                          int64_t epochs) {
    TensorInputOptions options;
    options.batch_size = 4;
    options.num_epochs = epochs;
    return TensorInputFn({{"x", x},
                          {"w", Tensor::Vector<float>({1, 2, 0.5f, 3})},
                          {"ww", Tensor::FromValues<float>(
                                     TensorShape({4, 3}),
                                     {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})}},
                         labels, options);
  }
  EvalMetrics Evaluate(Estimator& model, const InputFn& input) {
    auto metrics = model.Evaluate(input);
    EXPECT_OK(metrics.status());
    return metrics.ok() ? *metrics : EvalMetrics();
  }
  // Trains for three steps and evaluates the model.
  EvalMetrics Train(Estimator& model, const Tensor& x, const Tensor& labels) {
    EXPECT_OK(model.Train(Examples(x, labels, 3)));
    return Evaluate(model, Examples(x, labels, 1));
  }
  static Prediction First(Estimator& model, const InputFn& input) {
    auto stream = model.Predict(input);
    EXPECT_OK(stream.status());
    if (!stream.ok()) return {};
    auto first = (*stream)->Next();
    EXPECT_OK(first.status());
    return first.ok() && *first ? **first : Prediction();
  }
  static void Expect(const EvalMetrics& metrics, const std::string& key,
                     float value) {
    ASSERT_TRUE(metrics.contains(key)) << key;
    EXPECT_NEAR(metrics.at(key).scalar<float>(), value, 1e-5) << key;
  }
  std::vector<float> Learned(const Estimator& model) {
    const Tensor b = model.GetVariableValue("b").value();
    return {b.flat<float>().begin(), b.flat<float>().end()};
  }

  Process process_;
  LocalFileSystem files_;
  RecordingLogger logger_;
  const std::string model_dir_ = FreshFolder(files_);
};

Tensor Zeros(TensorShape shape) {
  Tensor zeros(DT_FLOAT, shape);
  for (float& value : zeros.mutable_flat<float>()) value = 0;
  return zeros;
}

// ---- two classes ----
// The expected numbers are those of TensorFlow 2.15's heads for the same model
// and examples.

Tensor Yes() { return Tensor::Vector<int64_t>({1, 0, 1, 1}); }

TEST_F(HeadTest, BinaryThresholdMetricsMatchTensorFlow) {
  Estimator model = Model(BinaryClassHead(
      {.weight_column = "w", .thresholds = {0.25f, 0.5f, 0.9f}}));
  const EvalMetrics metrics = Train(model, OneColumn(), Yes());
  EXPECT_EQ(metrics.size(), 11u + 9);
  Expect(metrics, "average_loss", 0.14539734f);
  Expect(metrics, "auc", 1);
  Expect(metrics, "accuracy/positive_threshold_0.25", 1);
  Expect(metrics, "accuracy/positive_threshold_0.5", 1);
  Expect(metrics, "accuracy/positive_threshold_0.9", 0.46153846f);
  Expect(metrics, "precision/positive_threshold_0.25", 1);
  Expect(metrics, "precision/positive_threshold_0.9", 1);
  Expect(metrics, "recall/positive_threshold_0.5", 1);
  Expect(metrics, "recall/positive_threshold_0.9", 0.22222222f);
  EXPECT_THAT(Learned(model), Pointwise(FloatNear(1e-5f), {0.32805312f}));
}

TEST_F(HeadTest, ThresholdAppliesOnlyToAccuracy) {
  Estimator model =
      Model(BinaryClassHead({.thresholds = {0.5f}, .name = "two"}));
  // With the initial value of "b", the logits are 2, -3, 0 and 1.5.
  const Tensor x = Tensor::FromValues<float>(
      TensorShape({4, 1}), {1.875f, -3.125f, -0.125f, 1.375f});
  const EvalMetrics metrics = Evaluate(model, Examples(x, Yes(), 1));
  Expect(metrics, "accuracy/two", 0.75f);
  Expect(metrics, "accuracy/positive_threshold_0.5/two", 1);
  Expect(metrics, "precision/positive_threshold_0.5/two", 1);
  Expect(metrics, "recall/positive_threshold_0.5/two", 0.6666667f);
}

// TensorFlow adds a small epsilon to divisors, which matters if weights are
// close to zero.
TEST_F(HeadTest, ThresholdMetricsAddEpsilonToDivisor) {
  const auto input = [](const Scope& scope) -> absl::StatusOr<InputTensors> {
    InputTensors tensors;
    tensors.features["x"] = Output(ops::Const(
        scope, Tensor::FromValues<float>(TensorShape({3, 1}), {1, 2, 3})));
    tensors.features["w"] =
        Output(ops::Const(scope, Tensor::Vector<float>({1e-7f, 1e-7f, 1e-7f})));
    tensors.labels = ops::Const(scope, Tensor::Vector<int64_t>({1, 1, 1}));
    RETURN_IF_ERROR(scope.status());
    return tensors;
  };
  Estimator model =
      Model(BinaryClassHead({.weight_column = "w", .thresholds = {0.25f}}));
  ASSERT_OK_AND_ASSIGN(const EvalMetrics metrics,
                       model.Evaluate(input, {.steps = 1}));
  Expect(metrics, "precision", 1);
  Expect(metrics, "precision/positive_threshold_0.25", 0.75f);
  Expect(metrics, "recall/positive_threshold_0.25", 0.75f);
}

// ---- regression ----

Tensor Counts() {
  Tensor counts(DT_FLOAT, TensorShape({4, 3}));
  const Tensor x = ThreeColumns();
  for (int i = 0; i < 12; ++i) {
    counts.mutable_flat<float>()[i] = std::abs(x.flat<float>()[i]) + 0.5f;
  }
  return counts;
}

TEST_F(HeadTest, PoissonRegressionMatchesTensorFlow) {
  HeadOptions options;
  options.loss_fn = [](const Scope& scope, const Output& labels,
                       const Output& logits) {
    return ops::Sub(scope, ops::Exp(scope, logits),
                    ops::Mul(scope, logits, labels));
  };
  options.inverse_link_fn = [](const Scope& scope, const Output& logits) {
    return ops::Exp(scope, logits);
  };
  Estimator model = Model(RegressionHead(3, options));
  const EvalMetrics metrics = Train(model, ThreeColumns(), Counts());
  Expect(metrics, "average_loss", 2.6532977f);
  Expect(metrics, "label/mean", 1.875f);
  Expect(metrics, "prediction/mean", 1.5546173f);
  EXPECT_THAT(
      Learned(model),
      Pointwise(FloatNear(1e-5f), {-0.42070943f, -2.6898031f, 0.23805392f}));
  const Prediction first = First(model, Examples(ThreeColumns(), Counts(), 1));
  EXPECT_THAT(
      first.at("logits").flat<float>(),
      Pointwise(FloatNear(1e-5f), {1.5792906f, -3.6898031f, 0.7380539f}));
  EXPECT_THAT(
      first.at("predictions").flat<float>(),
      Pointwise(FloatNear(1e-5f), {4.8515129f, 0.0249769f, 2.0918605f}));
}

TEST_F(HeadTest, RegressionWeightsEachValue) {
  Estimator model = Model(RegressionHead(
      3,
      {.weight_column = feature_column::NumericColumn("ww", {.shape = {3}})}));
  const EvalMetrics metrics = Train(model, ThreeColumns(), Counts());
  EXPECT_NEAR(metrics.at("average_loss").scalar<float>(), 8550.1006f, 0.01f);
  Expect(metrics, "label/mean", 1.8295455f);
  EXPECT_THAT(Learned(model), Pointwise(FloatNear(1e-3f),
                                        {25.667004f, 51.962013f, 140.56802f}));
}

TEST_F(HeadTest, MultiClassLabelTypesAreChecked) {
  EXPECT_THAT(
      Model(MultiClassHead(3))
          .Train(Examples(ThreeColumns(), Tensor::Vector<uint8_t>({0, 1, 2, 1}),
                          1)),
      StatusIs(kInvalid, "should be int32 or int64. Instead got uint8"));
}

// The expected numbers are those of TensorFlow after one step from zeros.
TEST_F(HeadTest, RegressionWeightsValuesByFeatureKey) {
  LinearOptions options;
  options.feature_columns = {feature_column::NumericColumn("x")};
  options.estimator.logger = &logger_;
  Estimator model = LinearRegressor(
      options, Config(), {.label_dimension = 2, .weight_column = "w"});
  const auto input = [](const Scope& scope) -> absl::StatusOr<InputTensors> {
    InputTensors tensors;
    tensors.features["x"] =
        Output(ops::Const(scope, Tensor::Vector<float>({1, 2, 3})));
    tensors.features["w"] =
        Output(ops::Const(scope, Tensor::FromValues<float>(
                                     TensorShape({3, 2}), {1, 2, 3, 4, 5, 6})));
    tensors.labels = ops::Const(
        scope,
        Tensor::FromValues<float>(TensorShape({3, 2}), {1, 1, 1, 1, 1, 1}));
    RETURN_IF_ERROR(scope.status());
    return tensors;
  };
  ASSERT_OK(model.Train(input, {.steps = 1}));
  ASSERT_OK_AND_ASSIGN(const EvalMetrics metrics,
                       model.Evaluate(input, {.steps = 1}));
  Expect(metrics, "average_loss", 0.1257345f);
  Expect(metrics, "loss", 2.6404243f);
}

TEST_F(HeadTest, WeightsApplyPerExample) {
  const auto says = [&](const HeadOrError& head, const Tensor& x,
                        const Tensor& labels, const char* text) {
    EXPECT_THAT(Model(head).Train(Examples(x, labels, 1)),
                StatusIs(kInvalid, text));
  };
  const auto wide = feature_column::NumericColumn("ww", {.shape = {3}});
  says(BinaryClassHead({.weight_column = wide}), OneColumn(), Yes(),
       "weights shape must be [batch], [batch, 1] for this head");
  says(MultiClassHead(3, {.weight_column = wide}), ThreeColumns(), Yes(),
       "weights shape must be");
  // The weights have another batch size than the labels.
  const auto input = [](const Scope& scope) -> absl::StatusOr<InputTensors> {
    InputTensors tensors;
    tensors.features["x"] = ops::Const(scope, OneColumn());
    tensors.features["w"] = Output(ops::PlaceholderWithDefault(
        scope, Tensor::Vector<float>({1}), PartialShape({-1})));
    tensors.labels = ops::Const(scope, Yes());
    RETURN_IF_ERROR(scope.status());
    return tensors;
  };
  EXPECT_THAT(
      Model(BinaryClassHead({.weight_column = "w"})).Train(input, {.steps = 1}),
      StatusIs(kInvalid, "weights shape must be"));
}

// ---- shapes known only at run time ----

InputFn Unknown(const Tensor& x, const PartialShape& known_x,
                const Tensor& labels) {
  return [=](const Scope& scope) -> absl::StatusOr<InputTensors> {
    InputTensors tensors;
    tensors.features["x"] =
        Output(ops::PlaceholderWithDefault(scope, x, known_x));
    tensors.labels = ops::PlaceholderWithDefault(scope, labels, PartialShape());
    RETURN_IF_ERROR(scope.status());
    return tensors;
  };
}

TEST_F(HeadTest, MismatchedLogitsFailTheStep) {
  const PartialShape any({-1, -1});
  const auto train = [&](const Tensor& x) {
    return Model(BinaryClassHead()).Train(Unknown(x, any, Yes()), {.steps = 1});
  };
  EXPECT_OK(train(OneColumn()));
  EXPECT_THAT(train(ThreeColumns()),
              StatusIs(kInvalid, "logits shape must be [batch, 1]"));
}

TEST_F(HeadTest, MismatchedLabelsFailTheStep) {
  const PartialShape any({-1, -1});
  const auto train = [&](const TensorShape& labels) {
    return Model(MultiLabelHead(3))
        .Train(Unknown(ThreeColumns(), any, Zeros(labels)), {.steps = 1});
  };
  EXPECT_OK(train(TensorShape({4, 3})));
  for (const TensorShape& shape :
       {TensorShape(), TensorShape({3}), TensorShape({12}), TensorShape({1, 3}),
        TensorShape({4, 1}), TensorShape({2, 6}), TensorShape({4, 3, 1})}) {
    EXPECT_THAT(train(shape), StatusIs(kInvalid, "labels of [batch, 3]"))
        << shape.ToString();
  }
  const auto train_one = [&](const TensorShape& labels) {
    files_.DeleteRecursively(model_dir_).IgnoreError();
    return Model(RegressionHead())
        .Train(Unknown(OneColumn(), any, Zeros(labels)), {.steps = 1});
  };
  EXPECT_OK(train_one(TensorShape({4})));
  EXPECT_OK(train_one(TensorShape({4, 1})));
  EXPECT_THAT(train_one(TensorShape({1, 4})), StatusIs(kInvalid, "[batch, 1]"));
}

TEST_F(HeadTest, LossOfWrongShapeIsRejected) {
  const auto train = [&](const LossFn& loss_fn) {
    HeadOptions options;
    options.loss_fn = loss_fn;
    return Model(RegressionHead(3, options))
        .Train(Examples(ThreeColumns(), Counts(), 1));
  };
  EXPECT_THAT(train([](const Scope& scope, const Output& labels,
                       const Output&) { return ops::Sum(scope, labels, {0}); }),
              StatusIs(kInvalid, "losses of shape [batch, 3]"));
  EXPECT_THAT(train([](const Scope&, const Output&, const Output&) {
                return Output();
              }),
              StatusIs(kInvalid, "It gave none"));
}

// ---- unusual batches ----

TEST_F(HeadTest, EmptyBatchIsTrainedWithZeroWeight) {
  const Tensor none(DT_FLOAT, TensorShape({0, 1}));
  const InputFn input = Unknown(none, PartialShape({-1, 1}), none);
  Estimator model = Model(BinaryClassHead({.thresholds = {0.5f}}));
  EXPECT_OK(model.Train(input, {.steps = 1}));
  ASSERT_OK_AND_ASSIGN(const EvalMetrics metrics,
                       model.Evaluate(input, {.steps = 1}));
  Expect(metrics, "loss", 0);
  Expect(metrics, "average_loss", 0);
  Expect(metrics, "accuracy/positive_threshold_0.5", 0);
  Expect(metrics, "precision/positive_threshold_0.5", 0);
}

TEST_F(HeadTest, NanLabelsAreOutOfRange) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  for (const float odd : {nan, inf, -inf}) {
    EXPECT_THAT(Model(BinaryClassHead())
                    .Train(Examples(OneColumn(),
                                    Tensor::Vector<float>({0, 1, odd, 1}), 1)),
                StatusIs(kInvalid, "Labels must"));
  }
  EXPECT_OK(
      Model(BinaryClassHead())
          .Train(Examples(OneColumn(),
                          Tensor::Vector<float>({0, -0.0f, 1, 0.5f}), 1)));
}

// ---- several labels ----

class MultiLabelTest : public HeadTest {
 protected:
  static InputFn Examples(const Tensor& labels, int64_t epochs) {
    return HeadTest::Examples(ThreeColumns(), labels, epochs);
  }
  static Tensor Labels(std::initializer_list<int64_t> values) {
    return Tensor::FromValues<int64_t>(TensorShape({4, 3}), values);
  }
  Estimator Model(HeadOptions options) {
    return HeadTest::Model(MultiLabelHead(3, std::move(options)));
  }
  EvalMetrics Train(Estimator& model) {
    return HeadTest::Train(model, ThreeColumns(), labels_);
  }
  // Returns an input whose labels are sparse sets, all in one batch.
  template <typename T>
  static InputFn Sets(std::initializer_list<T> values, int64_t rows = 4) {
    const Tensor sets = Tensor::Vector<T>(values);
    return [=](const Scope& scope) -> absl::StatusOr<InputTensors> {
      InputTensors tensors;
      tensors.features["x"] = Output(ops::Const(scope, ThreeColumns()));
      tensors.features["w"] =
          Output(ops::Const(scope, Tensor::Vector<float>({1, 2, 0.5f, 3})));
      tensors.sparse_labels = {
          ops::Const(scope, Tensor::FromValues<int64_t>(
                                TensorShape({6, 2}),
                                {0, 0, 0, 1, 1, 0, 2, 0, 3, 0, 3, 1})),
          ops::Const(scope, sets),
          ops::Const(scope, Tensor::Vector<int64_t>({rows, 2}))};
      RETURN_IF_ERROR(scope.status());
      return tensors;
    };
  }
  const Tensor labels_ = Labels({1, 0, 1, 0, 0, 1, 0, 1, 0, 1, 1, 0});
};

TEST_F(MultiLabelTest, ThresholdsAndClassesMatchTensorFlow) {
  Estimator model = Model({.weight_column = "w",
                           .thresholds = {0.25f, 0.5f},
                           .classes_for_class_based_metrics = {0, 2}});
  const EvalMetrics metrics = Train(model);
  EXPECT_EQ(metrics.size(), 5u + 6 + 6);
  Expect(metrics, "accuracy/positive_threshold_0.25", 0.71794873f);
  Expect(metrics, "accuracy/positive_threshold_0.5", 0.71794873f);
  Expect(metrics, "precision/positive_threshold_0.25", 0.65625f);
  Expect(metrics, "precision/positive_threshold_0.5", 0.75f);
  Expect(metrics, "recall/positive_threshold_0.25", 1);
  Expect(metrics, "recall/positive_threshold_0.5", 0.71428573f);
  Expect(metrics, "probability_mean/class0", 0.58283186f);
  Expect(metrics, "probability_mean/class2", 0.56523812f);
  Expect(metrics, "auc/class0", 1);
  Expect(metrics, "auc_precision_recall/class2", 1);
}

TEST_F(MultiLabelTest, LabelsMayBeIdsOrStrings) {
  const auto expect = [&](HeadOptions options, const InputFn& input) {
    files_.DeleteRecursively(model_dir_).IgnoreError();
    options.weight_column = "w";
    Estimator model = Model(std::move(options));
    EXPECT_OK(model.Train(input, {.steps = 3}));
    const auto metrics = model.Evaluate(input, {.steps = 1});
    ASSERT_OK(metrics.status());
    Expect(*metrics, "auc_precision_recall", 0.89123654f);
    Expect(*metrics, "loss", 2.8754802f);
    EXPECT_THAT(
        Learned(model),
        Pointwise(FloatNear(1e-5f), {0.14723179f, -0.17101707f, 0.42623f}));
  };
  const InputFn ids = Sets<int64_t>({0, 2, 2, 1, 0, 1});
  expect({}, ids);
  expect({.label_vocabulary = {"a", "b", "c"}}, ids);
  expect({}, Sets<int32_t>({2, 0, 2, 1, 1, 0}));
  expect({.label_vocabulary = {"a", "b", "c"}},
         Sets<std::string>({"a", "c", "c", "b", "a", "b"}));
}

TEST_F(MultiLabelTest, ClassIsNamedByItsVocabularyEntry) {
  for (const bool by_name : {true, false}) {
    HeadOptions options;
    options.label_vocabulary = {"a", "b", "c"};
    if (by_name) {
      options.classes_for_class_based_metrics = {"c"};
    } else {
      options.classes_for_class_based_metrics = {2};
    }
    options.name = "many";
    Estimator model = Model(options);
    const EvalMetrics metrics = Evaluate(model, Examples(labels_, 1));
    EXPECT_TRUE(metrics.contains("probability_mean/c/many"));
    EXPECT_TRUE(metrics.contains("auc/c/many"));
    EXPECT_TRUE(metrics.contains("auc_precision_recall/c/many"));
  }
}

TEST_F(MultiLabelTest, InvalidLabelSetsAreRejected) {
  const auto says = [&](HeadOptions options, const InputFn& input,
                        const char* text) {
    Estimator model = Model(std::move(options));
    EXPECT_THAT(model.Train(input, {.steps = 1}), StatusIs(kInvalid, text));
  };
  says({}, Sets<int64_t>({0, 2, 3, 1, 0, 1}), "Labels must <= n_classes - 1");
  says({}, Sets<int64_t>({0, 2, -1, 1, 0, 1}), "Labels must >= 0");
  says({.label_vocabulary = {"a", "b", "c"}},
       Sets<std::string>({"a", "c", "x", "b", "a", "b"}),
       "add to label_vocabulary the strings that it has not");
  says({}, Sets<std::string>({"a", "c", "c", "b", "a", "b"}),
       "needs a label_vocabulary");
  says({}, Sets<float>({0, 2, 2, 1, 0, 1}), "Instead got float");
  says({}, Sets<int64_t>({0, 2, 2, 1, 0, 1}, 5), "must have the same shape");
  EXPECT_THAT(HeadTest::Model(MultiClassHead(3))
                  .Train(Sets<int64_t>({0, 2, 2, 1, 0, 1}), {.steps = 1}),
              StatusIs(kInvalid, "Sparse labels are not supported"));
}

TEST_F(MultiLabelTest, CannedModelTakesAnyHead) {
  LinearOptions options;
  options.feature_columns = {
      feature_column::NumericColumn("x", {.shape = {3}})};
  options.estimator.logger = &logger_;
  Estimator model = LinearEstimator(MultiLabelHead(3, {.thresholds = {0.5f}}),
                                    options, Config());
  const EvalMetrics metrics = Train(model);
  EXPECT_TRUE(metrics.contains("recall/positive_threshold_0.5"));
  EXPECT_OK(model.GetVariableValue("linear/linear_model/x/weights").status());
  const auto says = [&](HeadOrError head, const char* text) {
    EXPECT_THAT(
        DnnEstimator(std::move(head), {}, Config()).Train(Examples(labels_, 1)),
        StatusIs(kInvalid, text));
  };
  says(MultiLabelHead(1), "n_classes must be at least 2");
  says(std::shared_ptr<const Head>(), "head must be given");
}

TEST_F(MultiLabelTest, SingleLabelColumnIsNotBroadcast) {
  const int64_t any = PartialShape::kUnknown;
  const auto input = [=](const Scope& scope) -> absl::StatusOr<InputTensors> {
    InputTensors tensors;
    tensors.features["x"] = Output(ops::PlaceholderWithDefault(
        scope, Zeros(TensorShape({4, 3})), PartialShape({any, 3})));
    tensors.labels = ops::PlaceholderWithDefault(
        scope, Zeros(TensorShape({4, 1})), PartialShape({any, any}));
    RETURN_IF_ERROR(scope.status());
    return tensors;
  };
  EXPECT_THAT(Model({}).Train(input, {.steps = 1}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "the head needs labels of [batch, 3]"));
}

// The expected numbers are those of TensorFlow 2.15's
// tf.estimator.MultiLabelHead for the same model and examples.
TEST_F(MultiLabelTest, WeightedLossSumMatchesTensorFlow) {
  Estimator model = Model({.weight_column = "w"});
  const EvalMetrics metrics = Train(model);
  EXPECT_EQ(metrics.size(), 5u);
  Expect(metrics, "auc", 0.8253968f);
  Expect(metrics, "auc_precision_recall", 0.89123654f);
  Expect(metrics, "average_loss", 0.44238156f);
  Expect(metrics, "loss", 2.8754802f);
  EXPECT_THAT(Learned(model), Pointwise(FloatNear(1e-5f),
                                        {0.14723179f, -0.17101707f, 0.42623f}));
  const Prediction first = First(model, Examples(labels_, 1));
  EXPECT_THAT(
      first.at("probabilities").flat<float>(),
      Pointwise(FloatNear(1e-5f), {0.8954098f, 0.2366712f, 0.7163098f}));
  EXPECT_THAT(first.at("classes").flat<std::string>(),
              ElementsAre("0", "1", "2"));
}

TEST_F(MultiLabelTest, MeanOverBatchMatchesTensorFlow) {
  const auto mean = losses::Reduction::kSumOverBatchSize;
  Estimator named = Model({.label_vocabulary = {"a", "b", "c"},
                           .loss_reduction = mean,
                           .name = "many"});
  const EvalMetrics metrics = Train(named);
  EXPECT_EQ(metrics.size(), 5u);
  Expect(metrics, "auc/many", 0.9166667f);
  Expect(metrics, "auc_precision_recall/many", 0.9411085f);
  Expect(metrics, "average_loss/many", 0.37492728f);
  Expect(metrics, "loss", 0.37492728f);
  const Prediction first = First(named, Examples(labels_, 1));
  EXPECT_THAT(first.at("classes").flat<std::string>(),
              ElementsAre("a", "b", "c"));
  EXPECT_OK(files_.DeleteRecursively(model_dir_));
  Estimator weighted = Model({.weight_column = "w", .loss_reduction = mean});
  const EvalMetrics by_weight = Train(weighted);
  Expect(by_weight, "average_loss", 0.4468388f);
  Expect(by_weight, "loss", 0.726113f);
}

TEST_F(MultiLabelTest, InvalidOptionsAreExplained) {
  const auto says = [&](const Tensor& labels, const char* text) {
    Estimator model = Model({});
    EXPECT_THAT(model.Train(Examples(labels, 1)),
                StatusIs(absl::StatusCode::kInvalidArgument, text));
  };
  says(Labels({2, 0, 1, 0, 0, 1, 0, 1, 0, 1, 1, 0}), "n_classes - 1");
  says(Labels({-1, 0, 1, 0, 0, 1, 0, 1, 0, 1, 1, 0}), "Labels must >= 0");
  says(Tensor::Vector<int64_t>({0, 1, 2, 0}), "Mismatched label shape");
  says(Tensor::FromValues<std::string>(
           TensorShape({4, 3}),
           {"a", "b", "c", "a", "b", "c", "a", "b", "c", "a", "b", "c"}),
       "not strings");
  EXPECT_THAT(MultiLabelHead(3, {.label_vocabulary = {"a", "b"}}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "label_vocabulary must be n_classes"));
}

// ---- options ----

TEST_F(HeadTest, InvalidOptionsAreRejected) {
  const auto says = [](const absl::Status& status, const char* text) {
    EXPECT_THAT(status, StatusIs(kInvalid, text));
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float threshold : {0.0f, 1.0f, -1.0f, nan}) {
    says(MultiLabelHead(3, {.thresholds = {threshold}}).status(), "in (0, 1)");
  }
  says(MultiLabelHead(3, {.classes_for_class_based_metrics = {3}}).status(),
       "has 3, but classes are 0 to 2");
  says(MultiLabelHead(3, {.classes_for_class_based_metrics = {"a"}}).status(),
       "classes are ids");
  says(MultiLabelHead(2, {.label_vocabulary = {"a", "b"},
                          .classes_for_class_based_metrics = {"c"}})
           .status(),
       "has 'c', but classes are a, b");
  says(MultiClassHead(3, {.thresholds = {0.5f}}).status(),
       "multi-class head does not support thresholds");
  says(RegressionHead(1, {.label_vocabulary = {"a"}}).status(),
       "does not support label_vocabulary");
  // A head for two classes reports invalid options when it is used, even for
  // predictions.
  const auto binary = [&](HeadOptions options) {
    Estimator model = Model(BinaryClassHead(std::move(options)));
    return model.Predict(Examples(OneColumn(), Yes(), 1)).status();
  };
  says(binary({.label_vocabulary = {"a"}}), "must be n_classes, 2");
  says(binary({.thresholds = {2}}), "in (0, 1)");
  says(binary({.classes_for_class_based_metrics = {0}}), "does not support");
}

}  // namespace
}  // namespace weft::estimator
