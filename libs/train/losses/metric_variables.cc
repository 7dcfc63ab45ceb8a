#include "libs/train/losses/metric_variables.h"

#include "libs/ops/math/typed_inputs.h"
#include "libs/ops/state/initializers.h"
#include "libs/train/losses/label_shapes.h"

namespace weft::metrics {

ops::Variable MetricVariable(const Scope& scope, absl::string_view name,
                             const TensorShape& shape) {
  ops::VariableOptions options;
  options.dtype = DT_FLOAT;
  options.trainable = false;
  options.collections = {std::string(collection::kLocalVariables),
                         std::string(kMetricVariables)};
  return ops::Variable(scope.WithName(name), ops::initializers::Zeros(), shape,
                       options);
}

bool IsNull(const Input& input) { return !input.value() && !input.output(); }

Batch MatchShapes(const Scope& scope, const Output& labels,
                  const Output& predictions, const Input& weights) {
  const auto pair =
      train::RemoveSqueezableDimensions(scope, labels, predictions);
  if (!ops::CheckSameShape(scope, pair.predictions, pair.labels)) return {};
  Batch result{pair.labels, pair.predictions, Output()};
  if (IsNull(weights)) return result;
  result.weights = train::MatchRank(
      scope, ops::AsTensor(scope, weights, DT_FLOAT, "weights"),
      pair.predictions);
  if (!result.weights) return {};
  return result;
}

Metric Collected(const Scope& scope, const Metric& metric,
                 const std::string& metrics_collection,
                 const std::string& updates_collection) {
  if (!scope.ok() || !metric.value || !metric.update_op) return {};
  if (!metrics_collection.empty()) {
    scope.AddToCollection(metrics_collection, metric.value);
  }
  if (!updates_collection.empty()) {
    scope.AddToCollection(updates_collection, metric.update_op);
  }
  return metric;
}

}  // namespace weft::metrics
