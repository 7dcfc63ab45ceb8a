// Losses: what training makes small. Functions, node names, defaults and
// collections are those of tf.losses.
//
//   losses::SoftmaxCrossEntropy(scope, onehot_labels, logits);
//   Output total = losses::GetTotalLoss(scope);
//   train::GradientDescent(0.1f).Minimize(scope, total);
//
// Each adds itself to collection "losses". Weights are a scalar, or of the rank
// of the losses, with each dimension 1 or the same; weight 0 leaves an element
// out. Errors stick to the scope; outputs are null then. Threads: as the
// scope's.
#ifndef WEFT_LIBS_TRAIN_LOSSES_H_
#define WEFT_LIBS_TRAIN_LOSSES_H_

#include <string>
#include <vector>

#include "libs/ops/scope.h"
#include "libs/ops/state/variable_scope.h"

namespace weft::losses {

// How the losses of all elements become one.
enum class Reduction {
  kNone,  // they do not
  kSum,
  kMean,                 // their sum over the sum of weights
  kSumOverBatchSize,     // their sum over how many there are
  kSumByNonzeroWeights,  // their sum over how many have a weight that is not 0
};

struct LossOptions {
  Input weights = 1.0f;
  // Empty: none.
  std::string loss_collection = std::string(collection::kLosses);
  Reduction reduction = Reduction::kSumByNonzeroWeights;
};

// losses * weights, reduced.
Output ComputeWeightedLoss(const Scope& scope, const Input& losses,
                           const LossOptions& options = {});

// Labels and predictions have one shape.
Output AbsoluteDifference(const Scope& scope, const Input& labels,
                          const Input& predictions,
                          const LossOptions& options = {});
Output MeanSquaredError(const Scope& scope, const Input& labels,
                        const Input& predictions,
                        const LossOptions& options = {});
// Of probabilities; `epsilon` keeps the logarithm finite.
Output LogLoss(const Scope& scope, const Input& labels,
               const Input& predictions, const LossOptions& options = {},
               double epsilon = 1e-7);
// Labels are 0 or 1, logits of any size.
Output HingeLoss(const Scope& scope, const Input& labels, const Input& logits,
                 const LossOptions& options = {});
// Half the square of small errors; what lies beyond `delta` counts linearly.
Output HuberLoss(const Scope& scope, const Input& labels,
                 const Input& predictions, const LossOptions& options = {},
                 double delta = 1.0);
// 1 - the product of two unit vectors along `axis`.
Output CosineDistance(const Scope& scope, const Input& labels,
                      const Input& predictions, int axis,
                      const LossOptions& options = {});

// label_smoothing: moves labels so far towards 1/2.
Output SigmoidCrossEntropy(const Scope& scope, const Input& multi_class_labels,
                           const Input& logits, const LossOptions& options = {},
                           double label_smoothing = 0);
// label_smoothing: moves labels so far towards 1 / number of classes. No
// gradient flows into labels.
Output SoftmaxCrossEntropy(const Scope& scope, const Input& onehot_labels,
                           const Input& logits, const LossOptions& options = {},
                           double label_smoothing = 0);
// Labels are numbers of classes.
Output SparseSoftmaxCrossEntropy(const Scope& scope, const Input& labels,
                                 const Input& logits,
                                 const LossOptions& options = {});

std::vector<Output> GetLosses(
    const Scope& scope,
    absl::string_view loss_collection = collection::kLosses);
std::vector<Output> GetRegularizationLosses(const Scope& scope);
// The sum of those; 0 when there is none.
Output GetRegularizationLoss(const Scope& scope);
// The sum of all losses. INVALID_ARGUMENT when there is none.
Output GetTotalLoss(const Scope& scope, bool add_regularization_losses = true);

// For GetVariable: scale * sum(|w|), and scale * sum(w ^ 2) / 2. A scale of 0
// is no loss; one that is negative or not a finite number sticks to the scope
// of the variable as an error.
ops::Regularizer L1Regularizer(double scale);
ops::Regularizer L2Regularizer(double scale);

}  // namespace weft::losses

#endif  // WEFT_LIBS_TRAIN_LOSSES_H_
