#include "libs/ops/nn/nn_losses.h"

#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/math/typed_inputs.h"
#include "libs/ops/nn/nn_ops.h"

namespace weft::nn {
namespace {

// Low-precision types are computed in float.
DataType PreciseType(DataType dtype) {
  const DataType plain = RemoveRefType(dtype);
  return plain == DT_HALF || plain == DT_BFLOAT16 ? DT_FLOAT : plain;
}

void Fail(const Scope& scope, const std::string& text) {
  scope.UpdateStatus(absl::InvalidArgumentError(text));
}

// The permutation that swaps `axis` and the last dimension; empty if they are
// the same, nullopt after an error.
std::optional<std::vector<int32_t>> LastAxisPermutation(const Scope& scope,
                                                        const Output& x,
                                                        int axis) {
  if (!scope.ok() || !x) return std::nullopt;
  if (axis == -1) return std::vector<int32_t>();
  if (!x.shape().has_rank()) {
    Fail(scope, absl::StrCat("axis must be -1 because the rank of '", x.name(),
                             "' is unknown, but is ", axis));
    return std::nullopt;
  }
  const int rank = x.shape().rank();
  if (axis < -rank || axis >= rank) {
    Fail(scope, absl::StrCat("axis (", axis, ") must be in the range [", -rank,
                             ", ", rank, ") where ", rank,
                             " is the number of dimensions in the input"));
    return std::nullopt;
  }
  if (axis < 0) axis += rank;
  if (axis == rank - 1) return std::vector<int32_t>();
  std::vector<int32_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[axis], order[rank - 1]);
  return order;
}

Output Permuted(const Scope& scope, const Output& x,
                const std::vector<int32_t>& order) {
  if (order.empty()) return x;
  return ops::Transpose(scope.WithName("transpose"), x,
                        Tensor::Vector(absl::Span<const int32_t>(order)));
}

// The sizes of all dimensions but the last.
Output OuterShape(const Scope& scope, const Output& x) {
  const Output shape = ops::Shape(scope, x);
  if (x && x.shape().has_rank()) {
    return ops::Slice(scope, shape, ops::Ints({0}),
                      ops::Ints({x.shape().rank() - 1}));
  }
  return ops::StridedSlice(scope, shape, ops::Ints({0}), ops::Ints({-1}),
                           ops::Ints({1}));
}

// All dimensions but the last joined.
Output FlattenOuter(const Scope& scope, const Output& x) {
  if (!scope.ok()) return Output();
  const PartialShape& shape = x.shape();
  if (shape.has_rank() && shape.dim(shape.rank() - 1) >= 0 &&
      shape.dim(shape.rank() - 1) <= INT32_MAX) {
    const auto classes = static_cast<int32_t>(shape.dim(shape.rank() - 1));
    return ops::Reshape(scope, x, ops::Ints({-1, classes}));
  }
  const Output last =
      ops::StridedSlice(scope, ops::Shape(scope, x), ops::Ints({-1}),
                        ops::Ints({INT32_MAX}), ops::Ints({1}));
  return ops::Reshape(
      scope, x,
      ops::Concat(scope.WithName("concat"), {ops::Ints({-1}), last}, 0));
}

bool CheckNotScalar(const Scope& scope, const Output& logits) {
  if (!scope.ok() || !logits) return false;
  if (!logits.shape().has_rank() || logits.shape().rank() > 0) return true;
  Fail(scope, absl::StrCat("`logits` cannot be a scalar. Received logits=",
                           logits.name()));
  return false;
}

// Added in the scope of the loss; the op has the scope's name.
Output DenseCrossEntropy(const Scope& inner, const Output& labels,
                         const Output& logits, int axis) {
  if (!CheckNotScalar(inner, logits) ||
      !ops::CheckSameShape(inner, logits, labels)) {
    return Output();
  }
  const DataType dtype = RemoveRefType(logits.dtype());
  const DataType precise = PreciseType(dtype);
  const auto order = LastAxisPermutation(inner, logits, axis);
  if (!order) return Output();
  const Output x = Permuted(inner, ops::InType(inner, logits, precise), *order);
  const Output y = Permuted(inner, ops::InType(inner, labels, precise), *order);
  const Output outer = OuterShape(inner, x);
  const Output flat_x = FlattenOuter(inner, x);
  const Output flat_y = FlattenOuter(inner, y);
  const Output loss = ops::SoftmaxCrossEntropyWithLogits(
                          inner.WithName(inner.prefix()), flat_x, flat_y)
                          .loss;
  return ops::InType(inner, ops::Reshape(inner, loss, outer), dtype);
}

}  // namespace

