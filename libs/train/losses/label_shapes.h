// Shape rules for labels, predictions and weights in losses and metrics. The
// rules and error texts are TensorFlow's.
//
// Errors stick to the scope; results are null then. The functions are as
// thread-safe as the scope.
#ifndef WEFT_LIBS_TRAIN_LOSSES_LABEL_SHAPES_H_
#define WEFT_LIBS_TRAIN_LOSSES_LABEL_SHAPES_H_

#include "libs/ops/scope.h"

namespace weft::train {

// Returns `scope` with a control dependency that checks `weights` at run time:
// `weights` must be a scalar, or have the rank of `values`, where each
// dimension is 1 or the dimension of `values`. Shapes known at graph
// construction are checked at once. The error is INVALID_ARGUMENT "weights can
// not be broadcast to values...".
Scope WithWeightsChecked(const Scope& scope, const Output& weights,
                         const Output& values);

// Returns `weights` broadcast to the shape of `values`.
Output BroadcastWeights(const Scope& scope, const Output& weights,
                        const Output& values);

struct LabelsAndPredictions {
  Output labels;
  Output predictions;
};
// Returns both tensors. If one rank is one too high, the last dimension of that
// tensor, of size 1, is dropped. `rank_difference` is the expected rank of
// predictions minus that of labels. Tensors of unknown rank are unchanged.
LabelsAndPredictions RemoveSqueezableDimensions(const Scope& scope,
                                                const Output& labels,
                                                const Output& predictions,
                                                int rank_difference = 0);

// Returns `x` with a last dimension of size 1 dropped or added, if that gives
// it the rank of `values`.
Output MatchRank(const Scope& scope, const Output& x, const Output& values);

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_LOSSES_LABEL_SHAPES_H_
