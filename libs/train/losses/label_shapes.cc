#include "libs/train/losses/label_shapes.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/control/logging_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/math/typed_inputs.h"

namespace weft::train {
namespace {

constexpr char kPrefix[] = "weights can not be broadcast to values.";

enum class Fit { kYes, kNo, kUnknown };

struct Compatibility {
  Fit fit;
  std::string reason;  // why the shapes are incompatible, if kNo
};

// Checks the statically known shapes: can `weights` be broadcast to `values`?
Compatibility CheckStatically(const PartialShape& weights,
                              const PartialShape& values) {
  if (!weights.has_rank()) return {Fit::kUnknown, ""};
  if (weights.rank() == 0) return {Fit::kYes, ""};
  if (!values.has_rank()) return {Fit::kUnknown, ""};
  const std::string shapes =
      absl::StrCat(" values.shape=", values.ToString(),
                   ", weights.shape=", weights.ToString(), ".");
  if (weights.rank() != values.rank()) {
    return {Fit::kNo,
            absl::StrCat(kPrefix, " values.rank=", values.rank(),
                         ". weights.rank=", weights.rank(), ".", shapes)};
  }
  Fit fit = Fit::kYes;
  for (int i = 0; i < values.rank(); ++i) {
    if (weights.dim(i) == 1) continue;
    if (weights.dim(i) < 0 || values.dim(i) < 0) {
      fit = Fit::kUnknown;
    } else if (weights.dim(i) != values.dim(i)) {
      return {Fit::kNo,
              absl::StrCat(kPrefix, " Mismatch at dim ", i, ".", shapes)};
    }
  }
  return {fit, ""};
}

// Checks in each step that `weights` can be broadcast to `values`.
Operation AssertBroadcastable(const Scope& scope, const Output& weights,
                              const Output& values) {
  const Scope w = scope.SubScope("weights"), v = scope.SubScope("values");
  const Output weights_shape = ops::Shape(w.WithName("shape"), weights);
  const Output weights_rank = ops::Rank(w.WithName("rank"), weights);
  const Output values_shape = ops::Shape(v.WithName("shape"), values);
  const Output values_rank = ops::Rank(v.WithName("rank"), values);
  const Output is_scalar =
      ops::Equal(scope.WithName("is_scalar"), weights_rank, 0);
  const Output same_rank =
      ops::Equal(scope.WithName("is_same_rank"), weights_rank, values_rank);
  // If the ranks differ, Equal returns false here instead of failing.
  // is_same_rank covers that case.
  const Output same_sizes = ops::Equal(scope, weights_shape, values_shape,
                                       {.incompatible_shape_error = false});
  const Output ones = ops::Equal(scope, weights_shape, 1);
  const Output each_fits = ops::LogicalOr(scope, ones, same_sizes);
  const Output all_fit = ops::All(
      scope, each_fits, ops::Range(scope, 0, ops::Rank(scope, each_fits), 1));
  const Output valid =
      ops::LogicalOr(scope.WithName("is_valid_shape"), is_scalar,
                     ops::LogicalAnd(scope, same_rank, all_fit));
  return ops::Assert(scope, valid,
                     {kPrefix, "weights.shape=", weights_shape,
                      "values.shape=", values_shape});
}

}  // namespace

Scope WithWeightsChecked(const Scope& scope, const Output& weights,
                         const Output& values) {
  if (!scope.ok() || !weights || !values) return scope;
  const Scope inner = scope.SubScope("assert_broadcastable");
  const Compatibility compatibility =
      CheckStatically(weights.shape(), values.shape());
  if (compatibility.fit == Fit::kNo) {
    scope.UpdateStatus(absl::InvalidArgumentError(compatibility.reason));
  }
  if (compatibility.fit != Fit::kUnknown) return scope;
  const Operation check = AssertBroadcastable(inner, weights, values);
  return check ? scope.WithControlDependencies({check}) : scope;
}

Output BroadcastWeights(const Scope& scope, const Output& weights,
                        const Output& values) {
  if (!scope.ok() || !weights || !values) return Output();
  const PartialShape& shape = weights.shape();
  if (shape.IsFullyDefined() && values.shape().IsFullyDefined() &&
      shape.IsCompatibleWith(values.shape())) {
    return weights;
  }
  const Scope inner = scope.CompositeScope("broadcast_weights");
  const Scope checked = WithWeightsChecked(inner, weights, values);
  const Output ones =
      ops::CastTo(checked, ops::OnesLike(checked.WithName("ones_like"), values),
                  RemoveRefType(weights.dtype()), "values");
  return ops::Mul(checked.WithName(inner.prefix()), weights, ones);
}

namespace {

bool LastIsOne(const Output& x) {
  const PartialShape& shape = x.shape();
  return shape.rank() > 0 &&
         (shape.dim(shape.rank() - 1) == 1 || shape.dim(shape.rank() - 1) < 0);
}

Output DropLast(const Scope& scope, const Output& x) {
  return ops::Squeeze(scope, x, {.axis = {-1}});
}

}  // namespace

LabelsAndPredictions RemoveSqueezableDimensions(const Scope& scope,
                                                const Output& labels,
                                                const Output& predictions,
                                                int rank_difference) {
  if (!scope.ok() || !labels || !predictions) return {};
  if (!labels.shape().has_rank() || !predictions.shape().has_rank()) {
    return {labels, predictions};
  }
  const int more =
      predictions.shape().rank() - labels.shape().rank() - rank_difference;
  if (more == 1 && LastIsOne(predictions)) {
    const Scope inner = scope.SubScope("remove_squeezable_dimensions");
    return {labels, DropLast(inner, predictions)};
  }
  if (more == -1 && LastIsOne(labels)) {
    const Scope inner = scope.SubScope("remove_squeezable_dimensions");
    return {DropLast(inner, labels), predictions};
  }
  return {labels, predictions};
}

Output MatchRank(const Scope& scope, const Output& x, const Output& values) {
  if (!scope.ok() || !x || !values) return Output();
  if (!x.shape().has_rank() || !values.shape().has_rank() ||
      x.shape().rank() == 0) {
    return x;
  }
  const int more = x.shape().rank() - values.shape().rank();
  if (more == 1 && LastIsOne(x)) return DropLast(scope, x);
  if (more == -1) return ops::ExpandDims(scope, x, -1);
  return x;
}

}  // namespace weft::train
