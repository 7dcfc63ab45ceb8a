#include "libs/estimator/canned/head.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/feature_column/input_layer.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/control/logging_ops.h"
#include "libs/ops/group.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/summary/summary_ops.h"
#include "libs/train/saved_model/signature_def.h"

namespace weft::estimator {
namespace {

absl::Status CheckLogits(const Output& logits, int64_t dimension) {
  if (!logits) return absl::InvalidArgumentError("logits must be given.");
  const PartialShape wanted({PartialShape::kUnknown, dimension});
  if (wanted.IsCompatibleWith(logits.shape())) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("logits shape must be [batch, ", dimension,
                   "] for this head, but is ", logits.shape().ToString(), "."));
}

// Returns the number of examples, as a vector of one element.
Output RowsOf(const Scope& scope, const Output& logits) {
  return ops::StridedSlice(
      scope, ops::Shape(scope, logits), Tensor::Vector<int32_t>({0}),
      Tensor::Vector<int32_t>({1}), Tensor::Vector<int32_t>({1}));
}

// Returns the first three dimensions of a shape, with -1 for missing
// dimensions.
Output FirstSizes(const Scope& scope, const Output& shape) {
  const Tensor nothing = Tensor::Vector<int32_t>({-1, -1, -1});
  return ops::Slice(scope, ops::Concat(scope, {shape, nothing}, 0),
                    Tensor::Vector<int32_t>({0}), Tensor::Vector<int32_t>({3}));
}

// Returns `values` with a run-time check that they are a matrix with as many
// rows as `like`, and `columns` columns. `text` is the error. A matrix of
// another shape would be broadcast and give wrong results.
Output AssertMatrix(const Scope& scope, const Output& values,
                    const Output& like, int64_t columns,
                    const std::string& text) {
  const Tensor size = Tensor::Vector<int32_t>({static_cast<int32_t>(columns)});
  const Output wanted = ops::Concat(scope, {RowsOf(scope, like), size}, 0);
  const Output shape = ops::Shape(scope, values);
  const bool has_rank = values.shape().has_rank();
  const Output equal = has_rank ? ops::Equal(scope, shape, wanted)
                                : ops::Equal(scope, FirstSizes(scope, shape),
                                             FirstSizes(scope, wanted));
  const Operation assert_equal = ops::Assert(
      scope.WithName("assert_equal"),
      ops::All(scope, equal, Tensor::Vector<int32_t>({0})),
      {absl::StrCat(text, " Its shape, and the one needed:"), shape, wanted});
  if (!scope.ok()) return Output();
  const Scope checked = scope.WithControlDependencies({assert_equal});
  if (has_rank && values.shape().dim(1) == columns) {
    return ops::Identity(checked, values);
  }
  // The graph now knows the shape that was checked.
  return ops::Reshape(checked, values, Tensor::Vector<int64_t>({-1, columns}));
}

// Returns `logits`, checked at run time to be a matrix with `dimension`
// columns, unless the graph knows that already.
Output CheckedLogits(const Scope& scope, const Output& logits,
                     int64_t dimension) {
  const PartialShape& shape = logits.shape();
  if (shape.has_rank() && shape.dim(1) == dimension) return logits;
  return AssertMatrix(scope.SubScope("logits"), logits, logits, dimension,
                      absl::StrCat("logits shape must be [batch, ", dimension,
                                   "] for this head."));
}

std::string LabelsWanted(int64_t dimension) {
  return absl::StrCat(
      "Mismatched label shape: the head needs labels of [batch, ", dimension,
      "]. Check your n_classes argument to the estimator (or "
      "label_dimension) and the shape of your labels.");
}

// Returns `values`, with a dimension of size 1 appended at run time if it is a
// vector.
Output WithColumn(const Scope& scope, const Output& values) {
  const Output is_vector = ops::Cast(
      scope, ops::Equal(scope, ops::Rank(scope, values), 1), DT_INT32);
  const Output ones = ops::Fill(scope, ops::ExpandDims(scope, is_vector, 0), 1);
  return ops::Reshape(scope, values,
                      ops::Concat(scope, {ops::Shape(scope, values), ones}, 0));
}

// Returns the labels as a matrix, unless the graph does not know their rank.
// Labels with one value per example may lack the last dimension.
absl::StatusOr<Output> AsMatrix(const Scope& scope, const Output& labels,
                                int64_t dimension) {
  if (!labels) {
    return absl::InvalidArgumentError(
        "You must provide a labels Tensor. Given: None. The input function "
        "must return labels for training and evaluation.");
  }
  const PartialShape& shape = labels.shape();
  if (!shape.has_rank()) {
    return dimension == 1 ? WithColumn(scope, labels) : labels;
  }
  if (shape.rank() == 1 && dimension == 1) {
    return ops::ExpandDims(scope, labels, -1);
  }
  if (PartialShape({PartialShape::kUnknown, dimension})
          .IsCompatibleWith(shape)) {
    return labels;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      LabelsWanted(dimension), " They are ", shape.ToString(), "."));
}

