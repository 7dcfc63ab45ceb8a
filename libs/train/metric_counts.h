// CountAtThresholds counts the cells of the confusion matrix of a stream of
// batches, at many thresholds at once. A prediction is positive if it is
// greater than the threshold.
//
// Errors stick to the scope. Threads: as the scope's.
#ifndef WEFT_LIBS_TRAIN_METRIC_COUNTS_H_
#define WEFT_LIBS_TRAIN_METRIC_COUNTS_H_

#include <vector>

#include "absl/types/span.h"
#include "libs/ops/scope.h"

namespace weft::metrics {

// How far the first threshold lies below 0.
inline constexpr double kBeyond = 1e-7;

// Which cells are counted.
struct Cells {
  bool true_positives = false;
  bool false_negatives = false;
  bool true_negatives = false;
  bool false_positives = false;
};
inline constexpr Cells kAllCells = {true, true, true, true};

// Vectors with one element per threshold; null if the cell is not counted.
struct Counts {
  Output true_positives;
  Output false_negatives;
  Output true_negatives;
  Output false_positives;
};

struct CountedBatch {
  Counts value;    // of the batches before
  Counts updated;  // with this batch
  bool is_complete = false;
  explicit operator bool() const { return is_complete; }
};

// `count` thresholds: one just below 0, i / (count - 1) in between, and `last`.
std::vector<float> SpreadThresholds(int count, double last);

// False, with INVALID_ARGUMENT in the scope, if there are fewer than 2.
bool CheckNumThresholds(const Scope& scope, const char* metric, int count);

// `scope`: the scope of the metric, which gets one variable per cell. Labels
// are taken as booleans. Predictions beyond [0, 1] fail the step with
// INVALID_ARGUMENT.
CountedBatch CountAtThresholds(const Scope& scope, const Input& labels,
                               const Input& predictions, const Input& weights,
                               absl::Span<const float> thresholds,
                               const Cells& cells);

}  // namespace weft::metrics

#endif  // WEFT_LIBS_TRAIN_METRIC_COUNTS_H_
