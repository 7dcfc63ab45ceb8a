// Tests of heads: predictions, signatures, metrics and errors of their graphs.
// integration_tests and tools/conformance test the values.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/estimator/canned/head.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/group.h"
#include "libs/ops/math/math_ops.h"

namespace weft::estimator {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Key;
using testing::Not;
using testing::SizeIs;

using HeadPtr = std::shared_ptr<const Head>;

class HeadGraphTest : public testing::Test {
 protected:
  Output Given(DataType dtype, const PartialShape& shape) {
    return ops::Placeholder(root_, dtype, {.shape = shape});
  }
  absl::StatusOr<EstimatorSpec> Build(const HeadPtr& head, Mode mode,
                                      const Output& logits,
                                      const Output& labels = Output()) {
    const ModelInput input{features_, labels, mode, config_};
    return head->CreateEstimatorSpec(
        root_, input, logits,
        [](const Scope& scope, const Output&) -> absl::StatusOr<Operation> {
          return ops::NoOp(scope.WithName("train"));
        });
  }
  // Returns the error of a head for these labels and [batch, classes] logits.
  std::string LabelError(const HeadPtr& head, const Output& labels,
                         int64_t classes = 1) {
    const auto spec =
        Build(head, Mode::kTrain, Given(DT_FLOAT, {-1, classes}), labels);
    return std::string(spec.status().message());
  }
  std::vector<std::string> MetricsOf(const EstimatorSpec& spec) {
    std::vector<std::string> names;
    for (const auto& [name, metric] : spec.eval_metric_ops) {
      names.push_back(name);
    }
    return names;
  }
  bool HasNode(const std::string& name) {
    return root_.graph().FindNode(name) != nullptr;
  }
  static HeadPtr MultiClass(int64_t n, HeadOptions options = {}) {
    return ValueOf(MultiClassHead(n, std::move(options)));
  }
  static HeadPtr Regression(int64_t n = 1, HeadOptions options = {}) {
    return ValueOf(RegressionHead(n, std::move(options)));
  }

