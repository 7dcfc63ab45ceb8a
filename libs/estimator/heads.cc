// The heads of each kind of problem.
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/estimator/head.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/control/logging_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/nn/nn_losses.h"
#include "libs/ops/nn/nn_ops.h"
#include "libs/ops/resource/lookup_ops.h"
#include "libs/ops/string/string_ops.h"

namespace weft::estimator {
namespace {

using metrics::Metric;

metrics::MetricOptions Weighted(const Output& weights) {
  metrics::MetricOptions options;
  if (weights) options.weights = weights;
  return options;
}

metrics::AucOptions WeightedAuc(const Output& weights, metrics::Curve curve) {
  metrics::AucOptions options;
  if (weights) options.weights = weights;
  options.curve = curve;
  return options;
}

// Ids of strings; -1 of those that the vocabulary has not.
Output LookUp(const Scope& scope, const std::vector<std::string>& vocabulary,
              const Output& labels) {
  const Scope inner =
      scope.WithoutControlDependencies().SubScope("class_id_lookup");
  const Output table =
      ops::HashTable(inner.WithName("hash_table"), DT_STRING, DT_INT64);
  if (!table) return Output();
  const auto size = static_cast<int64_t>(vocabulary.size());
  Tensor ids(DT_INT64, TensorShape({size}));
  for (int64_t i = 0; i < size; ++i) ids.mutable_flat<int64_t>()[i] = i;
  const Tensor keys =
      Tensor::Vector<std::string>(absl::MakeConstSpan(vocabulary));
  scope.AddToCollection(collection::kTableInitializers,
                        ops::InitializeTable(inner, table, keys, ids));
  return ops::LookupTableFind(scope, table, labels,
                              Tensor::Scalar(int64_t{-1}));
}

Output AllOf(const Scope& scope, const Output& conditions) {
  return ops::All(scope, conditions, Tensor::Vector<int32_t>({0, 1}));
}

// [batch, n] labels, once it is known that all are in [0, n_classes - 1].
Output AssertRange(const Scope& scope, const Output& labels,
                   int64_t n_classes) {
  if (!labels) return Output();
  const Scope inner = scope.SubScope("assert_range");
  const Output not_above =
      AllOf(inner, ops::LessEqual(inner, labels, n_classes - 1));
  const Output not_below = AllOf(inner, ops::GreaterEqual(inner, labels, 0));
  const Operation above = ops::Assert(
      inner, not_above,
      {absl::StrCat("Labels must <= n_classes - 1 (", n_classes - 1,
                    "); give the model as many n_classes as labels say, or "
                    "count these from 0. Labels:"),
       labels});
  const Operation below = ops::Assert(
      inner, not_below,
      {"Labels must >= 0; count them from 0, and add to label_vocabulary the "
       "strings that it has not, which are -1 here. Labels:",
       labels});
  if (!scope.ok()) return Output();
  return ops::Identity(inner.WithControlDependencies({above, below}), labels);
}

absl::Status CheckLabelType(const Output& labels, bool has_vocabulary) {
  if (has_vocabulary == (labels.dtype() == DT_STRING)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      has_vocabulary
          ? absl::StrCat("Labels dtype should be string since there is a "
                         "label_vocabulary. Instead got ",
                         DataTypeName(labels.dtype()),
                         "; leave the vocabulary out, or give strings.")
          : "Labels are strings, of which the model needs a label_vocabulary.");
}

absl::Status CheckVocabulary(const std::vector<std::string>& vocabulary,
                             int64_t n_classes) {
  if (vocabulary.empty()) return absl::OkStatus();
  if (static_cast<int64_t>(vocabulary.size()) != n_classes) {
    return absl::InvalidArgumentError(
        absl::StrCat("Length of label_vocabulary must be n_classes, ",
                     n_classes, ", but is ", vocabulary.size(), "."));
  }
  const std::set<std::string> distinct(vocabulary.begin(), vocabulary.end());
  if (distinct.size() == vocabulary.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "label_vocabulary has a string twice; leave one out.");
}

// What predicts classes.
class ClassHead : public Head {
 public:
  ClassHead(int64_t n_classes, HeadOptions options)
      : Head(std::move(options)), n_classes_(n_classes) {}