Output SoftmaxCrossEntropyWithLogits(
    const Scope& scope, const Input& labels, const Input& logits,
    const SoftmaxCrossEntropyOptions& options) {
  const Scope inner =
      scope.CompositeScope("softmax_cross_entropy_with_logits_sg");
  const Output x = ops::AsTensor(inner, logits, DT_FLOAT, "logits");
  const Output y = ops::AsTensor(inner, labels, DT_FLOAT, "labels");
  const Output fixed =
      ops::StopGradient(inner.WithName("labels_stop_gradient"), y);
  return DenseCrossEntropy(inner, fixed, x, options.axis);
}

Output SoftmaxCrossEntropyWithLogitsV2(
    const Scope& scope, const Input& labels, const Input& logits,
    const SoftmaxCrossEntropyOptions& options) {
  const Scope inner = scope.CompositeScope("softmax_cross_entropy_with_logits");
  const Output x = ops::AsTensor(inner, logits, DT_FLOAT, "logits");
  const Output y = ops::AsTensor(inner, labels, DT_FLOAT, "labels");
  return DenseCrossEntropy(inner, y, x, options.axis);
}

namespace {

bool CheckSparseLabels(const Scope& scope, const PartialShape& labels,
                       const PartialShape& logits) {
  if (!labels.has_rank() || !logits.has_rank()) return true;
  if (labels.rank() != logits.rank() - 1) {
    Fail(scope,
         absl::StrCat("`labels.shape.rank` must equal `logits.shape.rank - 1`. "
                      "Received: labels.shape=",
                      labels.ToString(), " of rank ", labels.rank(),
                      " and logits.shape=", logits.ToString(), " of rank ",
                      logits.rank()));
    return false;
  }
  PartialShape outer;
  outer = PartialShape::Scalar();
  for (int i = 0; i < labels.rank(); ++i) outer.AddDim(logits.dim(i));
  if (labels.IsCompatibleWith(outer)) return true;
  Fail(scope, absl::StrCat("`labels.shape` must equal `logits.shape` except "
                           "for the last dimension. Received: labels.shape=",
                           labels.ToString(),
                           " and logits.shape=", logits.ToString()));
  return false;
}

}  // namespace

Output SparseSoftmaxCrossEntropyWithLogits(const Scope& scope,
                                           const Input& labels,
                                           const Input& logits) {
  const Scope inner =
      scope.CompositeScope("SparseSoftmaxCrossEntropyWithLogits");
  const Output y = ops::AsTensor(inner, labels, DT_INT32, "labels");
  const Output x = ops::AsTensor(inner, logits, DT_FLOAT, "logits");
  if (!CheckNotScalar(inner, x) ||
      !CheckSparseLabels(inner, y.shape(), x.shape())) {
    return Output();
  }
  // Inside the scope, the op has the name given for the loss.
  const Scope named = inner.WithName(scope.own_name().empty()
                                         ? "SparseSoftmaxCrossEntropyWithLogits"
                                         : scope.own_name());
  const DataType dtype = RemoveRefType(x.dtype());
  const Output precise = ops::InType(inner, x, PreciseType(dtype));
  if (x.shape().has_rank() && x.shape().rank() == 2) {
    return ops::InType(
        inner, ops::SparseSoftmaxCrossEntropyWithLogits(named, precise, y).loss,
        dtype);
  }
  const Output shape = ops::Shape(inner, y);
  const Output flat_x = FlattenOuter(inner, precise);
  const Output flat_y = ops::Reshape(inner, y, ops::Ints({-1}));
  const Output loss =
      ops::SparseSoftmaxCrossEntropyWithLogits(named, flat_x, flat_y).loss;
  return ops::InType(inner, ops::Reshape(inner, loss, shape), dtype);
}

