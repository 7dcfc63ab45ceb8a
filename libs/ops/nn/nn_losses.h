// Cross entropies of logits, of any rank: functions that add several nodes,
// named as tf.nn names them. The ops that they are made of are in nn_ops.h.
//
//   Output loss = nn::SoftmaxCrossEntropyWithLogits(scope, labels, logits);
//
// Labels come before logits, as in TensorFlow. One loss for each example (the
// shape of logits without the classes) or, where classes do not exclude each
// other, for each element. In the formulas y is a label and x a logit.
// INVALID_ARGUMENT for other shapes.
// Errors stick to the scope; outputs are null then. Threads: as the scope's.
#ifndef WEFT_LIBS_OPS_NN_NN_LOSSES_H_
#define WEFT_LIBS_OPS_NN_NN_LOSSES_H_

#include "libs/ops/scope.h"

namespace weft::nn {

struct SoftmaxCrossEntropyOptions {
  int axis = -1;  // that of the classes; another one needs a known rank
};
// -sum(y * log(softmax(x))). Labels are distributions over the classes and have
// the shape of logits. No gradient flows into them.
Output SoftmaxCrossEntropyWithLogits(
    const Scope& scope, const Input& labels, const Input& logits,
    const SoftmaxCrossEntropyOptions& options = {});
// The same; gradients flow into labels, too.
Output SoftmaxCrossEntropyWithLogitsV2(
    const Scope& scope, const Input& labels, const Input& logits,
    const SoftmaxCrossEntropyOptions& options = {});
// -log(softmax(x)[y]). Labels are numbers of classes, int32 or int64; their
// rank is one less than that of logits. INVALID_ARGUMENT, with TensorFlow's
// text, otherwise.
Output SparseSoftmaxCrossEntropyWithLogits(const Scope& scope,
                                           const Input& labels,
                                           const Input& logits);

// Each element is a class of its own, with probability sigmoid(x):
// -y * log(sigmoid(x)) - (1 - y) * log(1 - sigmoid(x)), for any finite x.
Output SigmoidCrossEntropyWithLogits(const Scope& scope, const Input& labels,
                                     const Input& logits);
// The same with pos_weight * y in place of the first y: being wrong about a
// positive label costs so many times as much.
Output WeightedCrossEntropyWithLogits(const Scope& scope, const Input& labels,
                                      const Input& logits,
                                      const Input& pos_weight);

// Probabilities and their logarithms along `axis`; another one than the last
// needs a known rank.
Output Softmax(const Scope& scope, const Input& logits, int axis = -1);
Output LogSoftmax(const Scope& scope, const Input& logits, int axis = -1);

// Whether the target is among the k classes of the largest predictions.
Output InTopK(const Scope& scope, const Input& predictions,
              const Input& targets, const Input& k);

}  // namespace weft::nn

#endif  // WEFT_LIBS_OPS_NN_NN_LOSSES_H_
