// CountAtThresholds counts the cells of the confusion matrix of a stream of
// batches, at many thresholds at once. A prediction is positive if it is
// greater than the threshold.
//
// Errors stick to the scope. The functions are as thread-safe as the scope.
#ifndef WEFT_LIBS_TRAIN_LOSSES_METRIC_COUNTS_H_
#define WEFT_LIBS_TRAIN_LOSSES_METRIC_COUNTS_H_

#include <vector>

#include "absl/types/span.h"
#include "libs/ops/scope.h"

namespace weft::metrics {

// Distance between 0 and the first threshold, which is below 0.
inline constexpr double kBeyond = 1e-7;

// Counts holds one vector per cell of the confusion matrix, with one element
// per threshold; null if the cell is not counted.
struct Counts {
  Output true_positives;
  Output false_negatives;
  Output true_negatives;
  Output false_positives;
};
using CountedCell = Output Counts::*;
inline constexpr CountedCell kAllCells[] = {
    &Counts::true_positives, &Counts::false_negatives, &Counts::true_negatives,
    &Counts::false_positives};

struct CountedBatch {
  Counts value;    // counts of the previous batches
  Counts updated;  // counts including this batch
};

// Returns `count` thresholds: the first is just below 0, the last is `last`,
// and threshold i in between is i / (count - 1).
std::vector<float> SpreadThresholds(int count, double last);

// Returns false, with INVALID_ARGUMENT in the scope, if `count` is less than 2.
bool CheckNumThresholds(const Scope& scope, const char* metric, int count);

// Counts the given cells of the confusion matrix. `scope` is the scope of the
// metric and receives one variable for each of `cells`. Labels are converted to
// booleans. Predictions outside [0, 1] fail the step with INVALID_ARGUMENT.
CountedBatch CountAtThresholds(const Scope& scope, const Input& labels,
                               const Input& predictions, const Input& weights,
                               absl::Span<const float> thresholds,
                               absl::Span<const CountedCell> cells);

}  // namespace weft::metrics

#endif  // WEFT_LIBS_TRAIN_LOSSES_METRIC_COUNTS_H_
