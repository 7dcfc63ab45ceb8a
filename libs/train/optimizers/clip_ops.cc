#include "libs/train/optimizers/clip_ops.h"

#include "absl/strings/str_cat.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/math/typed_inputs.h"

namespace weft::train {
namespace {

// Returns false, with an error in the scope, if `t` is null.
bool CheckTensor(const Scope& scope, const Output& t) {
  if (scope.ok() && !t) {
    scope.UpdateStatus(
        absl::InvalidArgumentError("the tensor to be clipped is null"));
  }
  return scope.ok();
}

// Returns `after`. Returns null, with an error in the scope, if `after` cannot
// have the shape of `t`, because a bound must not broadcast `t`.
Output OfShape(const Scope& scope, const Output& after, const Output& t) {
  return ops::CheckSameShape(scope, after, t) ? after : Output();
}

// Returns the tensor to clip: a dense gradient, or the rows of a sparse
// gradient.
const Output& ValuesOf(const Gradient& gradient) {
  return gradient.IsSparse() ? gradient.values : gradient.dense;
}

Gradient WithValues(const Gradient& gradient, const Output& values) {
  Gradient result = gradient;
  (gradient.IsSparse() ? result.values : result.dense) = values;
  return result;
}

Output AxesOf(const Scope& scope, const Output& t,
              const std::vector<int32_t>& axes) {
  if (axes.empty()) return ops::AllAxes(scope, t);
  return ops::Const(scope.WithName("Sum/reduction_indices"),
                    Tensor::Vector(absl::Span<const int32_t>(axes)));
}

// Returns the square root. Its gradient is 0 where `squares` is 0.
Output SafeNorm(const Scope& scope, const Output& squares) {
  const Output some = ops::Greater(scope, squares, 0.0f);
  const Output safe =
      ops::Select(scope, some, squares,
                  ops::OnesLike(scope.WithName("ones_like"), squares));
  return ops::Select(scope, some, ops::Sqrt(scope, safe), squares);
}

}  // namespace

Output ClipByValue(const Scope& scope, const Output& t,
                   const Input& clip_value_min, const Input& clip_value_max) {
  if (!CheckTensor(scope, t)) return Output();
  const Scope inner = scope.CompositeScope("clip_by_value");
  const Output below =
      OfShape(inner, ops::Minimum(inner, t, clip_value_max), t);
  return OfShape(
      inner,
      ops::Maximum(inner.WithName(inner.prefix()), below, clip_value_min), t);
}

Gradient ClipByValue(const Scope& scope, const Gradient& t,
                     const Input& clip_value_min, const Input& clip_value_max) {
  return WithValues(
      t, ClipByValue(scope, ValuesOf(t), clip_value_min, clip_value_max));
}

Output ClipByNorm(const Scope& scope, const Output& t, const Input& clip_norm,
                  const std::vector<int32_t>& axes) {
  if (!CheckTensor(scope, t)) return Output();
  const Scope inner = scope.CompositeScope("clip_by_norm");
  const Output norm =
      SafeNorm(inner, ops::Sum(inner, ops::Mul(inner.WithName("mul"), t, t),
                               AxesOf(inner, t, axes), {.keep_dims = true}));
  const Output scaled =
      OfShape(inner, ops::Mul(inner.WithName("mul"), t, clip_norm), t);
  const Output clipped = ops::RealDiv(inner.WithName("truediv"), scaled,
                                      ops::Maximum(inner, norm, clip_norm));
  return ops::Identity(inner.WithName(inner.prefix()), clipped);
}

Gradient ClipByNorm(const Scope& scope, const Gradient& t,
                    const Input& clip_norm, const std::vector<int32_t>& axes) {
  return WithValues(t, ClipByNorm(scope, ValuesOf(t), clip_norm, axes));
}

Output ClipByAverageNorm(const Scope& scope, const Output& t,
                         const Input& clip_norm) {
  if (!CheckTensor(scope, t)) return Output();
  const Scope inner = scope.CompositeScope("clip_by_average_norm");
  const Scope mul = inner.WithName("mul"), div = inner.WithName("truediv");
  const DataType dtype = RemoveRefType(t.dtype());
  const Output count = ops::Cast(inner, ops::Size(inner, t), dtype);
  const Output inverse_norm = ops::Rsqrt(
      inner, ops::Sum(inner, ops::Mul(mul, t, t), ops::AllAxes(inner, t)));
  const Output bound = ops::AsTensor(inner, clip_norm, dtype, "clip_norm");
  const Output scaled = ops::Mul(mul, t, bound);
  const Output factor = ops::Minimum(inner, ops::Mul(mul, inverse_norm, count),
                                     ops::RealDiv(div, 1.0f, bound));
  return ops::Identity(inner.WithName(inner.prefix()),
                       ops::Mul(mul, scaled, factor));
}

Output GlobalNorm(const Scope& scope, const std::vector<Gradient>& t_list) {
  if (!scope.ok()) return Output();
  const Scope inner = scope.CompositeScope("global_norm");
  InputList halves;
  DataType dtype = DT_FLOAT;
  for (const Gradient& t : t_list) {
    if (t.IsNone()) continue;
    const Scope beside = inner.ColocateWith(ValuesOf(t));
    halves.push_back(ops::L2Loss(beside, ValuesOf(t)));
    dtype = RemoveRefType(ValuesOf(t).dtype());
  }
  if (halves.empty()) {
    scope.UpdateStatus(absl::InvalidArgumentError(
        "global_norm: t_list holds no tensor: all gradients are None"));
    return Output();
  }
  const Output sum =
      ops::Sum(inner, ops::Stack(inner.WithName("stack"), halves), {0});
  const Output two = ops::AsTensor(inner, 2.0, dtype, "Const");
  return ops::Sqrt(inner.WithName("global_norm"),
                   ops::Mul(inner.WithName("mul"), sum, two));
}

namespace {

// Returns the factor for all gradients: clip_norm / max(norm, clip_norm), or
// NaN if the norm is not finite.
Output GlobalScale(const Scope& scope, const Output& norm,
                   const Input& clip_norm) {
  if (!scope.ok()) return Output();
  const DataType dtype = RemoveRefType(norm.dtype());
  const Scope mul = scope.WithName("mul"), div = scope.WithName("truediv");
  const Output bound = ops::AsTensor(scope, clip_norm, dtype, "clip_norm");
  const Output least = ops::Minimum(scope, ops::RealDiv(div, 1.0f, norm),
                                    ops::RealDiv(div, 1.0f, bound));
  const Output zero = ops::Sub(scope.WithName("sub"), norm, norm);
  return ops::Mul(mul, bound, ops::AddV2(scope.WithName("add"), least, zero));
}

}  // namespace

ClippedByGlobalNorm ClipByGlobalNorm(const Scope& scope,
                                     const std::vector<Gradient>& t_list,
                                     const Input& clip_norm,
                                     const Output& use_norm) {
  ClippedByGlobalNorm result;
  result.list.resize(t_list.size());
  result.global_norm =
      use_norm ? use_norm : GlobalNorm(scope.WithName(""), t_list);
  if (!scope.ok()) return result;
  const Scope inner = scope.CompositeScope("clip_by_global_norm");
  const Output scale = GlobalScale(inner, result.global_norm, clip_norm);
  for (size_t i = 0; i < t_list.size() && scope.ok(); ++i) {
    if (t_list[i].IsNone()) continue;
    const Output& values = ValuesOf(t_list[i]);
    const Scope beside = inner.ColocateWith(values);
    const Output clipped = ops::Mul(beside.WithName("mul"), values, scale);
    // As in TensorFlow, names contain the scope twice.
    result.list[i] = WithValues(
        t_list[i],
        ops::Identity(beside.WithName(absl::StrCat(inner.prefix(), "_", i)),
                      clipped));
  }
  return result;
}

}  // namespace weft::train
