#include "libs/ops/nn/nn.h"

#include "absl/strings/str_cat.h"
#include "libs/ops/adapt_value.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/math/typed_inputs.h"
#include "libs/ops/random/random_ops.h"

namespace weft::nn {
namespace {

bool IsShort(DataType dtype) {
  return dtype == DT_HALF || dtype == DT_BFLOAT16;
}

bool IsNull(const Input& input) { return !input.value() && !input.output(); }

Tensor AxesTensor(const std::vector<int32_t>& axes) {
  return Tensor::Vector(absl::Span<const int32_t>(axes));
}

// Removes the reduced dimensions unless they are kept, and casts back.
MeanAndVariance Finish(const Scope& scope, Output mean, Output variance,
                       const std::vector<int32_t>& axes,
                       const MomentsOptions& options, DataType dtype) {
  if (!options.keep_dims && !axes.empty()) {
    const std::vector<int64_t> squeezed(axes.begin(), axes.end());
    mean = ops::Squeeze(scope, mean, {.axis = squeezed});
    variance = ops::Squeeze(scope, variance, {.axis = squeezed});
  }
  return {ops::InType(scope, mean, dtype), ops::InType(scope, variance, dtype)};
}

}  // namespace

MeanAndVariance Moments(const Scope& scope, const Input& x,
                        const std::vector<int32_t>& axes,
                        const MomentsOptions& options) {
  const Scope inner = scope.CompositeScope("moments");
  const Output given = ops::AsTensor(inner, x, DT_FLOAT, "x");
  if (!given) return {};
  const DataType dtype = RemoveRefType(given.dtype());
  const Output y = IsShort(dtype) ? ops::InType(inner, given, DT_FLOAT) : given;
  const Tensor along = AxesTensor(axes);
  const Output mean =
      ops::Mean(inner.WithName("mean"), y, along, {.keep_dims = true});
  const Output squares =
      ops::SquaredDifference(inner, y, ops::StopGradient(inner, mean));
  const Output variance = ops::Mean(inner.WithName("variance"), squares, along,
                                    {.keep_dims = true});
  return Finish(inner, mean, variance, axes, options, dtype);
}

MeanAndVariance WeightedMoments(const Scope& scope, const Input& x,
                                const std::vector<int32_t>& axes,
                                const Input& frequency_weights,
                                const MomentsOptions& options) {
  const Scope inner = scope.CompositeScope("weighted_moments");
  const Output given = ops::AsTensor(inner, x, DT_FLOAT, "x");
  if (!given) return {};
  const DataType dtype = RemoveRefType(given.dtype());
  const Output y = IsShort(dtype) ? ops::InType(inner, given, DT_FLOAT) : given;
  const Output weights = ops::CastTo(
      inner, frequency_weights, RemoveRefType(y.dtype()), "frequency_weights");
  const Tensor along = AxesTensor(axes);
  const Scope mul = inner.WithName("mul"), div = inner.WithName("div_no_nan");
  const Output total =
      ops::Sum(inner.WithName("weighted_input_sum"), ops::Mul(mul, weights, y),
               along, {.keep_dims = true});
  const Output spread =
      ops::AddV2(inner.WithName("add"), weights,
                 ops::ZerosLike(inner.WithName("zeros_like"), y));
  if (!ops::CheckSameShape(inner, spread, y)) return {};
  const Output count = ops::Sum(inner.WithName("sum_of_weights"), spread, along,
                                {.keep_dims = true});
  const Output mean = ops::DivNoNan(div, total, count);
  const Output squares =
      ops::Mul(mul, weights, ops::SquaredDifference(inner, y, mean));
  const Output variance =
      ops::DivNoNan(div,
                    ops::Sum(inner.WithName("weighted_distsq"), squares, along,
                             {.keep_dims = true}),
                    count);
  return Finish(inner, mean, variance, axes, options, dtype);
}

Output BatchNormalization(const Scope& scope, const Input& x, const Input& mean,
                          const Input& variance, const Input& offset,
                          const Input& scale, double variance_epsilon) {
  const Scope inner = scope.CompositeScope("batchnorm");
  const Scope mul = inner.WithName("mul"), add = inner.WithName("add");
  const Output given = ops::AsTensor(inner, x, DT_FLOAT, "x");
  const Output spread = ops::AsTensor(inner, variance, DT_FLOAT, "variance");
  const Output centre = ops::AsTensor(inner, mean, DT_FLOAT, "mean");
  if (!scope.ok()) return Output();
  Output factor = ops::Rsqrt(inner, ops::AddV2(add, spread, variance_epsilon));
  if (!IsNull(scale)) factor = ops::Mul(mul, factor, scale);
  const DataType dtype = RemoveRefType(given.dtype());
  Output summand;
  if (IsNull(offset)) {
    summand = ops::Mul(mul, ops::Neg(inner, centre), factor);
  } else {
    summand =
        ops::Sub(inner.WithName("sub"), offset, ops::Mul(mul, centre, factor));
  }
  const Output scaled = ops::Mul(mul, given, ops::InType(inner, factor, dtype));
  return ops::AddV2(add, scaled, ops::InType(inner, summand, dtype));
}

Output L2Normalize(const Scope& scope, const Input& x,
                   const std::vector<int32_t>& axes, double epsilon) {
  const Scope inner = scope.CompositeScope("l2_normalize");
  const Output given = ops::AsTensor(inner, x, DT_FLOAT, "x");
  const Output squares = ops::Sum(inner, ops::Square(inner, given),
                                  AxesTensor(axes), {.keep_dims = true});
  const Output factor =
      ops::Rsqrt(inner, ops::Maximum(inner, squares, epsilon));
  return ops::Mul(inner.WithName(inner.prefix()), given, factor);
}

namespace {

// The value of keep_prob if it is a C++ number.
std::optional<double> KeepProbability(const Input& keep_prob) {
  if (!keep_prob.value()) return std::nullopt;
  const absl::StatusOr<Tensor> number =
      AdaptValue(*keep_prob.value(), DT_DOUBLE);
  if (!number.ok() || number->num_elements() != 1) return std::nullopt;
  return number->scalar<double>();
}

struct DropoutFactors {
  Output scale;  // of the kept elements
  Output rate;   // of the dropped elements
};

DropoutFactors FactorsOf(const Scope& scope, const Input& keep_prob,
                         std::optional<double> known, DataType dtype) {
  if (known) {
    return {ops::AsTensor(scope, 1.0 / *known, dtype, "Const"),
            ops::AsTensor(scope.SubScope("GreaterEqual").WithName("y"),
                          1.0 - *known, dtype, "y")};
  }
  const Output keep = ops::CastTo(scope, keep_prob, dtype, "keep_prob");
  return {ops::RealDiv(scope, 1.0f, keep), ops::Sub(scope, 1.0f, keep)};
}

bool CheckDropout(const Scope& scope, const Output& x,
                  std::optional<double> keep_prob) {
  if (!scope.ok() || !x) return false;
  if (!IsFloatingType(RemoveRefType(x.dtype()))) {
    scope.UpdateStatus(absl::InvalidArgumentError(absl::StrCat(
        "dropout: `x.dtype` must be a floating point tensor as `x` will be "
        "scaled. Received: x_dtype=",
        DataTypeName(x.dtype()))));
    return false;
  }
  if (!keep_prob || (*keep_prob > 0 && *keep_prob <= 1)) return true;
  scope.UpdateStatus(absl::InvalidArgumentError(
      absl::StrCat("dropout: `keep_prob` must be a scalar tensor or a float in "
                   "the range (0, 1], got ",
                   *keep_prob)));
  return false;
}

}  // namespace

Output Dropout(const Scope& scope, const Input& x, const Input& keep_prob,
               const DropoutOptions& options) {
  const Output given = ops::AsTensor(scope.WithName(""), x, DT_FLOAT, "x");
  const std::optional<double> known = KeepProbability(keep_prob);
  if (!CheckDropout(scope, given, known)) return Output();
  if (known == 1.0) return given;
  const Scope inner = scope.CompositeScope("dropout");
  const DataType dtype = RemoveRefType(given.dtype());
  const DropoutFactors factors = FactorsOf(inner, keep_prob, known, dtype);
  const Output scaled = ops::Mul(inner, given, factors.scale);
  const Output shape =
      IsNull(options.noise_shape)
          ? ops::Shape(inner, given)
          : ops::AsTensor(inner, options.noise_shape, DT_INT32, "noise_shape");
  const Output noise = ops::RandomUniform(inner.SubScope("random_uniform"),
                                          shape, dtype, {.seed = options.seed});
  const Output kept = ops::GreaterEqual(inner, noise, factors.rate);
  const Output result = ops::SelectV2(inner, kept, scaled, 0.0f);
  // A noise shape must not broadcast x.
  return ops::CheckSameShape(inner, result, given) ? result : Output();
}

}  // namespace weft::nn