namespace {

bool CheckLogistic(const Scope& scope, const Output& labels,
                   const Output& logits) {
  if (!scope.ok() || !labels || !logits) return false;
  if (logits.shape().IsCompatibleWith(labels.shape())) return true;
  Fail(scope,
       absl::StrCat(
           "`logits` and `labels` must have the same shape, received (",
           logits.shape().ToString(), " vs ", labels.shape().ToString(), ")."));
  return false;
}

}  // namespace

// max(x, 0) - x * y + log(1 + exp(-|x|)), which does not overflow. -|x| and
// max(x, 0) use the same condition, so that the gradient at 0 is correct.
Output SigmoidCrossEntropyWithLogits(const Scope& scope, const Input& labels,
                                     const Input& logits) {
  const Scope inner = scope.CompositeScope("logistic_loss");
  const Output x = ops::AsTensor(inner, logits, DT_FLOAT, "logits");
  const Output y = ops::AsTensor(inner, labels, DT_FLOAT, "labels");
  if (!CheckLogistic(inner, y, x)) return Output();
  const Output zeros = ops::ZerosLike(inner.WithName("zeros_like"), x);
  const Output positive = ops::GreaterEqual(inner, x, zeros);
  const Output relu = ops::Select(inner, positive, x, zeros);
  const Output minus_abs = ops::Select(inner, positive, ops::Neg(inner, x), x);
  const Output linear = ops::Sub(inner.WithName("sub"), relu,
                                 ops::Mul(inner.WithName("mul"), x, y));
  return ops::AddV2(inner.WithName(inner.prefix()), linear,
                    ops::Log1p(inner, ops::Exp(inner, minus_abs)));
}

Output WeightedCrossEntropyWithLogits(const Scope& scope, const Input& labels,
                                      const Input& logits,
                                      const Input& pos_weight) {
  const Scope inner = scope.CompositeScope("logistic_loss");
  const Output x = ops::AsTensor(inner, logits, DT_FLOAT, "logits");
  const Output y = ops::AsTensor(inner, labels, DT_FLOAT, "labels");
  if (!CheckLogistic(inner, y, x)) return Output();
  const Scope sub = inner.WithName("sub"), mul = inner.WithName("mul"),
              add = inner.WithName("add");
  const Output weight =
      ops::AsTensor(inner, pos_weight, RemoveRefType(x.dtype()), "pos_weight");
  const Output log_weight =
      ops::AddV2(add, 1.0f, ops::Mul(mul, ops::Sub(sub, weight, 1.0f), y));
  const Output linear = ops::Mul(mul, ops::Sub(sub, 1.0f, y), x);
  const Output curved =
      ops::Log1p(inner, ops::Exp(inner, ops::Neg(inner, ops::Abs(inner, x))));
  const Output both =
      ops::AddV2(add, curved, ops::Relu(inner, ops::Neg(inner, x)));
  return ops::AddV2(inner.WithName(inner.prefix()), linear,
                    ops::Mul(mul, log_weight, both));
}

namespace {

// Applies `last`, a function on the last dimension, to `axis`.
Output AlongAxis(const Scope& scope, const Input& logits, int axis,
                 Output (*last)(const Scope&, const Input&)) {
  const Output x =
      ops::AsTensor(scope.WithName(""), logits, DT_FLOAT, "logits");
  const auto order = LastAxisPermutation(scope, x, axis);
  if (!order) return Output();
  return Permuted(scope, last(scope, Permuted(scope, x, *order)), *order);
}

}  // namespace

Output Softmax(const Scope& scope, const Input& logits, int axis) {
  return AlongAxis(scope, logits, axis, ops::Softmax);
}

Output LogSoftmax(const Scope& scope, const Input& logits, int axis) {
  return AlongAxis(scope, logits, axis, ops::LogSoftmax);
}

Output InTopK(const Scope& scope, const Input& predictions,
              const Input& targets, const Input& k) {
  return ops::InTopKV2(scope.CompositeScope("in_top_k"), predictions, targets,
                       k);
}

}  // namespace weft::nn
