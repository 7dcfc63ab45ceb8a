#include "libs/train/losses/losses.h"

#include <cmath>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/math/typed_inputs.h"
#include "libs/ops/nn/nn_losses.h"
#include "libs/ops/nn/nn_ops.h"
#include "libs/train/losses/label_shapes.h"

namespace weft::losses {
namespace {

// Returns the number of elements with a nonzero weight.
Output NumPresent(const Scope& scope, const Output& losses,
                  const Output& weights) {
  const Scope inner = scope.SubScope("num_present");
  const Output present =
      ops::Select(inner, ops::Equal(inner, weights, 0.0f),
                  ops::ZerosLike(inner.WithName("zeros_like"), weights),
                  ops::OnesLike(inner.WithName("ones_like"), weights));
  const Output counted = train::BroadcastWeights(inner, present, losses);
  const Output axes = ops::AllAxes(inner, counted);
  return ops::Sum(inner.WithName(inner.prefix()), counted, axes);
}

Output NumElements(const Scope& scope, const Output& losses) {
  const Scope inner = scope.SubScope("num_elements");
  return ops::Cast(inner, ops::Size(inner.WithName(inner.prefix()), losses),
                   DT_FLOAT);
}

// Returns the divisor of the sum of the losses; null if the sum is not divided.
Output Divisor(const Scope& scope, const Output& losses, const Output& weights,
               Reduction reduction) {
  switch (reduction) {
    case Reduction::kNone:
    case Reduction::kSum:
      return Output();
    case Reduction::kMean:
      return ops::SumAll(
          scope, ops::Mul(scope.WithName("mul"),
                          ops::OnesLike(scope.WithName("ones_like"), losses),
                          weights));
    case Reduction::kSumOverBatchSize:
      return NumElements(scope, losses);
    case Reduction::kSumByNonzeroWeights:
      return NumPresent(scope, losses, weights);
  }
  return Output();
}

// Returns the weighted and reduced loss. `scope` is the scope of the loss.
Output WeightedLoss(const Scope& scope, const Output& losses,
                    const LossOptions& options) {
  if (!scope.ok() || !losses) return Output();
  const DataType dtype = RemoveRefType(losses.dtype());
  const Output weights =
      ops::CastTo(scope, options.weights, DT_FLOAT, "weights");
  const Scope checked = train::WithWeightsChecked(scope, weights, losses);
  const Output wide = ops::CastTo(checked, losses, DT_FLOAT, "losses");
  Output loss = ops::Mul(checked, wide, weights);
  if (options.reduction != Reduction::kNone) {
    loss = ops::SumAll(checked, loss);
    const Output divisor = Divisor(checked, wide, weights, options.reduction);
    if (divisor) loss = ops::DivNoNan(checked.WithName("value"), loss, divisor);
  }
  if (!scope.ok()) return Output();
  loss = ops::CastTo(checked, loss, dtype, "loss");
  if (loss && !options.loss_collection.empty()) {
    scope.AddToCollection(options.loss_collection, loss);
  }
  return loss;
}

// Pair holds two float tensors of the same shape.
struct Pair {
  Output labels;
  Output predictions;
  explicit operator bool() const { return labels && predictions; }
};

Pair FloatPair(const Scope& scope, const Input& labels,
               const Input& predictions) {
  const Output p = ops::CastTo(scope, predictions, DT_FLOAT, "predictions");
  const Output y = ops::CastTo(scope, labels, DT_FLOAT, "labels");
  if (!ops::CheckSameShape(scope, p, y)) return {};
  return {y, p};
}

// Returns a loss of float labels and predictions of the same shape. `element`
// computes the loss of each element.
Output ElementwiseLoss(
    const Scope& scope, absl::string_view name, const Input& labels,
    const Input& predictions, const LossOptions& options,
    absl::FunctionRef<Output(const Scope&, const Pair&)> element) {
  const Scope inner = scope.CompositeScope(name);
  const Pair pair = FloatPair(inner, labels, predictions);
  if (!pair) return Output();
  return WeightedLoss(inner, element(inner, pair), options);
}

// Converts labels to the type of the logits.
Pair LogitPair(const Scope& scope, const Input& labels, const Input& logits) {
  const Output x = ops::AsTensor(scope, logits, DT_FLOAT, "logits");
  if (!x) return {};
  const Output y =
      ops::CastTo(scope, labels, RemoveRefType(x.dtype()), "labels");
  if (!ops::CheckSameShape(scope, x, y)) return {};
  return {y, x};
}

}  // namespace

Output ComputeWeightedLoss(const Scope& scope, const Input& losses,
                           const LossOptions& options) {
  const Scope inner = scope.CompositeScope("weighted_loss");
  return WeightedLoss(inner, ops::AsTensor(inner, losses, DT_FLOAT, "losses"),
                      options);
}

Output AbsoluteDifference(const Scope& scope, const Input& labels,
                          const Input& predictions,
                          const LossOptions& options) {
  return ElementwiseLoss(scope, "absolute_difference", labels, predictions,
                         options, [](const Scope& at, const Pair& pair) {
                           return ops::Abs(
                               at, ops::Sub(at, pair.predictions, pair.labels));
                         });
}

Output MeanSquaredError(const Scope& scope, const Input& labels,
                        const Input& predictions, const LossOptions& options) {
  return ElementwiseLoss(scope, "mean_squared_error", labels, predictions,
                         options, [](const Scope& at, const Pair& pair) {
                           return ops::SquaredDifference(at, pair.predictions,
                                                         pair.labels);
                         });
}

Output LogLoss(const Scope& scope, const Input& labels,
               const Input& predictions, const LossOptions& options,
               double epsilon) {
  return ElementwiseLoss(
      scope, "log_loss", labels, predictions, options,
      [epsilon](const Scope& at, const Pair& pair) {
        const Scope add = at.WithName("add"), sub = at.WithName("sub");
        const Output& p = pair.predictions;
        const Output yes = ops::Mul(at, pair.labels,
                                    ops::Log(at, ops::AddV2(add, p, epsilon)));
        const Output negative = ops::Neg(at, yes);
        const Output is_no = ops::Sub(sub, 1.0f, pair.labels);
        const Output log_no =
            ops::Log(at, ops::AddV2(add, ops::Sub(sub, 1.0f, p), epsilon));
        return ops::Sub(sub, negative, ops::Mul(at, is_no, log_no));
      });
}

Output HingeLoss(const Scope& scope, const Input& labels, const Input& logits,
                 const LossOptions& options) {
  return ElementwiseLoss(
      scope, "hinge_loss", labels, logits, options,
      [](const Scope& at, const Pair& pair) {
        const Output ones =
            ops::OnesLike(at.WithName("ones_like"), pair.labels);
        // Maps labels 0 and 1 to -1 and 1.
        const Output sign =
            ops::Sub(at, ops::Mul(at.WithName("mul"), 2.0f, pair.labels), ones);
        const Output margin = ops::Mul(at, sign, pair.predictions);
        return ops::Relu(at, ops::Sub(at, ones, margin));
      });
}

Output HuberLoss(const Scope& scope, const Input& labels,
                 const Input& predictions, const LossOptions& options,
                 double delta) {
  return ElementwiseLoss(scope, "huber_loss", labels, predictions, options,
                         [delta](const Scope& at, const Pair& pair) {
                           const Output error = ops::Abs(
                               at, ops::Sub(at, pair.predictions, pair.labels));
                           const Output small = ops::Minimum(at, error, delta);
                           const Output beyond = ops::Sub(at, error, small);
                           const Output square =
                               ops::Mul(at, 0.5f, ops::Mul(at, small, small));
                           return ops::AddV2(at.WithName("Add"), square,
                                             ops::Mul(at, delta, beyond));
                         });
}

Output CosineDistance(const Scope& scope, const Input& labels,
                      const Input& predictions, int axis,
                      const LossOptions& options) {
  return ElementwiseLoss(scope, "cosine_distance_loss", labels, predictions,
                         options, [axis](const Scope& at, const Pair& pair) {
                           const Output products =
                               ops::Mul(at, pair.predictions, pair.labels);
                           const Output cosine = ops::Sum(at, products, {axis},
                                                          {.keep_dims = true});
                           return ops::Sub(at.WithName("sub"), 1.0f, cosine);
                         });
}

Output SigmoidCrossEntropy(const Scope& scope, const Input& multi_class_labels,
                           const Input& logits, const LossOptions& options,
                           double label_smoothing) {
  const Scope inner = scope.CompositeScope("sigmoid_cross_entropy_loss");
  const Pair pair = LogitPair(inner, multi_class_labels, logits);
  if (!pair) return Output();
  Output labels = pair.labels;
  if (label_smoothing > 0) {
    labels =
        ops::AddV2(inner.WithName("add"),
                   ops::Mul(inner.WithName("mul"), labels, 1 - label_smoothing),
                   0.5 * label_smoothing);
  }
  return WeightedLoss(inner,
                      nn::SigmoidCrossEntropyWithLogits(
                          inner.WithName("xentropy"), labels, pair.predictions),
                      options);
}

namespace {

// Returns the number of classes: the size of dimension 1, as in TensorFlow.
Output NumClasses(const Scope& scope, const Output& labels) {
  const Output size = ops::StridedSlice(scope.WithName("strided_slice"),
                                        ops::Shape(scope, labels), {1}, {2},
                                        {1}, {.shrink_axis_mask = 1});
  return ops::Cast(scope, size, RemoveRefType(labels.dtype()));
}

Output Smoothed(const Scope& scope, const Output& labels, double smoothing) {
  const Output share = ops::RealDiv(scope.WithName("truediv"), smoothing,
                                    NumClasses(scope, labels));
  return ops::AddV2(scope.WithName("add"),
                    ops::Mul(scope.WithName("mul"), labels, 1 - smoothing),
                    share);
}

}  // namespace

Output SoftmaxCrossEntropy(const Scope& scope, const Input& onehot_labels,
                           const Input& logits, const LossOptions& options,
                           double label_smoothing) {
  const Scope inner = scope.CompositeScope("softmax_cross_entropy_loss");
  const Pair pair = LogitPair(inner, onehot_labels, logits);
  if (!pair) return Output();
  const Output smoothed = label_smoothing > 0
                              ? Smoothed(inner, pair.labels, label_smoothing)
                              : pair.labels;
  const Output labels =
      ops::StopGradient(inner.WithName("labels_stop_gradient"), smoothed);
  return WeightedLoss(inner,
                      nn::SoftmaxCrossEntropyWithLogitsV2(
                          inner.WithName("xentropy"), labels, pair.predictions),
                      options);
}

Output SparseSoftmaxCrossEntropy(const Scope& scope, const Input& labels,
                                 const Input& logits,
                                 const LossOptions& options) {
  const Scope inner = scope.CompositeScope("sparse_softmax_cross_entropy_loss");
  const Output y = ops::AsTensor(inner, labels, DT_INT32, "labels");
  const Output x = ops::AsTensor(inner, logits, DT_FLOAT, "logits");
  const auto pair = train::RemoveSqueezableDimensions(inner, y, x, 1);
  if (!pair.labels) return Output();
  LossOptions weighted = options;
  const Output weights =
      ops::AsTensor(inner, options.weights, DT_FLOAT, "Const");
  // Each label has one weight. The weights may still have the last dimension of
  // size 1 that was removed from the labels.
  const bool is_column =
      weights && weights.shape().has_rank() && pair.labels.shape().has_rank() &&
      weights.shape().rank() == pair.labels.shape().rank() + 1;
  weighted.weights =
      is_column ? train::MatchRank(inner, weights, pair.labels) : weights;
  return WeightedLoss(inner,
                      nn::SparseSoftmaxCrossEntropyWithLogits(
                          inner.WithName("xentropy"), pair.labels, x),
                      weighted);
}

std::vector<Output> GetLosses(const Scope& scope,
                              absl::string_view loss_collection) {
  return scope.GetCollection(loss_collection);
}

std::vector<Output> GetRegularizationLosses(const Scope& scope) {
  return scope.GetCollection(collection::kRegularizationLosses);
}

namespace {

// Returns the sum of tensors like tf.add_n: the sum of one tensor is the tensor
// itself.
Output SumOf(const Scope& scope, const std::vector<Output>& parts,
             absl::string_view name) {
  const Scope named = scope.own_name().empty() ? scope.WithName(name) : scope;
  if (parts.size() == 1) return ops::Identity(named, parts[0]);
  return ops::AddN(named, InputList(parts.begin(), parts.end()));
}

}  // namespace

Output GetRegularizationLoss(const Scope& scope) {
  const std::vector<Output> parts = GetRegularizationLosses(scope);
  if (parts.empty()) return ops::Const(scope, 0.0f);
  return SumOf(scope, parts, "total_regularization_loss");
}

Output GetTotalLoss(const Scope& scope, bool add_regularization_losses) {
  std::vector<Output> parts = GetLosses(scope);
  if (add_regularization_losses) {
    for (const Output& loss : GetRegularizationLosses(scope)) {
      parts.push_back(loss);
    }
  }
  if (!parts.empty()) return SumOf(scope, parts, "total_loss");
  scope.UpdateStatus(absl::InvalidArgumentError(
      "total_loss: collection 'losses' is empty: Inputs must be an iterable of "
      "at least one Tensor/IndexedSlices with the same dtype and shape."));
  return Output();
}

namespace {

// Returns whether the regularizer adds a loss: false if `scale` is 0, or
// invalid, which is an error in the scope.
bool CheckScale(const Scope& scope, double scale) {
  if (!(scale >= 0) || std::isinf(scale)) {
    scope.UpdateStatus(absl::InvalidArgumentError(
        absl::StrCat("Setting a scale less than 0 on a regularizer: ", scale)));
  }
  return scope.ok() && scale != 0;
}

}  // namespace

ops::Regularizer L1Regularizer(double scale) {
  return [scale](const Scope& scope, Output value) {
    if (!CheckScale(scope, scale)) return Output();
    const Scope inner = scope.CompositeScope("l1_regularizer");
    return ops::Mul(inner.WithName(inner.prefix()),
                    ops::SumAll(inner, ops::Abs(inner, value)), scale);
  };
}

ops::Regularizer L2Regularizer(double scale) {
  return [scale](const Scope& scope, Output value) {
    if (!CheckScale(scope, scale)) return Output();
    const Scope inner = scope.CompositeScope("l2_regularizer");
    return ops::Mul(inner.WithName(inner.prefix()), ops::L2Loss(inner, value),
                    scale);
  };
}

}  // namespace weft::losses