// Returns the column that reads the weights. A feature given by its key has one
// weight per example, or one weight per loss if its known shape says so.
feature_column::FeatureColumn ColumnOf(const WeightColumn& weights,
                                       const Features& features,
                                       int64_t losses) {
  const auto found = features.find(weights.key());
  if (found == features.end() || !found->second || found->second.is_sparse()) {
    return weights.column();
  }
  const PartialShape& shape = found->second.dense().shape();
  if (weights.key().empty() || !shape.has_rank() || shape.rank() != 2 ||
      shape.dim(1) != losses) {
    return weights.column();
  }
  return feature_column::NumericColumn(weights.key(), {.shape = {losses}});
}

}  // namespace

std::string Head::Key(absl::string_view key) const {
  return options_.name.empty() ? std::string(key)
                               : absl::StrCat(key, "/", options_.name);
}

ExportOutputs Head::WithPredict(
    const std::string& name, const ExportOutput& first,
    const std::map<std::string, Output>& predictions) {
  return {{std::string(train::kDefaultServingSignatureDefKey), first},
          {name, first},
          {"predict", PredictOutput{predictions}}};
}

absl::StatusOr<Output> Head::FromSparse(const Scope&,
                                        const ops::SparseOutputs&) const {
  return absl::InvalidArgumentError(absl::StrCat(
      "Sparse labels are not supported by this head. Labels must be a Tensor "
      "of shape [batch, ",
      label_dimension(), "]: each example must have ", label_dimension(),
      " of them. Check which feature is the label, or make it dense in the "
      "input function (SparseToDense)."));
}

absl::StatusOr<Output> Head::MakeLabels(const Scope& scope,
                                        const ModelInput& input,
                                        const Output& logits) const {
  const Scope inner = scope.SubScope("labels");
  Output labels = input.labels;
  if (!labels && input.sparse_labels.values) {
    ASSIGN_OR_RETURN(labels, FromSparse(inner, input.sparse_labels));
  }
  ASSIGN_OR_RETURN(labels, AsMatrix(inner, labels, label_dimension()));
  labels = ProcessLabels(scope,
                         AssertMatrix(inner, labels, logits, label_dimension(),
                                      LabelsWanted(label_dimension())));
  RETURN_IF_ERROR(scope.status());
  return labels;
}

absl::StatusOr<Output> Head::MakeUnreduced(const Scope& scope,
                                           const Output& labels,
                                           const Output& logits) const {
  if (!options_.loss_fn) {
    const Output loss = UnreducedLoss(scope, labels, logits);
    RETURN_IF_ERROR(scope.status());
    return loss;
  }
  const Output loss = options_.loss_fn(scope, labels, logits);
  RETURN_IF_ERROR(scope.status());
  const int64_t columns = loss_dimension();
  const std::string text =
      absl::StrCat("loss_fn must give losses of shape [batch, ", columns, "].");
  if (!loss || !PartialShape({PartialShape::kUnknown, columns})
                    .IsCompatibleWith(loss.shape())) {
    return absl::InvalidArgumentError(absl::StrCat(
        text, " It gave ", loss ? loss.shape().ToString() : "none", "."));
  }
  return AssertMatrix(scope.SubScope("loss_fn"), loss, logits, columns, text);
}

// Returns the weights; null if there is no weight column.
absl::StatusOr<Output> Head::MakeWeights(const Scope& scope,
                                         const ModelInput& input,
                                         const Output& logits) const {
  if (options_.weight_column.is_none()) return Output();
  const Scope inner = scope.SubScope("weights");
  const Output weights = feature_column::InputLayer(
      inner, input.features,
      {ColumnOf(options_.weight_column, input.features, loss_dimension())});
  RETURN_IF_ERROR(scope.status());
  const int64_t columns = weights.shape().dim(1);
  const std::string text = absl::StrCat(
      "weights shape must be [batch], [batch, 1]",
      loss_dimension() > 1 ? absl::StrCat(" or [batch, ", loss_dimension(), "]")
                           : "",
      " for this head: each example has a weight.");
  if (columns != 1 && columns != loss_dimension()) {
    return absl::InvalidArgumentError(absl::StrCat(
        text, " The weight column gives ", weights.shape().ToString(), "."));
  }
  return AssertMatrix(inner, weights, logits, columns, text);
}

