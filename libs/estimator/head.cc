#include "libs/estimator/head.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/feature_column/input_layer.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/control/logging_ops.h"
#include "libs/ops/group.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/summary/summary_ops.h"
#include "libs/train/signature_def.h"

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

// [batch, dimension]
absl::StatusOr<Output> AsMatrix(const Scope& scope, const Output& labels,
                                int64_t dimension) {
  if (!labels) {
    return absl::InvalidArgumentError(
        "You must provide a labels Tensor. Given: None. The input function "
        "must return labels for training and evaluation.");
  }
  const PartialShape& shape = labels.shape();
  if (shape.has_rank() && shape.rank() == 2 &&
      PartialShape({PartialShape::kUnknown, dimension})
          .IsCompatibleWith(shape)) {
    return labels;
  }
  if (!shape.has_rank() || (shape.rank() == 1 && dimension == 1)) {
    return ops::Reshape(scope, labels,
                        Tensor::Vector<int64_t>({-1, dimension}));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("Mismatched label shape: labels are ", shape.ToString(),
                   ", but the head needs [batch, ", dimension,
                   "]. Check your n_classes argument to the estimator (or "
                   "label_dimension) and the shape of your labels."));
}

// The matrix `labels`, once the step knows that it is [rows of logits,
// dimension]: the loss would broadcast others, and be of no use.
Output AssertShape(const Scope& scope, const Output& labels,
                   const Output& logits, int64_t dimension) {
  const Scope inner = scope.SubScope("labels");
  const Output rows = ops::StridedSlice(
      inner, ops::Shape(inner, logits), Tensor::Vector<int32_t>({0}),
      Tensor::Vector<int32_t>({1}), Tensor::Vector<int32_t>({1}));
  const Tensor columns =
      Tensor::Vector<int32_t>({static_cast<int32_t>(dimension)});
  const Output wanted = ops::Concat(inner, {rows, columns}, 0);
  const Output shape = ops::Shape(inner, labels);
  const Operation equal = ops::Assert(
      inner.WithName("assert_equal"),
      ops::All(inner, ops::Equal(inner, shape, wanted),
               Tensor::Vector<int32_t>({0})),
      {absl::StrCat("Mismatched label shape: the head needs labels of [batch, ",
                    dimension,
                    "]. Check your n_classes argument to the estimator (or "
                    "label_dimension) and the shape of your labels. Shape of "
                    "the labels, and the one needed:"),
       shape, wanted});
  if (!scope.ok()) return Output();
  return ops::Identity(inner.WithControlDependencies({equal}), labels);
}

// Values of the weight column, [batch, 1]; null where there is none.
absl::StatusOr<Output> WeightsOf(const Scope& scope, const WeightColumn& column,
                                 const Features& features) {
  if (column.is_none()) return Output();
  const Output weights = feature_column::InputLayer(
      scope.SubScope("weights"), features, {column.column()});
  RETURN_IF_ERROR(scope.status());
  return weights;
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

absl::StatusOr<Head::Loss> Head::MakeLoss(const Scope& scope,
                                          const ModelInput& input,
                                          const Output& logits) const {
  if (options_.loss_reduction == losses::Reduction::kNone) {
    return absl::InvalidArgumentError(
        "Invalid loss_reduction: kNone makes no single loss; use kSum or "
        "kSumOverBatchSize.");
  }
  Loss loss;
  ASSIGN_OR_RETURN(const Output labels,
                   AsMatrix(scope, input.labels, label_dimension()));
  loss.labels = ProcessLabels(
      scope, AssertShape(scope, labels, logits, label_dimension()));
  RETURN_IF_ERROR(scope.status());
  loss.unreduced = UnreducedLoss(scope, loss.labels, logits);
  RETURN_IF_ERROR(scope.status());
  ASSIGN_OR_RETURN(loss.weights,
                   WeightsOf(scope, options_.weight_column, input.features));
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

// Summaries of a head have its keys as they are, whatever scope it is in.
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
    const Scope& scope, const ModelInput& input, const Output& logits,
    const TrainOpFn& train_op_fn) const {
  RETURN_IF_ERROR(scope.status());
  RETURN_IF_ERROR(CheckLogits(logits, logits_dimension()));
  const Scope inner =
      scope.SubScope(options_.name.empty() ? "head" : options_.name);
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
