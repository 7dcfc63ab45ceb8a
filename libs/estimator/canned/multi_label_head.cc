// Implements the head for examples that may belong to several classes.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "libs/estimator/canned/class_head.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/nn/nn_losses.h"
#include "libs/ops/sparse/sparse_ops.h"

namespace weft::estimator {
namespace {

using metrics::Metric;

class MultiLabel : public ClassHead {
 public:
  // `measured`: ids of the classes that have metrics of their own.
  MultiLabel(int64_t n_classes, HeadOptions options,
             std::vector<int64_t> measured)
      : ClassHead(n_classes, std::move(options)),
        measured_(std::move(measured)) {}
  int64_t logits_dimension() const override { return n_classes_; }

 protected:
  int64_t label_dimension() const override { return n_classes_; }

  std::map<std::string, Output> Predictions(
      const Scope& scope, const Output& logits) const override {
    return {{"logits", logits},
            {"probabilities",
             ops::Sigmoid(scope.WithName("probabilities"), logits)},
            {"classes", AllClasses(scope, logits)}};
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
          "Dense labels of a multi-label head are 0 or 1 for each class, not "
          "strings; give sets of strings as sparse_labels."));
      return Output();
    }
    return AssertRange(scope, ops::Cast(scope, labels, DT_FLOAT), 2);
  }

  // Returns one loss per example: the mean over the classes.
  Output UnreducedLoss(const Scope& scope, const Output& labels,
                       const Output& logits) const override {
    const Output loss =
        nn::SigmoidCrossEntropyWithLogits(scope, labels, logits);
    if (!loss) return loss;
    return ops::Mean(scope, loss, Tensor::Vector<int32_t>({-1}),
                     {.keep_dims = true});
  }

  // Converts sparse class ids to a matrix that is 1 for each class of an
  // example, and 0 elsewhere.
  absl::StatusOr<Output> FromSparse(
      const Scope& scope, const ops::SparseOutputs& labels) const override {
    ASSIGN_OR_RETURN(const Output ids, SparseIds(scope, labels.values));
    // Keeps all dimensions of a label's index except the last; the id becomes
    // the last dimension instead.
    const auto but_last = [&](const Output& values) {
      return ops::StridedSlice(scope, values, Tensor::Vector<int32_t>({0}),
                               Tensor::Vector<int32_t>({-1}),
                               Tensor::Vector<int32_t>({1}), {.begin_mask = 1});
    };
    const Output examples = ops::StridedSlice(
        scope, labels.indices, Tensor::Vector<int32_t>({0, 0}),
        Tensor::Vector<int32_t>({0, -1}), Tensor::Vector<int32_t>({1, 1}),
        {.begin_mask = 3, .end_mask = 1});
    const Output indices = ops::Concat(scope, {examples, ids}, 1);
    const Output shape = ops::Concat(
        scope, {but_last(labels.shape), Tensor::Vector<int64_t>({n_classes_})},
        0);
    // Indices are not validated, because ids may be repeated and unordered.
    const Output dense = ops::SparseToDense(scope, indices, shape, 1.0f, 0.0f,
                                            /*validate_indices=*/false);
    RETURN_IF_ERROR(scope.status());
    return dense;
  }

  std::map<std::string, Metric> Metrics(const Scope& scope,
                                        const EvalInput& input) const override {
    const Output& probabilities = input.predictions.at("probabilities");
    std::map<std::string, Metric> all;
    const auto add = [&](const std::string& of, const Output& labels,
                         const Output& predicted) {
      all[Key(absl::StrCat("auc", of))] =
          metrics::Auc(scope, labels, predicted,
                       WeightedAuc(input.weights, metrics::Curve::kRoc));
      // TensorFlow's multi-label head uses this interpolation; its other heads
      // do not.
      metrics::AucOptions pr = WeightedAuc(input.weights, metrics::Curve::kPr);
      pr.summation_method = metrics::SummationMethod::kCarefulInterpolation;
      all[Key(absl::StrCat("auc_precision_recall", of))] =
          metrics::Auc(scope, labels, predicted, pr);
    };
    add("", input.labels, probabilities);
    AddThresholds(scope, input, probabilities, /*of_two_classes=*/false, all);
    for (const int64_t id : measured_) {
      const std::string of =
          absl::StrCat(has_vocabulary() ? "/" : "/class", ClassName(id));
      const Output predicted = Column(scope, probabilities, id);
      add(of, Column(scope, input.labels, id), predicted);
      all[Key(absl::StrCat("probability_mean", of))] =
          metrics::Mean(scope.WithName("probability_mean"), predicted,
                        WeightedMetric(input.weights));
    }
    return all;
  }

 private:
  // Checks label ids, and returns them as an int64 column.
  absl::StatusOr<Output> SparseIds(const Scope& scope,
                                   const Output& values) const {
    const DataType dtype = values.dtype();
    if (dtype == DT_STRING) {
      RETURN_IF_ERROR(CheckLabelType(dtype, has_vocabulary()));
    } else if (!IsIntegerType(dtype)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Sparse labels of a multi-label head are ids, integers, or strings "
          "of its label_vocabulary. Instead got ",
          DataTypeName(dtype), "."));
    }
    const Output ids = dtype == DT_STRING
                           ? LookUpIds(scope, options_.label_vocabulary, values)
                           : ops::Cast(scope, values, DT_INT64);
    const Output checked =
        AssertRange(scope, ops::ExpandDims(scope, ids, -1), n_classes_);
    RETURN_IF_ERROR(scope.status());
    return checked;
  }

  // Returns column `id` of a [batch, n_classes] matrix, as [batch, 1].
  static Output Column(const Scope& scope, const Output& matrix, int64_t id) {
    const auto at = static_cast<int32_t>(id);
    return ops::StridedSlice(scope, matrix, Tensor::Vector<int32_t>({0, at}),
                             Tensor::Vector<int32_t>({0, at + 1}),
                             Tensor::Vector<int32_t>({1, 1}),
                             {.begin_mask = 1, .end_mask = 1});
  }

  const std::vector<int64_t> measured_;
};