 protected:
  bool has_vocabulary() const { return !options_.label_vocabulary.empty(); }

  // The strings of ids, which are int64.
  Output Classes(const Scope& scope, const Output& ids) const {
    if (!has_vocabulary()) return ops::AsString(scope, ids);
    return ops::GatherV2(scope,
                         Tensor::Vector<std::string>(
                             absl::MakeConstSpan(options_.label_vocabulary)),
                         ids, 0);
  }

  // [batch, n_classes]: a row of all for each example.
  Output ForEach(const Scope& scope, const Output& logits, Tensor row) const {
    const Output batch = ops::StridedSlice(
        scope, ops::Shape(scope, logits), Tensor::Vector<int32_t>({0}),
        Tensor::Vector<int32_t>({1}), Tensor::Vector<int32_t>({1}));
    const Output times =
        ops::Concat(scope, {batch, Tensor::Vector<int32_t>({1})}, 0);
    return ops::Tile(scope, *row.Reshaped(TensorShape({1, n_classes_})), times);
  }
  Tensor AllIds() const {
    Tensor ids(DT_INT32, TensorShape({n_classes_}));
    for (int64_t i = 0; i < n_classes_; ++i) {
      ids.mutable_flat<int32_t>()[i] = static_cast<int32_t>(i);
    }
    return ids;
  }
  Tensor AllClasses() const {
    Tensor classes(DT_STRING, TensorShape({n_classes_}));
    for (int64_t i = 0; i < n_classes_; ++i) {
      classes.mutable_flat<std::string>()[i] =
          has_vocabulary() ? options_.label_vocabulary[i] : absl::StrCat(i);
    }
    return classes;
  }
  // Those that follow from the logits of all classes.
  void AddClasses(const Scope& scope, const Output& logits,
                  std::map<std::string, Output>& predictions) const {
    predictions["probabilities"] = ops::Softmax(scope, logits);
    const Output ids =
        ops::ExpandDims(scope, ops::ArgMax(scope, logits, -1), -1);
    predictions["class_ids"] = ids;
    predictions["classes"] = Classes(scope, ids);
    predictions["all_class_ids"] = ForEach(scope, logits, AllIds());
    predictions["all_classes"] = ForEach(scope, logits, AllClasses());
  }
  static ExportOutputs ExportClasses(
      const std::map<std::string, Output>& predictions) {
    return WithPredict("classification",
                       ClassificationOutput{predictions.at("probabilities"),
                                            predictions.at("all_classes")},
                       predictions);
  }
  // Ids of the labels, or numbers as they are.
  Output LabelIds(const Scope& scope, const Output& labels) const {
    scope.UpdateStatus(CheckLabelType(labels, has_vocabulary()));
    if (!scope.ok()) return Output();
    return has_vocabulary() ? LookUp(scope, options_.label_vocabulary, labels)
                            : labels;
  }

  const int64_t n_classes_;
};

class BinaryHead : public ClassHead {
 public:
  explicit BinaryHead(HeadOptions options) : ClassHead(2, std::move(options)) {}
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
    scope.UpdateStatus(CheckVocabulary(options_.label_vocabulary, n_classes_));
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
    const auto weighted = Weighted(input.weights);
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
    return all;
  }

 private:
  // Of who always says what most labels are.
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
          "Labels dtype should be integer. Instead got ",
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
                                            Weighted(input.weights))}};
  }
};

class MultiLabel : public ClassHead {
 public:
  using ClassHead::ClassHead;
  int64_t logits_dimension() const override { return n_classes_; }

 protected:
  int64_t label_dimension() const override { return n_classes_; }

  std::map<std::string, Output> Predictions(
      const Scope& scope, const Output& logits) const override {
    return {{"logits", logits},
            {"probabilities",
             ops::Sigmoid(scope.WithName("probabilities"), logits)},
            {"classes", ForEach(scope, logits, AllClasses())}};
  }

