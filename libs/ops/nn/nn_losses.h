// Cross entropies of logits of any rank. The functions add several nodes each,
// with the names of tf.nn, and are built from ops of nn_ops.h.
//
//   Output loss = nn::SoftmaxCrossEntropyWithLogits(scope, labels, logits);
//
// Labels come before logits, as in TensorFlow. There is one loss for each
// example (the shape of logits without the classes), or for each element if
// classes are not exclusive. In the formulas y is a label and x a logit.
// INVALID_ARGUMENT for other shapes. Errors stick to the scope; outputs are
// then null. Threads: as for the scope.
#ifndef WEFT_LIBS_OPS_NN_NN_LOSSES_H_
#define WEFT_LIBS_OPS_NN_NN_LOSSES_H_

#include "libs/ops/scope.h"

namespace weft::nn {

struct SoftmaxCrossEntropyOptions {
  int axis = -1;  // of the classes; others need a known rank
};
// -sum(y * log(softmax(x))). Labels are distributions over the classes with the
// shape of logits. No gradient flows into them.
Output SoftmaxCrossEntropyWithLogits(
    const Scope& scope, const Input& labels, const Input& logits,
    const SoftmaxCrossEntropyOptions& options = {});
// Like SoftmaxCrossEntropyWithLogits, with gradients into labels, too.
Output SoftmaxCrossEntropyWithLogitsV2(
    const Scope& scope, const Input& labels, const Input& logits,
    const SoftmaxCrossEntropyOptions& options = {});
// -log(softmax(x)[y]). Labels are class numbers, int32 or int64, with a rank
// one less than that of logits; otherwise INVALID_ARGUMENT with TensorFlow's
// text.
Output SparseSoftmaxCrossEntropyWithLogits(const Scope& scope,
                                           const Input& labels,
                                           const Input& logits);

// Each element is an independent class with probability sigmoid(x): -y *
// log(sigmoid(x)) - (1 - y) * log(1 - sigmoid(x)), for any finite x.
Output SigmoidCrossEntropyWithLogits(const Scope& scope, const Input& labels,
                                     const Input& logits);
// Like SigmoidCrossEntropyWithLogits, with pos_weight * y in place of the first
// y: errors on positive labels have this weight.
Output WeightedCrossEntropyWithLogits(const Scope& scope, const Input& labels,
                                      const Input& logits,
                                      const Input& pos_weight);

// Probabilities and their logarithms along `axis`; axes other than the last
// need a known rank.
Output Softmax(const Scope& scope, const Input& logits, int axis = -1);
Output LogSoftmax(const Scope& scope, const Input& logits, int axis = -1);

// Returns whether the target is among the k classes with the largest
// predictions.
Output InTopK(const Scope& scope, const Input& predictions,
              const Input& targets, const Input& k);

}  // namespace weft::nn

#endif  // WEFT_LIBS_OPS_NN_NN_LOSSES_H_
