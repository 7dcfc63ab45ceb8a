// Heads for mutually exclusive classes, and for regression.
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/estimator/canned/class_head.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/nn/nn_losses.h"
#include "libs/ops/nn/nn_ops.h"

namespace weft::estimator {
namespace {

using metrics::Metric;

class BinaryHead : public ClassHead {
 public:
  explicit BinaryHead(HeadOptions options)
      : ClassHead(2, options, Check(options)) {}
  int64_t logits_dimension() const override { return 1; }

 protected:
  int64_t label_dimension() const override { return 1; }

  std::map<std::string, Output> Predictions(
      const Scope& scope, const Output& logits) const override {
    std::map<std::string, Output> predictions;
    predictions["logits"] = logits;
    predictions["logistic"] = ops::Sigmoid(scope.WithName("logistic"), logits);
    const Output both =
        ops::Concat(scope, {ops::ZerosLike(scope, logits), logits}, -1);
    AddClasses(scope, both, predictions);
    return predictions;
  }

  ExportOutputs Exports(
      const std::map<std::string, Output>& predictions) const override {
    ExportOutputs exports = ExportClasses(predictions);
    exports["regression"] = RegressionOutput{predictions.at("logistic")};
    return exports;
  }

  Output ProcessLabels(const Scope& scope,
                       const Output& labels) const override {
    const Output ids = LabelIds(scope, labels);
    if (!ids) return Output();
    const Output floats =
        ids.dtype() == DT_FLOAT ? ids : ops::Cast(scope, ids, DT_FLOAT);
    return AssertRange(scope, floats, 2);
  }

  Output UnreducedLoss(const Scope& scope, const Output& labels,
                       const Output& logits) const override {
    return nn::SigmoidCrossEntropyWithLogits(scope, labels, logits);
  }

  std::map<std::string, Metric> Metrics(const Scope& scope,
                                        const EvalInput& input) const override {
    const Output& logistic = input.predictions.at("logistic");
    const Output& ids = input.predictions.at("class_ids");
    const auto weighted = WeightedMetric(input.weights);
    std::map<std::string, Metric> all;
    all[Key("accuracy")] = metrics::Accuracy(
        scope, input.labels, ops::Cast(scope, ids, DT_FLOAT), weighted);
    all[Key("precision")] =
        metrics::Precision(scope, input.labels, ids, weighted);
    all[Key("recall")] = metrics::Recall(scope, input.labels, ids, weighted);
    all[Key("prediction/mean")] =
        metrics::Mean(scope.WithName("prediction_mean"), logistic, weighted);
    const Metric mean =
        metrics::Mean(scope.WithName("label_mean"), input.labels, weighted);
    all[Key("label/mean")] = mean;
    all[Key("accuracy_baseline")] = {Baseline(scope, mean.value),
                                     Baseline(scope, mean.update_op)};
    all[Key("auc")] =
        metrics::Auc(scope, input.labels, logistic,
                     WeightedAuc(input.weights, metrics::Curve::kRoc));
    all[Key("auc_precision_recall")] =
        metrics::Auc(scope, input.labels, logistic,
                     WeightedAuc(input.weights, metrics::Curve::kPr));
    AddThresholds(scope, input, logistic, /*of_two_classes=*/true, all);
    return all;
  }

 private:
  static absl::Status Check(const HeadOptions& options) {
    RETURN_IF_ERROR(CheckVocabulary(options.label_vocabulary, 2));
    RETURN_IF_ERROR(CheckThresholds(options.thresholds));
    RETURN_IF_ERROR(
        RefuseOption(!options.classes_for_class_based_metrics.empty(),
                     "classes_for_class_based_metrics", "binary"));
    return RefuseOption(options.inverse_link_fn != nullptr, "inverse_link_fn",
                        "binary");
  }
  // Returns the accuracy of always predicting the majority label.
  static Output Baseline(const Scope& scope, const Output& mean) {
    if (!mean) return Output();
    return ops::Maximum(scope.WithName("accuracy_baseline"), mean,
                        ops::Sub(scope, 1.0f, mean));
  }
};

class MultiClass : public ClassHead {
 public:
  using ClassHead::ClassHead;
  int64_t logits_dimension() const override { return n_classes_; }

 protected:
  int64_t label_dimension() const override { return 1; }

  std::map<std::string, Output> Predictions(
      const Scope& scope, const Output& logits) const override {
    std::map<std::string, Output> predictions;
    predictions["logits"] = logits;
    AddClasses(scope, logits, predictions);
    return predictions;
  }

  ExportOutputs Exports(
      const std::map<std::string, Output>& predictions) const override {
    return ExportClasses(predictions);
  }

  Output ProcessLabels(const Scope& scope,
                       const Output& labels) const override {
    const Output ids = LabelIds(scope, labels);
    if (!ids) return Output();
    if (ids.dtype() != DT_INT64 && ids.dtype() != DT_INT32) {
      scope.UpdateStatus(absl::InvalidArgumentError(absl::StrCat(
          "Labels dtype should be int32 or int64. Instead got ",
          DataTypeName(ids.dtype()), "; cast them in the input function.")));
      return Output();
    }
    return AssertRange(scope, ops::Cast(scope, ids, DT_INT64), n_classes_);
  }