absl::StatusOr<Head::Loss> Head::MakeLoss(const Scope& scope,
                                          const ModelInput& input,
                                          const Output& logits) const {
  if (options_.loss_reduction == losses::Reduction::kNone) {
    return absl::InvalidArgumentError(
        "Invalid loss_reduction: kNone makes no single loss; use kSum or "
        "kSumOverBatchSize.");
  }
  Loss loss;
  ASSIGN_OR_RETURN(loss.labels, MakeLabels(scope, input, logits));
  ASSIGN_OR_RETURN(loss.unreduced, MakeUnreduced(scope, loss.labels, logits));
  ASSIGN_OR_RETURN(loss.weights, MakeWeights(scope, input, logits));
  losses::LossOptions weighted;
  if (loss.weights) weighted.weights = loss.weights;
  weighted.reduction = options_.loss_reduction;
  loss.training = losses::ComputeWeightedLoss(scope, loss.unreduced, weighted);
  RETURN_IF_ERROR(scope.status());
  loss.total = loss.training;
  if (!losses::GetRegularizationLosses(scope).empty()) {
    loss.regularization = losses::GetRegularizationLoss(scope);
    loss.total = ops::Add(scope, loss.training, loss.regularization);
  }
  RETURN_IF_ERROR(scope.status());
  return loss;
}

// The names of a head's summaries are its keys, whatever the scope.
void Head::AddSummaries(const Scope& scope, const Loss& loss) const {
  const Scope root = scope.ReenterScope("");
  const auto add = [&](const char* key, const Output& value) {
    ops::ScalarSummary(root.WithName(Key(key)), Key(key), value);
  };
  add("loss", loss.total);
  if (options_.loss_reduction == losses::Reduction::kSum) {
    const Output ones = ops::OnesLike(scope, loss.unreduced);
    const Output sum = ops::Sum(
        scope, loss.weights ? ops::Mul(scope, loss.weights, ones) : ones,
        Tensor::Vector<int32_t>({0, 1}));
    add("average_loss", ops::Div(scope, loss.training, sum));
  }
  if (loss.regularization) add("regularization_loss", loss.regularization);
}

absl::Status Head::AddMetrics(const Scope& scope, const Loss& loss,
                              EstimatorSpec& spec) const {
  const Scope inner = scope.SubScope("metrics");
  spec.eval_metric_ops =
      Metrics(inner, {loss.labels, loss.weights, spec.predictions});
  metrics::MetricOptions weighted;
  if (loss.weights) weighted.weights = loss.weights;
  spec.eval_metric_ops[Key("average_loss")] =
      metrics::Mean(inner.WithName("average_loss"), loss.unreduced, weighted);
  if (loss.regularization) {
    spec.eval_metric_ops[Key("regularization_loss")] = metrics::Mean(
        inner.WithName("regularization_loss"), loss.regularization);
  }
  return scope.status();
}

absl::StatusOr<EstimatorSpec> Head::CreateEstimatorSpec(
    const Scope& scope, const ModelInput& input, const Output& given,
    const TrainOpFn& train_op_fn) const {
  RETURN_IF_ERROR(scope.status());
  RETURN_IF_ERROR(status_);
  RETURN_IF_ERROR(CheckLogits(given, logits_dimension()));
  const Scope inner =
      scope.SubScope(options_.name.empty() ? "head" : options_.name);
  const Output logits = CheckedLogits(inner, given, logits_dimension());
  RETURN_IF_ERROR(scope.status());
  EstimatorSpec spec;
  spec.predictions = Predictions(inner.SubScope("predictions"), logits);
  RETURN_IF_ERROR(scope.status());
  if (input.mode == Mode::kPredict) {
    spec.export_outputs = Exports(spec.predictions);
    return spec;
  }
  ASSIGN_OR_RETURN(const Loss loss, MakeLoss(inner, input, logits));
  spec.loss = loss.total;
  if (input.mode == Mode::kEval) {
    RETURN_IF_ERROR(AddMetrics(inner, loss, spec));
    return spec;
  }
  ASSIGN_OR_RETURN(spec.train_op, train_op_fn(inner, loss.total));
  RETURN_IF_ERROR(scope.status());
  std::vector<Operation> all = scope.GetOperations(collection::kUpdateOps);
  if (!all.empty()) {
    all.insert(all.begin(), spec.train_op);
    spec.train_op = ops::Group(inner, all);
  }
  AddSummaries(inner, loss);
  RETURN_IF_ERROR(scope.status());
  return spec;
}

}  // namespace weft::estimator
