// Metrics over a stream of batches: how good a model is on all that it has
// seen. Functions, names of nodes and variables, defaults and collections are
// those of tf.metrics.
//
//   metrics::Metric accuracy = metrics::Accuracy(scope, labels, predictions);
//   session->Run(ops::LocalVariablesInitializer(scope));
//   for each batch: session->Run(accuracy.update_op);
//   session->Run(accuracy.value);
//
// The counts are local variables ("accuracy/total", "accuracy/count") in the
// collections "local_variables" and "metric_variables"; initialising them
// begins anew. Weights are a scalar, or of the rank of the values, with each
// dimension 1 or the same; null: 1.
// Errors stick to the scope; outputs are null then. Threads: as the scope's.
#ifndef WEFT_LIBS_TRAIN_METRICS_H_
#define WEFT_LIBS_TRAIN_METRICS_H_

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
  // Where value and update_op are added; empty: nowhere.
  std::string metrics_collection;
  std::string updates_collection;
};

// sum(weights * values) / sum(weights), 0 of nothing; that is the mean below.
Metric Mean(const Scope& scope, const Input& values,
            const MetricOptions& options = {});
// The mean of 1 where predictions are equal to labels, and 0 elsewhere.
Metric Accuracy(const Scope& scope, const Input& labels,
                const Input& predictions, const MetricOptions& options = {});
// The mean over the classes of the share of each one's labels that predictions
// are equal to, 0 of a class that has not come. Labels are in [0, num_classes);
// weights are null, or have their shape.
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
// Its square root.
Metric RootMeanSquaredError(const Scope& scope, const Input& labels,
                            const Input& predictions,
                            const MetricOptions& options = {});

// Labels and predictions are taken as booleans from here on (0 is false); each
// counts as much as its weight.
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
// True positives among what was predicted to be positive; 0 of nothing.
Metric Precision(const Scope& scope, const Input& labels,
                 const Input& predictions, const MetricOptions& options = {});
// True positives among what is positive; 0 of nothing.
Metric Recall(const Scope& scope, const Input& labels, const Input& predictions,
              const MetricOptions& options = {});

// The metrics above at each of `thresholds`, which is not empty: values are
// vectors with one element per threshold. A prediction is positive if it is
// greater than the threshold; labels are taken as booleans. Predictions beyond
// [0, 1] fail the step with INVALID_ARGUMENT, also in the metrics below.
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
// The share of positive labels that are predicted to be positive, at the lowest
// threshold at which the specificity is nearest to the given one, in [0, 1].
Metric SensitivityAtSpecificity(const Scope& scope, const Input& labels,
                                const Input& predictions, float specificity,
                                const AtRateOptions& options = {});
// The share of negative labels that are predicted to be negative, at the
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
// 0, i / (num_thresholds - 1), and 1e-7 above 1. A prediction is positive where
// it is greater than the threshold; labels are taken as booleans. Predictions
// beyond [0, 1] fail the step with INVALID_ARGUMENT.
Metric Auc(const Scope& scope, const Input& labels, const Input& predictions,
           const AucOptions& options = {});

}  // namespace weft::metrics

#endif  // WEFT_LIBS_TRAIN_METRICS_H_