  const Scope root_ = Scope::Root();
  Features features_;
  const RunConfig config_{};
};

// ---- predictions ----

TEST_F(HeadGraphTest, BinaryPredictionsMatchTensorFlow) {
  ASSERT_OK_AND_ASSIGN(
      const EstimatorSpec spec,
      Build(BinaryClassHead(), Mode::kPredict, Given(DT_FLOAT, {-1, 1})));
  EXPECT_THAT(spec.predictions,
              ElementsAre(Key("all_class_ids"), Key("all_classes"),
                          Key("class_ids"), Key("classes"), Key("logistic"),
                          Key("logits"), Key("probabilities")));
  EXPECT_EQ(spec.predictions.at("probabilities").shape(),
            PartialShape({-1, 2}));
  EXPECT_EQ(spec.predictions.at("class_ids").dtype(), DT_INT64);
  EXPECT_EQ(spec.predictions.at("classes").dtype(), DT_STRING);
  EXPECT_FALSE(spec.loss);
  EXPECT_THAT(spec.eval_metric_ops, IsEmpty());
}

TEST_F(HeadGraphTest, BinaryHeadServesThreeSignatures) {
  ASSERT_OK_AND_ASSIGN(
      const EstimatorSpec spec,
      Build(BinaryClassHead(), Mode::kPredict, Given(DT_FLOAT, {-1, 1})));
  EXPECT_THAT(spec.export_outputs,
              ElementsAre(Key("classification"), Key("predict"),
                          Key("regression"), Key("serving_default")));
  const auto* const classes = std::get_if<ClassificationOutput>(
      &spec.export_outputs.at("serving_default"));
  ASSERT_NE(classes, nullptr);
  EXPECT_EQ(classes->scores, spec.predictions.at("probabilities"));
  EXPECT_EQ(classes->classes, spec.predictions.at("all_classes"));
  const auto* const regression =
      std::get_if<RegressionOutput>(&spec.export_outputs.at("regression"));
  ASSERT_NE(regression, nullptr);
  EXPECT_EQ(regression->value, spec.predictions.at("logistic"));
}

TEST_F(HeadGraphTest, MultiClassPredictsOneClass) {
  const HeadPtr head = MultiClass(4);
  EXPECT_EQ(head->logits_dimension(), 4);
  ASSERT_OK_AND_ASSIGN(const EstimatorSpec spec,
                       Build(head, Mode::kPredict, Given(DT_FLOAT, {-1, 4})));
  EXPECT_EQ(spec.predictions.at("probabilities").shape(),
            PartialShape({-1, 4}));
  EXPECT_EQ(spec.predictions.at("class_ids").shape(), PartialShape({-1, 1}));
  EXPECT_THAT(spec.predictions, Not(Contains(Key("logistic"))));
  EXPECT_THAT(spec.export_outputs,
              ElementsAre(Key("classification"), Key("predict"),
                          Key("serving_default")));
}

TEST_F(HeadGraphTest, RegressionPredictsTheLogits) {
  const Output logits = Given(DT_FLOAT, {-1, 2});
  ASSERT_OK_AND_ASSIGN(const EstimatorSpec spec,
                       Build(Regression(2), Mode::kPredict, logits));
  ASSERT_THAT(spec.predictions, ElementsAre(Key("predictions")));
  EXPECT_EQ(spec.predictions.at("predictions"), logits);
  EXPECT_TRUE(std::holds_alternative<RegressionOutput>(
      spec.export_outputs.at("serving_default")));
}

TEST_F(HeadGraphTest, InverseLinkMapsLogits) {
  HeadOptions options;
  options.inverse_link_fn = [](const Scope& scope, const Output& logits) {
    return ops::Exp(scope, logits);
  };
  ASSERT_OK_AND_ASSIGN(
      const EstimatorSpec spec,
      Build(Regression(1, options), Mode::kPredict, Given(DT_FLOAT, {-1, 1})));
  EXPECT_THAT(spec.predictions, ElementsAre(Key("logits"), Key("predictions")));
  EXPECT_EQ(spec.predictions.at("predictions").node()->type(), "Exp");
}

TEST_F(HeadGraphTest, InverseLinkMustKeepTheShape) {
  HeadOptions options;
  options.inverse_link_fn = [](const Scope& scope, const Output&) {
    return ops::Const(scope, Tensor::Vector<float>({1, 2, 3}));
  };
  EXPECT_THAT(
      Build(Regression(1, options), Mode::kPredict, Given(DT_FLOAT, {-1, 1}))
          .status(),
      StatusIs(kInvalid, "inverse_link_fn must give predictions of"));
}

// ---- training ----

TEST_F(HeadGraphTest, TrainingHasLossAndTrainOp) {
  ASSERT_OK_AND_ASSIGN(const EstimatorSpec spec,
                       Build(BinaryClassHead(), Mode::kTrain,
                             Given(DT_FLOAT, {-1, 1}), Given(DT_INT64, {-1})));
  EXPECT_EQ(spec.loss.shape(), PartialShape::Scalar());
  EXPECT_EQ(spec.train_op.name(), "head/train");
  EXPECT_TRUE(HasNode("loss"));
  EXPECT_TRUE(HasNode("average_loss"));
  EXPECT_THAT(root_.GetCollection(collection::kLosses), SizeIs(1));
}

TEST_F(HeadGraphTest, MeanLossHasNoAverageSummary) {
  HeadOptions options;
  options.loss_reduction = losses::Reduction::kSumOverBatchSize;
  ASSERT_OK(Build(BinaryClassHead(options), Mode::kTrain,
                  Given(DT_FLOAT, {-1, 1}), Given(DT_INT64, {-1}))
                .status());
  EXPECT_TRUE(HasNode("loss"));
  EXPECT_FALSE(HasNode("average_loss"));
}

TEST_F(HeadGraphTest, RegularizationIsPartOfTheLoss) {
  const Output penalty = ops::Const(root_.WithName("penalty"), 0.5f);
  root_.AddToCollection(collection::kRegularizationLosses, penalty);
  ASSERT_OK_AND_ASSIGN(
      const EstimatorSpec spec,
      Build(Regression(), Mode::kEval, Given(DT_FLOAT, {-1, 1}),
            Given(DT_FLOAT, {-1, 1})));
  EXPECT_EQ(spec.loss.node()->type(), "Add");
  EXPECT_THAT(MetricsOf(spec), Contains("regularization_loss"));
}

TEST_F(HeadGraphTest, UpdateOpsRunWithTheTraining) {
  const Operation update = ops::NoOp(root_.WithName("update"));
  root_.AddToCollection(collection::kUpdateOps, update);
  ASSERT_OK_AND_ASSIGN(
      const EstimatorSpec spec,
      Build(Regression(), Mode::kTrain, Given(DT_FLOAT, {-1, 1}),
            Given(DT_FLOAT, {-1, 1})));
  const auto before = spec.train_op.node()->control_inputs();
  EXPECT_THAT(before, Contains(update.node()));
  EXPECT_THAT(before, Contains(root_.graph().FindNode("head/train")));
}

TEST_F(HeadGraphTest, NameIsASuffixOfKeys) {
  HeadOptions options;
  options.name = "income";
  ASSERT_OK_AND_ASSIGN(
      const EstimatorSpec spec,
      Build(Regression(1, options), Mode::kEval, Given(DT_FLOAT, {-1, 1}),
            Given(DT_FLOAT, {-1, 1})));
  EXPECT_THAT(MetricsOf(spec),
              ElementsAre("average_loss/income", "label/mean/income",
                          "prediction/mean/income"));
}

// ---- metrics ----

TEST_F(HeadGraphTest, BinaryMetricsMatchTensorFlow) {
  ASSERT_OK_AND_ASSIGN(
      const EstimatorSpec spec,
      Build(BinaryClassHead(), Mode::kEval, Given(DT_FLOAT, {-1, 1}),
            Given(DT_INT64, {-1, 1})));
  EXPECT_THAT(MetricsOf(spec),
              ElementsAre("accuracy", "accuracy_baseline", "auc",
                          "auc_precision_recall", "average_loss", "label/mean",
                          "precision", "prediction/mean", "recall"));
}

TEST_F(HeadGraphTest, ThresholdsAddMetrics) {
  HeadOptions options;
  options.thresholds = {0.25f};
  ASSERT_OK_AND_ASSIGN(
      const EstimatorSpec spec,
      Build(BinaryClassHead(options), Mode::kEval, Given(DT_FLOAT, {-1, 1}),
            Given(DT_INT64, {-1, 1})));
  for (const char* name :
       {"accuracy/positive_threshold_0.25", "precision/positive_threshold_0.25",
        "recall/positive_threshold_0.25"}) {
    EXPECT_THAT(MetricsOf(spec), Contains(name));
  }
}

TEST_F(HeadGraphTest, MultiClassAndRegressionHaveFewMetrics) {
  ASSERT_OK_AND_ASSIGN(const EstimatorSpec classes,
                       Build(MultiClass(3), Mode::kEval,
                             Given(DT_FLOAT, {-1, 3}), Given(DT_INT64, {-1})));
  EXPECT_THAT(MetricsOf(classes), ElementsAre("accuracy", "average_loss"));
  ASSERT_OK_AND_ASSIGN(const EstimatorSpec numbers,
                       Build(Regression(), Mode::kEval,
                             Given(DT_FLOAT, {-1, 1}), Given(DT_INT32, {-1})));
  EXPECT_THAT(MetricsOf(numbers),
              ElementsAre("average_loss", "label/mean", "prediction/mean"));
}

// ---- labels, weights, logits ----

TEST_F(HeadGraphTest, VocabularyLooksUpLabels) {
  HeadOptions options;
  options.label_vocabulary = {"no", "yes"};
  ASSERT_OK(Build(BinaryClassHead(options), Mode::kTrain,
                  Given(DT_FLOAT, {-1, 1}), Given(DT_STRING, {-1}))
                .status());
  EXPECT_THAT(root_.GetOperations(collection::kTableInitializers), SizeIs(1));
}

TEST_F(HeadGraphTest, LabelTypesAreChecked) {
  EXPECT_THAT(LabelError(BinaryClassHead(), Given(DT_STRING, {-1})),
              testing::HasSubstr("the model needs a label_vocabulary"));
}

TEST_F(HeadGraphTest, VocabularyNeedsStrings) {
  HeadOptions named;
  named.label_vocabulary = {"no", "yes"};
  EXPECT_THAT(LabelError(BinaryClassHead(named), Given(DT_INT64, {-1})),
              testing::HasSubstr("Instead got int64"));
}

TEST_F(HeadGraphTest, MultiClassLabelsAreIntegers) {
  EXPECT_THAT(
      LabelError(MultiClass(3), Given(DT_FLOAT, {-1}), 3),
      testing::HasSubstr("should be int32 or int64. Instead got float"));
}

TEST_F(HeadGraphTest, RegressionLabelsAreNumbers) {
  EXPECT_THAT(LabelError(Regression(), Given(DT_STRING, {-1})),
              testing::HasSubstr("but these are strings"));
}

TEST_F(HeadGraphTest, LabelsAreRequired) {
  EXPECT_THAT(LabelError(Regression(), Output()),
              testing::HasSubstr("You must provide a labels Tensor"));
}

TEST_F(HeadGraphTest, LabelShapeIsChecked) {
  EXPECT_THAT(LabelError(Regression(), Given(DT_FLOAT, {-1, 2})),
              testing::HasSubstr("Mismatched label shape"));
}

TEST_F(HeadGraphTest, LogitsMustHaveTheHeadsDimension) {
  EXPECT_THAT(
      Build(MultiClass(3), Mode::kPredict, Given(DT_FLOAT, {-1, 2})).status(),
      StatusIs(kInvalid, "logits shape must be [batch, 3]"));
  EXPECT_THAT(Build(MultiClass(3), Mode::kPredict, Output()).status(),
              StatusIs(kInvalid, "logits must be given"));
}

TEST_F(HeadGraphTest, WeightFeatureMustExist) {
  HeadOptions options;
  options.weight_column = "w";
  EXPECT_THAT(LabelError(Regression(1, options), Given(DT_FLOAT, {-1})),
              testing::HasSubstr("Feature w is not in features dictionary"));
}

TEST_F(HeadGraphTest, WeightsMayBePerLoss) {
  HeadOptions options;
  options.weight_column = "w";
  features_["w"] = Given(DT_FLOAT, {-1, 2});
  EXPECT_OK(Build(Regression(2, options), Mode::kTrain,
                  Given(DT_FLOAT, {-1, 2}), Given(DT_FLOAT, {-1, 2}))
                .status());
}

TEST_F(HeadGraphTest, LossMustBeReduced) {
  HeadOptions options;
  options.loss_reduction = losses::Reduction::kNone;
  EXPECT_THAT(LabelError(BinaryClassHead(options), Given(DT_INT64, {-1})),
              testing::HasSubstr("kNone makes no single loss"));
}

// ---- options ----

TEST_F(HeadGraphTest, InvalidOptionsFailTheHead) {
  EXPECT_THAT(MultiClassHead(2).status(),
              StatusIs(kInvalid, "n_classes must be at least 3, but is 2"));
  EXPECT_THAT(MultiClassHead(3, {.label_vocabulary = {"a", "b"}}).status(),
              StatusIs(kInvalid, "must be n_classes, 3, but is 2"));
  EXPECT_THAT(MultiClassHead(3, {.label_vocabulary = {"a", "b", "a"}}).status(),
              StatusIs(kInvalid, "a string twice"));
  EXPECT_THAT(MultiClassHead(3, {.thresholds = {0.5f}}).status(),
              StatusIs(kInvalid,
                       "multi-class head does not support "
                       "thresholds"));
  EXPECT_THAT(RegressionHead(0).status(),
              StatusIs(kInvalid, "Invalid label_dimension 0"));
  EXPECT_THAT(RegressionHead(1, {.label_vocabulary = {"a"}}).status(),
              StatusIs(kInvalid,
                       "regression head does not support "
                       "label_vocabulary"));
}

TEST_F(HeadGraphTest, InvalidBinaryOptionsFailEachUse) {
  const std::pair<HeadOptions, const char*> wrong[] = {
      {{.label_vocabulary = {"a"}}, "must be n_classes, 2, but is 1"},
      {{.thresholds = {0.5f, 1.0f}}, "must be in (0, 1), but one is 1"},
      {{.classes_for_class_based_metrics = {int64_t{0}}},
       "binary head does not support classes_for_class_based_metrics"}};
  for (const auto& [options, text] : wrong) {
    EXPECT_THAT(Build(BinaryClassHead(options), Mode::kPredict,
                      Given(DT_FLOAT, {-1, 1}))
                    .status(),
                StatusIs(kInvalid, text));
  }
}

}  // namespace
}  // namespace weft::estimator
