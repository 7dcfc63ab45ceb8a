// How shapes of labels, predictions and weights go together in losses and
// metrics. Rules and texts are TensorFlow's.
//
// Errors stick to the scope; what is returned is null then. Threads: as the
// scope's.
#ifndef WEFT_LIBS_TRAIN_LABEL_SHAPES_H_
#define WEFT_LIBS_TRAIN_LABEL_SHAPES_H_

#include "libs/ops/scope.h"

namespace weft::train {

// `scope` with the dependency that holds a step to this: `weights` is a scalar,
// or has the rank of `values` and in each dimension 1 or its size. What is
// known while the graph is built is checked at once; INVALID_ARGUMENT "weights
// can not be broadcast to values...".
Scope WithWeightsChecked(const Scope& scope, const Output& weights,
                         const Output& values);

// `weights` repeated to the shape of `values`.
Output BroadcastWeights(const Scope& scope, const Output& weights,
                        const Output& values);

struct LabelsAndPredictions {
  Output labels;
  Output predictions;
};
// Drops a last dimension of size 1 from the one that has a rank too many;
// `rank_difference`: of predictions over labels, as it should be. Unknown ranks
// are left as they are.
LabelsAndPredictions RemoveSqueezableDimensions(const Scope& scope,
                                                const Output& labels,
                                                const Output& predictions,
                                                int rank_difference = 0);

// `x` with a last dimension of size 1 dropped, or added, where that gives it
// the rank of `values`.
Output MatchRank(const Scope& scope, const Output& x, const Output& values);

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_LABEL_SHAPES_H_