  Output UnreducedLoss(const Scope& scope, const Output& labels,
                       const Output& logits) const override {
    const Output ids = ops::Squeeze(scope, labels, {.axis = {-1}});
    const Output loss =
        nn::SparseSoftmaxCrossEntropyWithLogits(scope, ids, logits);
    return loss ? ops::ExpandDims(scope, loss, -1) : loss;
  }

  std::map<std::string, Metric> Metrics(const Scope& scope,
                                        const EvalInput& input) const override {
    return {
        {Key("accuracy"), metrics::Accuracy(scope, input.labels,
                                            input.predictions.at("class_ids"),
                                            WeightedMetric(input.weights))}};
  }
};

class Regression : public Head {
 public:
  Regression(int64_t label_dimension, HeadOptions options)
      : Head(std::move(options)), label_dimension_(label_dimension) {}
  int64_t logits_dimension() const override { return label_dimension_; }

 protected:
  int64_t label_dimension() const override { return label_dimension_; }
  int64_t loss_dimension() const override { return label_dimension_; }

  std::map<std::string, Output> Predictions(
      const Scope& scope, const Output& logits) const override {
    if (!options_.inverse_link_fn) return {{"predictions", logits}};
    return {{"predictions", Linked(scope, logits)}, {"logits", logits}};
  }

  ExportOutputs Exports(
      const std::map<std::string, Output>& predictions) const override {
    return WithPredict("regression",
                       RegressionOutput{predictions.at("predictions")},
                       predictions);
  }

  Output ProcessLabels(const Scope& scope,
                       const Output& labels) const override {
    if (labels.dtype() == DT_STRING) {
      scope.UpdateStatus(absl::InvalidArgumentError(
          "Labels of a regression are numbers, but these are strings."));
      return Output();
    }
    return labels.dtype() == DT_FLOAT ? labels
                                      : ops::Cast(scope, labels, DT_FLOAT);
  }

  Output UnreducedLoss(const Scope& scope, const Output& labels,
                       const Output& logits) const override {
    return ops::SquaredDifference(scope, logits, labels);
  }

  std::map<std::string, Metric> Metrics(const Scope& scope,
                                        const EvalInput& input) const override {
    const auto weighted = WeightedMetric(input.weights);
    return {{Key("prediction/mean"),
             metrics::Mean(scope.WithName("prediction_mean"),
                           input.predictions.at("predictions"), weighted)},
            {Key("label/mean"), metrics::Mean(scope.WithName("label_mean"),
                                              input.labels, weighted)}};
  }

 private:
  Output Linked(const Scope& scope, const Output& logits) const {
    const Output predictions = options_.inverse_link_fn(scope, logits);
    if (predictions && predictions.shape().IsCompatibleWith(logits.shape())) {
      return predictions;
    }
    scope.UpdateStatus(absl::InvalidArgumentError(absl::StrCat(
        "inverse_link_fn must give predictions of the logits' shape, ",
        logits.shape().ToString(), ", but gave ",
        predictions ? predictions.shape().ToString() : "none", ".")));
    return Output();
  }

  const int64_t label_dimension_;
};

// Rejects metric options that only some heads support.
absl::Status RefuseMetrics(const HeadOptions& options, absl::string_view kind) {
  RETURN_IF_ERROR(
      RefuseOption(!options.thresholds.empty(), "thresholds", kind));
  return RefuseOption(!options.classes_for_class_based_metrics.empty(),
                      "classes_for_class_based_metrics", kind);
}

}  // namespace

std::shared_ptr<const Head> BinaryClassHead(HeadOptions options) {
  return std::make_shared<BinaryHead>(std::move(options));
}

absl::StatusOr<std::shared_ptr<const Head>> MultiClassHead(
    int64_t n_classes, HeadOptions options) {
  RETURN_IF_ERROR(CheckClasses(n_classes, 3));
  RETURN_IF_ERROR(CheckVocabulary(options.label_vocabulary, n_classes));
  RETURN_IF_ERROR(RefuseMetrics(options, "multi-class"));
  RETURN_IF_ERROR(RefuseOption(options.inverse_link_fn != nullptr,
                               "inverse_link_fn", "multi-class"));
  return std::make_shared<MultiClass>(n_classes, std::move(options));
}

absl::StatusOr<std::shared_ptr<const Head>> RegressionHead(
    int64_t label_dimension, HeadOptions options) {
  if (label_dimension < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Invalid label_dimension ", label_dimension, "; it is at least 1."));
  }
  RETURN_IF_ERROR(RefuseMetrics(options, "regression"));
  RETURN_IF_ERROR(RefuseOption(!options.label_vocabulary.empty(),
                               "label_vocabulary", "regression"));
  return std::make_shared<Regression>(label_dimension, std::move(options));
}

}  // namespace weft::estimator
