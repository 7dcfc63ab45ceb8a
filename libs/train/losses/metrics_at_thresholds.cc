// Computes metrics from confusion matrix counts at given thresholds, or at the
// threshold whose rate is nearest to a given rate.
#include "absl/strings/str_cat.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/train/losses/metric_counts.h"
#include "libs/train/losses/metric_variables.h"
#include "libs/train/losses/metrics.h"

namespace weft::metrics {
namespace {

constexpr float kEpsilon = 1e-7f;  // avoids division by 0

using Thresholds = std::vector<float>;

bool CheckThresholds(const Scope& scope, const char* metric,
                     const Thresholds& thresholds) {
  if (!thresholds.empty()) return true;
  scope.UpdateStatus(absl::InvalidArgumentError(
      absl::StrCat(metric, ": thresholds are empty")));
  return false;
}

// Returns right / (epsilon + right + wrong).
Output ShareOf(const Scope& scope, const std::string& name, const Output& right,
               const Output& wrong) {
  const Scope add = scope.WithName("add");
  return ops::RealDiv(scope.WithName(name), right,
                      ops::AddV2(add, ops::AddV2(add, kEpsilon, right), wrong));
}

// Returns TP / (TP + wrong) at each threshold, where TP are the true positives
// and `wrong` is another cell of the confusion matrix.
Metric ShareAtThresholds(const Scope& scope, const char* name,
                         const char* prefix, CountedCell wrong,
                         const Input& labels, const Input& predictions,
                         const Thresholds& thresholds,
                         const MetricOptions& options) {
  if (!CheckThresholds(scope, name, thresholds)) return {};
  const Scope inner = scope.CompositeScope(name);
  const CountedBatch counts =
      CountAtThresholds(inner, labels, predictions, options.weights, thresholds,
                        {&Counts::true_positives, wrong});
  if (!scope.ok()) return {};
  const auto share = [&](const Counts& of, const char* suffix) {
    return ShareOf(inner, absl::StrCat(prefix, suffix), of.true_positives,
                   of.*wrong);
  };
  const Metric metric{share(counts.value, "value"),
                      share(counts.updated, "update_op")};
  return Collected(scope, metric, options.metrics_collection,
                   options.updates_collection);
}

// Returns the counts of one cell at each threshold.
Metric CellAtThresholds(const Scope& scope, const char* name, CountedCell cell,
                        const Input& labels, const Input& predictions,
                        const Thresholds& thresholds,
                        const MetricOptions& options) {
  if (!CheckThresholds(scope, name, thresholds)) return {};
  const Scope inner = scope.CompositeScope(name);
  const CountedBatch counts = CountAtThresholds(
      inner, labels, predictions, options.weights, thresholds, {cell});
  if (!scope.ok()) return {};
  const Metric metric{ops::Identity(inner, counts.value.*cell),
                      counts.updated.*cell};
  return Collected(scope, metric, options.metrics_collection,
                   options.updates_collection);
}

// Returns right / (right + wrong + epsilon).
Output Rate(const Scope& scope, const std::string& name, const Output& right,
            const Output& wrong) {
  const Scope add = scope.WithName("add");
  return ops::RealDiv(scope.WithName(name), right,
                      ops::AddV2(add, ops::AddV2(add, right, wrong), kEpsilon));
}

Output Distance(const Scope& scope, const Output& rates, float wanted) {
  return ops::Abs(scope, ops::Sub(scope.WithName("sub"), rates, wanted));
}

// Returns the first index at which `rates` is nearest to `wanted`.
Output FirstNearest(const Scope& scope, const Output& rates, float wanted) {
  return ops::ArgMin(scope, Distance(scope, rates, wanted), 0);
}

// Returns the last index at which `rates` is nearest to `wanted`. From that
// index on, the cumulated number of minima is maximal, and ArgMax returns the
// first maximum.
Output LastNearest(const Scope& scope, const Output& rates, float wanted) {
  const Output distance = Distance(scope, rates, wanted);
  const Output is_nearest =
      ops::Equal(scope, distance, ops::Min(scope, distance, 0));
  const Output seen =
      ops::Cumsum(scope, ops::Cast(scope, is_nearest, DT_INT64), 0);
  return ops::ArgMax(scope, seen, 0);
}

Output RateAt(const Scope& scope, const char* name, const Output& index,
              const Output& right, const Output& wrong) {
  return Rate(scope, name, ops::Gather(scope, right, index),
              ops::Gather(scope, wrong, index));
}

Output Sensitivity(const Scope& scope, const char* name, const Counts& counts,
                   float specificity) {
  const Output specificities =
      Rate(scope, "truediv", counts.true_negatives, counts.false_positives);
  return RateAt(scope, name, FirstNearest(scope, specificities, specificity),
                counts.true_positives, counts.false_negatives);
}

Output Specificity(const Scope& scope, const char* name, const Counts& counts,
                   float sensitivity) {
  const Output sensitivities =
      Rate(scope, "truediv", counts.true_positives, counts.false_negatives);
  return RateAt(scope, name, LastNearest(scope, sensitivities, sensitivity),
                counts.true_negatives, counts.false_positives);
}

// Returns a metric at the threshold that `compute` selects for the rate
// `given`.
Metric AtRate(const Scope& scope, const char* name, const char* given_name,
              float given, double last_threshold, const Input& labels,
              const Input& predictions, const AtRateOptions& options,
              Output (*compute)(const Scope&, const char*, const Counts&,
                                float)) {
  if (!CheckNumThresholds(scope, name, options.num_thresholds)) return {};
  // The negation also rejects NaN.
  if (!(given >= 0 && given <= 1)) {
    scope.UpdateStatus(absl::InvalidArgumentError(absl::StrCat(
        name, ": ", given_name, " must be in [0, 1], not ", given)));
    return {};
  }
  const Scope inner = scope.CompositeScope(name);
  const CountedBatch counts = CountAtThresholds(
      inner, labels, predictions, options.weights,
      SpreadThresholds(options.num_thresholds, last_threshold), kAllCells);
  if (!scope.ok()) return {};
  const Metric metric{compute(inner, "value", counts.value, given),
                      compute(inner, "update_op", counts.updated, given)};
  return Collected(scope, metric, options.metrics_collection,
                   options.updates_collection);
}

}  // namespace

Metric PrecisionAtThresholds(const Scope& scope, const Input& labels,
                             const Input& predictions,
                             const Thresholds& thresholds,
                             const MetricOptions& options) {
  return ShareAtThresholds(scope, "precision_at_thresholds", "precision_",
                           &Counts::false_positives, labels, predictions,
                           thresholds, options);
}

Metric RecallAtThresholds(const Scope& scope, const Input& labels,
                          const Input& predictions,
                          const Thresholds& thresholds,
                          const MetricOptions& options) {
  return ShareAtThresholds(scope, "recall_at_thresholds", "recall_",
                           &Counts::false_negatives, labels, predictions,
                           thresholds, options);
}

Metric TruePositivesAtThresholds(const Scope& scope, const Input& labels,
                                 const Input& predictions,
                                 const Thresholds& thresholds,
                                 const MetricOptions& options) {
  return CellAtThresholds(scope, "true_positives", &Counts::true_positives,
                          labels, predictions, thresholds, options);
}

Metric FalseNegativesAtThresholds(const Scope& scope, const Input& labels,
                                  const Input& predictions,
                                  const Thresholds& thresholds,
                                  const MetricOptions& options) {
  return CellAtThresholds(scope, "false_negatives", &Counts::false_negatives,
                          labels, predictions, thresholds, options);
}

Metric TrueNegativesAtThresholds(const Scope& scope, const Input& labels,
                                 const Input& predictions,
                                 const Thresholds& thresholds,
                                 const MetricOptions& options) {
  return CellAtThresholds(scope, "true_negatives", &Counts::true_negatives,
                          labels, predictions, thresholds, options);
}

Metric FalsePositivesAtThresholds(const Scope& scope, const Input& labels,
                                  const Input& predictions,
                                  const Thresholds& thresholds,
                                  const MetricOptions& options) {
  return CellAtThresholds(scope, "false_positives", &Counts::false_positives,
                          labels, predictions, thresholds, options);
}

Metric SensitivityAtSpecificity(const Scope& scope, const Input& labels,
                                const Input& predictions, float specificity,
                                const AtRateOptions& options) {
  return AtRate(scope, "sensitivity_at_specificity", "specificity", specificity,
                1 + kBeyond, labels, predictions, options, Sensitivity);
}

Metric SpecificityAtSensitivity(const Scope& scope, const Input& labels,
                                const Input& predictions, float sensitivity,
                                const AtRateOptions& options) {
  // This last threshold is below 1; the last one of SensitivityAtSpecificity is
  // above 1.
  return AtRate(scope, "specificity_at_sensitivity", "sensitivity", sensitivity,
                1 - kBeyond, labels, predictions, options, Specificity);
}

}  // namespace weft::metrics