absl::Status WrongClass(absl::string_view which, absl::string_view among) {
  return absl::InvalidArgumentError(
      absl::StrCat("classes_for_class_based_metrics has ", which,
                   ", but classes are ", among, "."));
}

absl::StatusOr<int64_t> IdOf(const std::variant<int64_t, std::string>& wanted,
                             int64_t n_classes,
                             const std::vector<std::string>& vocabulary) {
  if (const auto* id = std::get_if<int64_t>(&wanted)) {
    if (*id >= 0 && *id < n_classes) return *id;
    return WrongClass(absl::StrCat(*id), absl::StrCat("0 to ", n_classes - 1));
  }
  const std::string& name = std::get<std::string>(wanted);
  const auto found = std::find(vocabulary.begin(), vocabulary.end(), name);
  if (found != vocabulary.end()) return found - vocabulary.begin();
  return WrongClass(absl::StrCat("'", name, "'"),
                    vocabulary.empty()
                        ? "ids where there is no label_vocabulary"
                        : absl::StrJoin(vocabulary, ", "));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Head>> MultiLabelHead(
    int64_t n_classes, HeadOptions options) {
  RETURN_IF_ERROR(CheckClasses(n_classes, 2));
  RETURN_IF_ERROR(CheckVocabulary(options.label_vocabulary, n_classes));
  RETURN_IF_ERROR(CheckThresholds(options.thresholds));
  RETURN_IF_ERROR(RefuseOption(options.inverse_link_fn != nullptr,
                               "inverse_link_fn", "multi-label"));
  std::vector<int64_t> measured;
  for (const auto& wanted : options.classes_for_class_based_metrics) {
    ASSIGN_OR_RETURN(const int64_t id,
                     IdOf(wanted, n_classes, options.label_vocabulary));
    measured.push_back(id);
  }
  return std::make_shared<MultiLabel>(n_classes, std::move(options),
                                      std::move(measured));
}

}  // namespace weft::estimator
