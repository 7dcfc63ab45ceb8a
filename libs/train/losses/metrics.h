// Streaming metrics: they measure a model over a stream of batches. Functions,
// names of nodes and variables, defaults and collections are those of
// tf.metrics.
//
//   metrics::Metric accuracy = metrics::Accuracy(scope, labels, predictions);
//   session->Run(ops::LocalVariablesInitializer(scope));
//   for each batch: session->Run(accuracy.update_op);
//   session->Run(accuracy.value);
//
// The counts are local variables ("accuracy/total", "accuracy/count") in the
// collections "local_variables" and "metric_variables"; initializing them
// resets the metric. Weights are a scalar, or of the rank of the values, with
// each dimension 1 or the same; null: 1. Errors stick to the scope; outputs are
// null then. Threads: as the scope's.
#ifndef WEFT_LIBS_TRAIN_LOSSES_METRICS_H_
#define WEFT_LIBS_TRAIN_LOSSES_METRICS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libs/ops/scope.h"

namespace weft::metrics {

// The collection of the variables of all metrics.
inline constexpr absl::string_view kMetricVariables = "metric_variables";

struct Metric {
  Output value;      // of all batches so far
  Output update_op;  // counts this batch, and gives the value with it
};

struct MetricOptions {
  Input weights = Output();
  // The collections that receive value and update_op; empty for no collection.
  std::string metrics_collection;
  std::string updates_collection;
};

// sum(weights * values) / sum(weights), 0 if there is no value. "Mean" below
// refers to this.
Metric Mean(const Scope& scope, const Input& values,
            const MetricOptions& options = {});
// The mean of 1 where predictions are equal to labels, and 0 elsewhere.
Metric Accuracy(const Scope& scope, const Input& labels,
                const Input& predictions, const MetricOptions& options = {});
// Mean over the classes of the fraction of each class's labels that predictions
// match; 0 for a class without labels. Labels are in [0, num_classes); weights
// are null, or have the shape of labels.
Metric MeanPerClassAccuracy(const Scope& scope, const Input& labels,
                            const Input& predictions, int64_t num_classes,
                            const MetricOptions& options = {});
// The mean of |predictions - labels|.
Metric MeanAbsoluteError(const Scope& scope, const Input& labels,
                         const Input& predictions,
                         const MetricOptions& options = {});
// The mean of (predictions - labels) ^ 2.
Metric MeanSquaredError(const Scope& scope, const Input& labels,
                        const Input& predictions,
                        const MetricOptions& options = {});
// Square root of MeanSquaredError.
Metric RootMeanSquaredError(const Scope& scope, const Input& labels,
                            const Input& predictions,
                            const MetricOptions& options = {});

// From here on labels and predictions are converted to booleans (0 is false);
// each counts by its weight.
Metric TruePositives(const Scope& scope, const Input& labels,
                     const Input& predictions,
                     const MetricOptions& options = {});
Metric FalsePositives(const Scope& scope, const Input& labels,
                      const Input& predictions,
                      const MetricOptions& options = {});
Metric TrueNegatives(const Scope& scope, const Input& labels,
                     const Input& predictions,
                     const MetricOptions& options = {});
Metric FalseNegatives(const Scope& scope, const Input& labels,
                      const Input& predictions,
                      const MetricOptions& options = {});
// True positives divided by predicted positives; 0 if there are none.
Metric Precision(const Scope& scope, const Input& labels,
                 const Input& predictions, const MetricOptions& options = {});
// True positives divided by actual positives; 0 if there are none.
Metric Recall(const Scope& scope, const Input& labels, const Input& predictions,
              const MetricOptions& options = {});

// The metrics above at each of `thresholds`, which must not be empty: values
// are vectors with one element per threshold. A prediction is positive if it is
// greater than the threshold; labels are converted to booleans. Predictions
// outside [0, 1] fail the step with INVALID_ARGUMENT, here and in the metrics
// below.
Metric PrecisionAtThresholds(const Scope& scope, const Input& labels,
                             const Input& predictions,
                             const std::vector<float>& thresholds,
                             const MetricOptions& options = {});
Metric RecallAtThresholds(const Scope& scope, const Input& labels,
                          const Input& predictions,
                          const std::vector<float>& thresholds,
                          const MetricOptions& options = {});
Metric TruePositivesAtThresholds(const Scope& scope, const Input& labels,
                                 const Input& predictions,
                                 const std::vector<float>& thresholds,
                                 const MetricOptions& options = {});
Metric FalsePositivesAtThresholds(const Scope& scope, const Input& labels,
                                  const Input& predictions,
                                  const std::vector<float>& thresholds,
                                  const MetricOptions& options = {});
Metric TrueNegativesAtThresholds(const Scope& scope, const Input& labels,
                                 const Input& predictions,
                                 const std::vector<float>& thresholds,
                                 const MetricOptions& options = {});
Metric FalseNegativesAtThresholds(const Scope& scope, const Input& labels,
                                  const Input& predictions,
                                  const std::vector<float>& thresholds,
                                  const MetricOptions& options = {});

struct AtRateOptions {
  Input weights = Output();
  int num_thresholds = 200;  // at least 2, spread evenly over [0, 1]
  std::string metrics_collection;
  std::string updates_collection;
};
// The sensitivity (fraction of positive labels predicted positive) at the
// lowest threshold at which the specificity is nearest to the given one, in [0,
// 1].
Metric SensitivityAtSpecificity(const Scope& scope, const Input& labels,
                                const Input& predictions, float specificity,
                                const AtRateOptions& options = {});
// The specificity (fraction of negative labels predicted negative) at the
// highest threshold at which the sensitivity is nearest to the given one, in
// [0, 1].
Metric SpecificityAtSensitivity(const Scope& scope, const Input& labels,
                                const Input& predictions, float sensitivity,
                                const AtRateOptions& options = {});

enum class Curve {
  kRoc,  // recall over the rate of false positives
  kPr,   // precision over recall
};
enum class SummationMethod {
  kTrapezoidal,
  kMinoring,              // the lower end of each interval
  kMajoring,              // the upper end
  kCarefulInterpolation,  // counts are linear in between; trapezoidal for kRoc
};
struct AucOptions {
  Input weights = Output();
  int num_thresholds = 200;  // at least 2
  Curve curve = Curve::kRoc;
  SummationMethod summation_method = SummationMethod::kTrapezoidal;
  std::string metrics_collection;
  std::string updates_collection;
};
// The area under a curve, approximated at num_thresholds thresholds: 1e-7 below
// 0, i / (num_thresholds - 1), and 1e-7 above 1. A prediction is positive if it
// is greater than the threshold; labels are converted to booleans. Predictions
// outside [0, 1] fail the step with INVALID_ARGUMENT.
Metric Auc(const Scope& scope, const Input& labels, const Input& predictions,
           const AucOptions& options = {});

}  // namespace weft::metrics

#endif  // WEFT_LIBS_TRAIN_LOSSES_METRICS_H_
