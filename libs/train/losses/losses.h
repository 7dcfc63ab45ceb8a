// Losses, which training minimizes. Functions, node names, defaults and
// collections are those of tf.losses.
//
//   losses::SoftmaxCrossEntropy(scope, onehot_labels, logits);
//   Output total = losses::GetTotalLoss(scope);
//   train::GradientDescent(0.1f).Minimize(scope, total);
//
// Each loss is added to collection "losses". Formulas are for one element; y is
// a label, p a prediction, x a logit. They are computed in floats, cross
// entropies in the type of the logits; labels are cast. Labels and predictions
// must have the same shape unless stated otherwise; INVALID_ARGUMENT if not.
//
// Weights are a scalar, or have the rank of the losses and in each dimension
// size 1 or the size of the losses. Weight 0 excludes an element. A loss that
// is divided by a sum or count of 0 is 0. Errors stick to the scope; outputs
// are null then. Threads: as the scope's.
#ifndef WEFT_LIBS_TRAIN_LOSSES_LOSSES_H_
#define WEFT_LIBS_TRAIN_LOSSES_LOSSES_H_

#include <string>
#include <vector>

#include "libs/ops/scope.h"
#include "libs/ops/state/variable_scope.h"

namespace weft::losses {

// Reduction combines the losses of all elements into one.
enum class Reduction {
  kNone,  // keeps the losses of all elements
  kSum,
  kMean,                 // weighted sum / sum of weights
  kSumOverBatchSize,     // weighted sum / number of losses
  kSumByNonzeroWeights,  // weighted sum / number of nonzero weights
};

struct LossOptions {
  Input weights = 1.0f;
  // The collection that receives the loss; empty for no collection.
  std::string loss_collection = std::string(collection::kLosses);
  Reduction reduction = Reduction::kSumByNonzeroWeights;
};

// Returns losses * weights, reduced.
Output ComputeWeightedLoss(const Scope& scope, const Input& losses,
                           const LossOptions& options = {});

// |p - y|
Output AbsoluteDifference(const Scope& scope, const Input& labels,
                          const Input& predictions,
                          const LossOptions& options = {});
// (p - y) ^ 2
Output MeanSquaredError(const Scope& scope, const Input& labels,
                        const Input& predictions,
                        const LossOptions& options = {});
// -y * log(p + epsilon) - (1 - y) * log(1 - p + epsilon); p is a probability.
Output LogLoss(const Scope& scope, const Input& labels,
               const Input& predictions, const LossOptions& options = {},
               double epsilon = 1e-7);
// max(0, 1 - (2 * y - 1) * x); y is 0 or 1.
Output HingeLoss(const Scope& scope, const Input& labels, const Input& logits,
                 const LossOptions& options = {});
// e ^ 2 / 2 for an error e = |p - y| up to `delta`, and
// delta * e - delta ^ 2 / 2 beyond.
Output HuberLoss(const Scope& scope, const Input& labels,
                 const Input& predictions, const LossOptions& options = {},
                 double delta = 1.0);
// 1 - sum(p * y) along `axis`, whose size becomes 1: the cosine distance of
// vectors that already have length 1.
Output CosineDistance(const Scope& scope, const Input& labels,
                      const Input& predictions, int axis,
                      const LossOptions& options = {});

// nn::SigmoidCrossEntropyWithLogits, one loss for each element.
// label_smoothing: y becomes y * (1 - label_smoothing) + label_smoothing / 2.
Output SigmoidCrossEntropy(const Scope& scope, const Input& multi_class_labels,
                           const Input& logits, const LossOptions& options = {},
                           double label_smoothing = 0);
// One loss per row of classes, the last dimension. label_smoothing: y becomes y
// * (1 - label_smoothing) + label_smoothing / number of classes, the size of
// dimension 1. Gradients do not flow into labels.
Output SoftmaxCrossEntropy(const Scope& scope, const Input& onehot_labels,
                           const Input& logits, const LossOptions& options = {},
                           double label_smoothing = 0);
// Labels are class indices, of the shape of logits without the last dimension;
// a last dimension of 1 in labels or weights is dropped.
Output SparseSoftmaxCrossEntropy(const Scope& scope, const Input& labels,
                                 const Input& logits,
                                 const LossOptions& options = {});

std::vector<Output> GetLosses(
    const Scope& scope,
    absl::string_view loss_collection = collection::kLosses);
std::vector<Output> GetRegularizationLosses(const Scope& scope);
// Returns the sum of all regularization losses; 0 if there is none.
Output GetRegularizationLoss(const Scope& scope);
// Returns the sum of all losses. INVALID_ARGUMENT if there is none.
Output GetTotalLoss(const Scope& scope, bool add_regularization_losses = true);

// Regularizers for GetVariable: scale * sum(|w|), and scale * sum(w ^ 2) / 2. A
// scale of 0 gives no loss; a negative or non-finite scale is an error of the
// variable's scope.
ops::Regularizer L1Regularizer(double scale);
ops::Regularizer L2Regularizer(double scale);

}  // namespace weft::losses

#endif  // WEFT_LIBS_TRAIN_LOSSES_LOSSES_H_
