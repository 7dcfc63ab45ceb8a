#include "libs/train/losses/metrics.h"

#include <utility>

#include "absl/functional/function_ref.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/math/typed_inputs.h"
#include "libs/train/losses/label_shapes.h"
#include "libs/train/losses/metric_variables.h"

namespace weft::metrics {
namespace {

// Returns total / count, or 0 if count is 0.
Output Quotient(const Scope& scope, const char* name, const Output& total,
                const Output& count) {
  const Output divisor = ops::Maximum(scope, count, 0.0f);
  return ops::DivNoNan(scope.WithName(name), total, divisor);
}

// Returns the mean of `values`. `scope` is the scope of the metric; `weights`
// may be null.
Metric MeanOf(const Scope& scope, const Output& values, const Output& weights,
              const MetricOptions& options) {
  if (!scope.ok() || !values) return {};
  Output x = ops::CastTo(scope, values, DT_FLOAT, "values");
  const ops::Variable total = MetricVariable(scope, "total");
  const ops::Variable count = MetricVariable(scope, "count");
  Output number;
  if (weights) {
    const Output w = train::BroadcastWeights(
        scope, ops::CastTo(scope, weights, DT_FLOAT, "weights"), x);
    x = ops::Mul(scope, x, w);
    number = ops::SumAll(scope, w);
  } else {
    number = ops::Cast(scope, ops::Size(scope, x), DT_FLOAT);
  }
  const Output sum = ops::SumAll(scope, x);
  if (!scope.ok()) return {};
  const Output new_total = ops::AssignAdd(scope, total, sum);
  // The count is updated only after the sum of this batch has been computed. If
  // that fails, the count is unchanged.
  const Output new_count =
      ops::AssignAdd(scope.WithControlDependencies({x}), count, number);
  if (!scope.ok()) return {};
  const Metric metric{Quotient(scope, "value", total, count),
                      Quotient(scope, "update_op", new_total, new_count)};
  return Collected(scope, metric, options.metrics_collection,
                   options.updates_collection);
}

// Returns labels and predictions as floats of the same shape. As in TensorFlow,
// the nodes are created outside the scope of the metric.
Batch FloatBatch(const Scope& scope, const Input& labels,
                 const Input& predictions, const Input& weights) {
  const Output p = ops::CastTo(scope, predictions, DT_FLOAT, "predictions");
  const Output y = ops::CastTo(scope, labels, DT_FLOAT, "labels");
  return MatchShapes(scope, y, p, weights);
}

}  // namespace

Metric Mean(const Scope& scope, const Input& values,
            const MetricOptions& options) {
  const Scope inner = scope.CompositeScope("mean");
  const Output x = ops::AsTensor(inner, values, DT_FLOAT, "values");
  Output weights;
  if (!IsNull(options.weights)) {
    weights = train::MatchRank(
        inner, ops::AsTensor(inner, options.weights, DT_FLOAT, "weights"), x);
  }
  return MeanOf(inner, x, weights, options);
}

Metric Accuracy(const Scope& scope, const Input& labels,
                const Input& predictions, const MetricOptions& options) {
  const Scope outside = scope.WithName("");
  Output p = ops::AsTensor(outside, predictions, DT_INT64, "predictions");
  const Output y = ops::AsTensor(outside, labels, DT_INT64, "labels");
  if (p && y) {
    p = ops::CastTo(outside, p, RemoveRefType(y.dtype()), "predictions");
  }
  const Batch batch = MatchShapes(outside, y, p, options.weights);
  if (!batch) return {};
  const Output right = ops::Cast(
      outside, ops::Equal(outside, batch.predictions, batch.labels), DT_FLOAT);
  return MeanOf(scope.CompositeScope("accuracy"), right, batch.weights,
                options);
}

namespace {

// Returns the sum of `values` for each class.
Output SumByClass(const Scope& scope, const Output& values,
                  const Output& classes, int64_t num_classes) {
  return ops::UnsortedSegmentSum(scope, values, classes,
                                 Tensor::Scalar(num_classes));
}

// Returns the mean of the per-class quotients.
Output MeanQuotient(const Scope& scope, const char* name, const Output& right,
                    const Output& all) {
  if (!right || !all) return Output();
  return ops::Mean(scope.WithName(name), ops::DivNoNan(scope, right, all), 0);
}

}  // namespace

Metric MeanPerClassAccuracy(const Scope& scope, const Input& labels,
                            const Input& predictions, int64_t num_classes,
                            const MetricOptions& options) {
  const Scope inner = scope.CompositeScope("mean_accuracy");
  const Tensor flat = Tensor::Vector<int32_t>({-1});
  Output y = ops::AsTensor(inner, labels, DT_INT64, "labels");
  Output p = ops::AsTensor(inner, predictions, DT_INT64, "predictions");
  if (!y || !p) return {};
  y = ops::Reshape(inner, ops::CastTo(inner, y, DT_INT64, "labels"), flat);
  p = ops::Reshape(inner, ops::CastTo(inner, p, DT_INT64, "predictions"), flat);
  Output right = ops::Cast(inner, ops::Equal(inner, p, y), DT_FLOAT);
  Output all = ops::OnesLike(inner, right);
  if (!IsNull(options.weights)) {
    const Output w = ops::Reshape(
        inner, ops::AsTensor(inner, options.weights, DT_FLOAT, "weights"),
        flat);
    right = ops::Mul(inner, right, w);
    all = ops::Mul(inner, all, w);
  }
  const TensorShape shape({num_classes});
  const ops::Variable total = MetricVariable(inner, "total", shape);
  const ops::Variable count = MetricVariable(inner, "count", shape);
  const Output more = SumByClass(inner, all, y, num_classes);
  const Output more_right = SumByClass(inner, right, y, num_classes);
  if (!scope.ok()) return {};
  const Output new_total = ops::AssignAdd(inner, total, more);
  const Output new_count = ops::AssignAdd(inner, count, more_right);
  const Metric metric{
      MeanQuotient(inner, "mean_accuracy", count.value(), total.value()),
      MeanQuotient(inner, "update_op", new_count, new_total)};
  if (!scope.ok()) return {};
  return Collected(scope, metric, options.metrics_collection,
                   options.updates_collection);
}

namespace {

// Returns the mean of the errors that `error` computes from float labels and
// predictions.
Metric MeanOfErrors(
    const Scope& scope, absl::string_view name, const Input& labels,
    const Input& predictions, const MetricOptions& options,
    absl::FunctionRef<Output(const Scope&, const Batch&)> error) {
  const Scope outside = scope.WithName("");
  const Batch batch = FloatBatch(outside, labels, predictions, options.weights);
  if (!batch) return {};
  const Output errors = error(outside, batch);
  return MeanOf(scope.CompositeScope(name), errors, batch.weights, options);
}

}  // namespace

Metric MeanAbsoluteError(const Scope& scope, const Input& labels,
                         const Input& predictions,
                         const MetricOptions& options) {
  return MeanOfErrors(
      scope, "mean_absolute_error", labels, predictions, options,
      [](const Scope& at, const Batch& batch) {
        return ops::Abs(
            at, ops::Sub(at.WithName("sub"), batch.predictions, batch.labels));
      });
}

Metric MeanSquaredError(const Scope& scope, const Input& labels,
                        const Input& predictions,
                        const MetricOptions& options) {
  return MeanOfErrors(scope, "mean_squared_error", labels, predictions, options,
                      [](const Scope& at, const Batch& batch) {
                        return ops::SquaredDifference(at, batch.labels,
                                                      batch.predictions);
                      });
}

Metric RootMeanSquaredError(const Scope& scope, const Input& labels,
                            const Input& predictions,
                            const MetricOptions& options) {
  const Scope outside = scope.WithName("");
  const Scope named = scope.own_name().empty()
                          ? scope.WithName("root_mean_squared_error")
                          : scope;
  const Metric squares = MeanSquaredError(named, labels, predictions,
                                          {.weights = options.weights});
  if (!scope.ok()) return {};
  const Metric roots{ops::Sqrt(outside, squares.value),
                     ops::Sqrt(outside, squares.update_op)};
  return Collected(scope, roots, options.metrics_collection,
                   options.updates_collection);
}

// ---- confusion matrix counts ----

namespace {

// Counts the elements where `counted` is true. `scope` is the scope of the
// count.
Metric CountOf(const Scope& scope, const Output& counted,
               const Output& weights) {
  const ops::Variable count = MetricVariable(scope, "count");
  Output x = ops::Cast(scope, counted, DT_FLOAT);
  if (weights && scope.ok()) {
    const Output w = ops::CastTo(scope, weights, DT_FLOAT, "weights");
    const Scope checked = train::WithWeightsChecked(scope, w, x);
    x = ops::Mul(checked, x, w);
  }
  if (!scope.ok()) return {};
  const Output value = ops::Identity(scope, count);
  return {value, ops::AssignAdd(scope, count, ops::SumAll(scope, x))};
}

struct Cell {
  const char* name;
  bool label;
  bool prediction;
};
constexpr Cell kTruePositives = {"true_positives", true, true};
constexpr Cell kFalsePositives = {"false_positives", false, true};
constexpr Cell kTrueNegatives = {"true_negatives", false, false};
constexpr Cell kFalseNegatives = {"false_negatives", true, false};

Batch BoolBatch(const Scope& scope, const Input& labels,
                const Input& predictions, const Input& weights) {
  const Output p = ops::CastTo(scope, predictions, DT_BOOL, "predictions");
  const Output y = ops::CastTo(scope, labels, DT_BOOL, "labels");
  return MatchShapes(scope, y, p, weights);
}

// Counts one cell of the confusion matrix. `scope` is the scope of the cell.
Metric CountCell(const Scope& scope, const Batch& batch, const Cell& cell) {
  if (!scope.ok() || !batch) return {};
  const Output counted =
      ops::LogicalAnd(scope, ops::Equal(scope, batch.labels, cell.label),
                      ops::Equal(scope, batch.predictions, cell.prediction));
  return CountOf(scope, counted, batch.weights);
}

Metric CountAlone(const Scope& scope, const Input& labels,
                  const Input& predictions, const MetricOptions& options,
                  const Cell& cell) {
  const Scope inner = scope.CompositeScope(cell.name);
  const Batch batch = BoolBatch(inner, labels, predictions, options.weights);
  return Collected(scope, CountCell(inner, batch, cell),
                   options.metrics_collection, options.updates_collection);
}

// Returns right / (right + wrong), or 0 if both are 0.
Output Share(const Scope& scope, const char* name, const Output& right,
             const Output& wrong) {
  const Scope add = scope.WithName("add");
  const Output any = ops::Greater(scope, ops::AddV2(add, right, wrong), 0.0f);
  const Output share = ops::RealDiv(scope.WithName("truediv"), right,
                                    ops::AddV2(add, right, wrong));
  return ops::Select(scope.WithName(name), any, share, 0.0f);
}

Metric ShareOfTruePositives(const Scope& scope, const Input& labels,
                            const Input& predictions,
                            const MetricOptions& options, const char* name,
                            const Cell& wrong_cell) {
  const Scope inner = scope.CompositeScope(name);
  const Batch batch = BoolBatch(inner, labels, predictions, options.weights);
  const Metric right =
      CountCell(inner.SubScope(kTruePositives.name), batch, kTruePositives);
  const Metric wrong =
      CountCell(inner.SubScope(wrong_cell.name), batch, wrong_cell);
  if (!scope.ok()) return {};
  const Metric share{
      Share(inner, "value", right.value, wrong.value),
      Share(inner, "update_op", right.update_op, wrong.update_op)};
  return Collected(scope, share, options.metrics_collection,
                   options.updates_collection);
}

}  // namespace

Metric TruePositives(const Scope& scope, const Input& labels,
                     const Input& predictions, const MetricOptions& options) {
  return CountAlone(scope, labels, predictions, options, kTruePositives);
}

Metric FalsePositives(const Scope& scope, const Input& labels,
                      const Input& predictions, const MetricOptions& options) {
  return CountAlone(scope, labels, predictions, options, kFalsePositives);
}

Metric TrueNegatives(const Scope& scope, const Input& labels,
                     const Input& predictions, const MetricOptions& options) {
  return CountAlone(scope, labels, predictions, options, kTrueNegatives);
}

Metric FalseNegatives(const Scope& scope, const Input& labels,
                      const Input& predictions, const MetricOptions& options) {
  return CountAlone(scope, labels, predictions, options, kFalseNegatives);
}

Metric Precision(const Scope& scope, const Input& labels,
                 const Input& predictions, const MetricOptions& options) {
  return ShareOfTruePositives(scope, labels, predictions, options, "precision",
                              kFalsePositives);
}

Metric Recall(const Scope& scope, const Input& labels, const Input& predictions,
              const MetricOptions& options) {
  return ShareOfTruePositives(scope, labels, predictions, options, "recall",
                              kFalseNegatives);
}

}  // namespace weft::metrics
