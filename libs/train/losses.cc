#include "libs/train/losses.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "libs/ops/array_ops.h"
#include "libs/ops/math_ops.h"
#include "libs/ops/nn_losses.h"
#include "libs/ops/nn_ops.h"
#include "libs/ops/typed_inputs.h"
#include "libs/train/label_shapes.h"

namespace weft::losses {
namespace {

Output SumAll(const Scope& scope, const Output& x, const std::string& name) {
  const Output axes = ops::AllAxes(scope, x);
  return ops::Sum(name.empty() ? scope : scope.WithName(name), x, axes);
}

// How many elements have a weight that is not 0.
Output NumPresent(const Scope& scope, const Output& losses,
                  const Output& weights) {
  const Scope inner = scope.SubScope("num_present");
  const Output present =
      ops::Select(inner, ops::Equal(inner, weights, 0.0f),
                  ops::ZerosLike(inner.WithName("zeros_like"), weights),
                  ops::OnesLike(inner.WithName("ones_like"), weights));
  return SumAll(inner, train::BroadcastWeights(inner, present, losses),
                inner.prefix());
}

Output NumElements(const Scope& scope, const Output& losses) {
  const Scope inner = scope.SubScope("num_elements");
  return ops::Cast(inner, ops::Size(inner.WithName(inner.prefix()), losses),
                   DT_FLOAT);
}

// What the sum of the losses is divided by; null: nothing.
Output Divisor(const Scope& scope, const Output& losses, const Output& weights,
               Reduction reduction) {
  switch (reduction) {
    case Reduction::kNone:
    case Reduction::kSum:
      return Output();
    case Reduction::kMean:
      return SumAll(
          scope,
          ops::Mul(scope.WithName("mul"),
                   ops::OnesLike(scope.WithName("ones_like"), losses), weights),
          "");
    case Reduction::kSumOverBatchSize:
      return NumElements(scope, losses);
    case Reduction::kSumByNonzeroWeights:
      return NumPresent(scope, losses, weights);
  }
  return Output();
}

// In the scope of the loss.
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
    loss = SumAll(checked, loss, "");
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

// Two tensors of one shape, both floats.
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

// Labels in the type of the logits.
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
  const Scope inner = scope.CompositeScope("absolute_difference");
  const Pair pair = FloatPair(inner, labels, predictions);
  if (!pair) return Output();
  return WeightedLoss(
      inner, ops::Abs(inner, ops::Sub(inner, pair.predictions, pair.labels)),
      options);
}

Output MeanSquaredError(const Scope& scope, const Input& labels,
                        const Input& predictions, const LossOptions& options) {
  const Scope inner = scope.CompositeScope("mean_squared_error");
  const Pair pair = FloatPair(inner, labels, predictions);
  if (!pair) return Output();
  return WeightedLoss(
      inner, ops::SquaredDifference(inner, pair.predictions, pair.labels),
      options);
}

Output LogLoss(const Scope& scope, const Input& labels,
               const Input& predictions, const LossOptions& options,
               double epsilon) {
  const Scope inner = scope.CompositeScope("log_loss");
  const Pair pair = FloatPair(inner, labels, predictions);
  if (!pair) return Output();
  const Scope add = inner.WithName("add"), sub = inner.WithName("sub");
  const Output& p = pair.predictions;
  const Output yes = ops::Mul(inner, pair.labels,
                              ops::Log(inner, ops::AddV2(add, p, epsilon)));
  const Output negative = ops::Neg(inner, yes);
  const Output is_no = ops::Sub(sub, 1.0f, pair.labels);
  const Output log_no =
      ops::Log(inner, ops::AddV2(add, ops::Sub(sub, 1.0f, p), epsilon));
  return WeightedLoss(
      inner, ops::Sub(sub, negative, ops::Mul(inner, is_no, log_no)), options);
}

Output HingeLoss(const Scope& scope, const Input& labels, const Input& logits,
                 const LossOptions& options) {
  const Scope inner = scope.CompositeScope("hinge_loss");
  const Pair pair = FloatPair(inner, labels, logits);
  if (!pair) return Output();
  const Output ones = ops::OnesLike(inner.WithName("ones_like"), pair.labels);
  // 0 and 1 become -1 and 1.
  const Output sign =
      ops::Sub(inner, ops::Mul(inner.WithName("mul"), 2.0f, pair.labels), ones);
  const Output margin = ops::Mul(inner, sign, pair.predictions);
  return WeightedLoss(inner, ops::Relu(inner, ops::Sub(inner, ones, margin)),
                      options);
}

Output HuberLoss(const Scope& scope, const Input& labels,
                 const Input& predictions, const LossOptions& options,
                 double delta) {
  const Scope inner = scope.CompositeScope("huber_loss");
  const Pair pair = FloatPair(inner, labels, predictions);
  if (!pair) return Output();
  const Output error =
      ops::Abs(inner, ops::Sub(inner, pair.predictions, pair.labels));
  const Output small = ops::Minimum(inner, error, delta);
  const Output beyond = ops::Sub(inner, error, small);
  const Output square = ops::Mul(inner, 0.5f, ops::Mul(inner, small, small));
  return WeightedLoss(
      inner,
      ops::AddV2(inner.WithName("Add"), square, ops::Mul(inner, delta, beyond)),
      options);
}

Output CosineDistance(const Scope& scope, const Input& labels,
                      const Input& predictions, int axis,
                      const LossOptions& options) {
  const Scope inner = scope.CompositeScope("cosine_distance_loss");
  const Pair pair = FloatPair(inner, labels, predictions);
  if (!pair) return Output();
  const Output products = ops::Mul(inner, pair.predictions, pair.labels);
  const Output cosine = ops::Sum(inner, products, {axis}, {.keep_dims = true});
  return WeightedLoss(inner, ops::Sub(inner.WithName("sub"), 1.0f, cosine),
                      options);
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

// How many classes: the size of dimension 1, as TensorFlow counts them.
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
  // One weight for each label, which may have kept the dimension too many.
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

// As add_n: the sum of one is that one.
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

// False: there is no loss, or an error.
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
                    SumAll(inner, ops::Abs(inner, value), ""), scale);
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