  ExportOutputs Exports(
      const std::map<std::string, Output>& predictions) const override {
    return WithPredict("classification",
                       ClassificationOutput{predictions.at("probabilities"),
                                            predictions.at("classes")},
                       predictions);
  }

  Output ProcessLabels(const Scope& scope,
                       const Output& labels) const override {
    if (labels.dtype() == DT_STRING) {
      scope.UpdateStatus(absl::InvalidArgumentError(
          "Labels of a multi-label head are 0 or 1 for each class, not "
          "strings."));
      return Output();
    }
    return AssertRange(scope, ops::Cast(scope, labels, DT_FLOAT), 2);
  }

  // One for each example: the mean over the classes.
  Output UnreducedLoss(const Scope& scope, const Output& labels,
                       const Output& logits) const override {
    const Output loss =
        nn::SigmoidCrossEntropyWithLogits(scope, labels, logits);
    if (!loss) return loss;
    return ops::Mean(scope, loss, Tensor::Vector<int32_t>({-1}),
                     {.keep_dims = true});
  }

  std::map<std::string, Metric> Metrics(const Scope& scope,
                                        const EvalInput& input) const override {
    const Output& probabilities = input.predictions.at("probabilities");
    // tf.estimator.MultiLabelHead interpolates here, other heads do not.
    metrics::AucOptions pr = WeightedAuc(input.weights, metrics::Curve::kPr);
    pr.summation_method = metrics::SummationMethod::kCarefulInterpolation;
    return {{Key("auc"),
             metrics::Auc(scope, input.labels, probabilities,
                          WeightedAuc(input.weights, metrics::Curve::kRoc))},
            {Key("auc_precision_recall"),
             metrics::Auc(scope, input.labels, probabilities, pr)}};
  }
};

class Regression : public Head {
 public:
  Regression(int64_t label_dimension, HeadOptions options)
      : Head(std::move(options)), label_dimension_(label_dimension) {}
  int64_t logits_dimension() const override { return label_dimension_; }

 protected:
  int64_t label_dimension() const override { return label_dimension_; }

  std::map<std::string, Output> Predictions(
      const Scope&, const Output& logits) const override {
    return {{"predictions", logits}};
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
    const auto weighted = Weighted(input.weights);
    return {{Key("prediction/mean"),
             metrics::Mean(scope.WithName("prediction_mean"),
                           input.predictions.at("predictions"), weighted)},
            {Key("label/mean"), metrics::Mean(scope.WithName("label_mean"),
                                              input.labels, weighted)}};
  }

 private:
  const int64_t label_dimension_;
};

absl::Status CheckClasses(int64_t n_classes, int64_t least) {
  if (n_classes >= least && n_classes < (int64_t{1} << 31)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "n_classes must be at least ", least, ", but is ", n_classes, "."));
}

}  // namespace

std::shared_ptr<const Head> BinaryClassHead(HeadOptions options) {
  return std::make_shared<BinaryHead>(std::move(options));
}

absl::StatusOr<std::shared_ptr<const Head>> MultiClassHead(
    int64_t n_classes, HeadOptions options) {
  RETURN_IF_ERROR(CheckClasses(n_classes, 3));
  RETURN_IF_ERROR(CheckVocabulary(options.label_vocabulary, n_classes));
  return std::make_shared<MultiClass>(n_classes, std::move(options));
}

absl::StatusOr<std::shared_ptr<const Head>> MultiLabelHead(
    int64_t n_classes, HeadOptions options) {
  RETURN_IF_ERROR(CheckClasses(n_classes, 2));
  RETURN_IF_ERROR(CheckVocabulary(options.label_vocabulary, n_classes));
  return std::make_shared<MultiLabel>(n_classes, std::move(options));
}

absl::StatusOr<std::shared_ptr<const Head>> RegressionHead(
    int64_t label_dimension, HeadOptions options) {
  if (label_dimension < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Invalid label_dimension ", label_dimension, "; it is at least 1."));
  }
  return std::make_shared<Regression>(label_dimension, std::move(options));
}

}  // namespace weft::estimator
