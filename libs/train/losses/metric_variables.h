// Shared building blocks of metrics: local variables, batches of matching
// shapes, and collections.
//
// Errors stick to the scope. Threads: as the scope's.
#ifndef WEFT_LIBS_TRAIN_LOSSES_METRIC_VARIABLES_H_
#define WEFT_LIBS_TRAIN_LOSSES_METRIC_VARIABLES_H_

#include <string>

#include "libs/ops/scope.h"
#include "libs/ops/state/variable.h"
#include "libs/train/losses/metrics.h"

namespace weft::metrics {

// Creates a float variable of zeros in the collections of local and of metric
// variables.
ops::Variable MetricVariable(const Scope& scope, absl::string_view name,
                             const TensorShape& shape = {});

// Returns whether the input was not given, so that it has neither a value nor
// an output.
bool IsNull(const Input& input);

// Batch holds labels and predictions of one shape and weights of their rank.
struct Batch {
  Output labels;
  Output predictions;
  Output weights;  // null: all count once
  explicit operator bool() const { return labels && predictions; }
};
// `scope` receives the nodes that drop dimensions of size 1.
Batch MatchShapes(const Scope& scope, const Output& labels,
                  const Output& predictions, const Input& weights);

// Adds the metric to the collections if it is valid, and returns it.
Metric Collected(const Scope& scope, const Metric& metric,
                 const std::string& metrics_collection,
                 const std::string& updates_collection);

}  // namespace weft::metrics

#endif  // WEFT_LIBS_TRAIN_LOSSES_METRIC_VARIABLES_H_
