// Gradients of unary functions.
#include <cmath>

#include "libs/gradients/math/math_gradients.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"

namespace weft {
namespace {

Output Times(const UnaryArgs& a, const Output& slope) {
  return ops::Mul(a.scope, a.grad, Conjugate(a.scope, slope));
}
Output OneMinusSquare(const UnaryArgs& a) {
  return ops::Sub(a.scope, 1, ops::Square(a.scope, a.x));
}
Output Inverse(const UnaryArgs& a, const Output& x) {
  return ops::Reciprocal(a.scope, x);
}

Output Neg(const UnaryArgs& a) { return ops::Neg(a.scope, a.grad); }
Output Abs(const UnaryArgs& a) { return Times(a, ops::Sign(a.scope, a.x)); }
// Zeros of the gradient, which is dead if the branch was not taken. In a
// backward loop, an invariant x is alive in all iterations.
Output Sign(const UnaryArgs& a) { return ops::ZerosLike(a.scope, a.grad); }
Output Square(const UnaryArgs& a) {
  return Times(a, ops::Mul(a.scope, a.x, 2));
}
Output Exp(const UnaryArgs& a) { return Times(a, a.y); }
Output Expm1(const UnaryArgs& a) { return Times(a, ops::Exp(a.scope, a.x)); }
Output Log(const UnaryArgs& a) { return Times(a, Inverse(a, a.x)); }
Output Log1p(const UnaryArgs& a) {
  return Times(a, Inverse(a, ops::Add(a.scope, a.x, 1)));
}
Output Sin(const UnaryArgs& a) { return Times(a, ops::Cos(a.scope, a.x)); }
Output Cos(const UnaryArgs& a) {
  return ops::Neg(a.scope, Times(a, ops::Sin(a.scope, a.x)));
}
Output Tan(const UnaryArgs& a) {
  const Output secant = Inverse(a, ops::Cos(a.scope, a.x));
  return Times(a, ops::Square(a.scope, secant));
}
Output Asin(const UnaryArgs& a) {
  return Times(a, Inverse(a, ops::Sqrt(a.scope, OneMinusSquare(a))));
}
Output Acos(const UnaryArgs& a) { return ops::Neg(a.scope, Asin(a)); }
Output Atan(const UnaryArgs& a) {
  const Output square = ops::Square(a.scope, a.x);
  return Times(a, Inverse(a, ops::Add(a.scope, square, 1)));
}
Output Sinh(const UnaryArgs& a) { return Times(a, ops::Cosh(a.scope, a.x)); }
Output Cosh(const UnaryArgs& a) { return Times(a, ops::Sinh(a.scope, a.x)); }
Output Asinh(const UnaryArgs& a) {
  return ops::RealDiv(a.scope, a.grad,
                      ops::Cosh(a.scope, Conjugate(a.scope, a.y)));
}
Output Acosh(const UnaryArgs& a) {
  return ops::RealDiv(a.scope, a.grad,
                      ops::Sinh(a.scope, Conjugate(a.scope, a.y)));
}
Output Atanh(const UnaryArgs& a) {
  return Times(a, Inverse(a, OneMinusSquare(a)));
}
Output Erf(const UnaryArgs& a) {
  const Output bell =
      ops::Exp(a.scope, ops::Neg(a.scope, ops::Square(a.scope, a.x)));
  return Times(a, ops::Mul(a.scope, bell, 2.0 / std::sqrt(std::acos(-1.0))));
}
Output Erfc(const UnaryArgs& a) { return ops::Neg(a.scope, Erf(a)); }
Output Erfinv(const UnaryArgs& a) {
  const Output bell = ops::Exp(a.scope, ops::Square(a.scope, a.y));
  return Times(a, ops::Mul(a.scope, bell, std::sqrt(std::acos(-1.0)) / 2));
}
Output Ndtri(const UnaryArgs& a) {
  const Output half = ops::Mul(a.scope, ops::Square(a.scope, a.y), 0.5);
  return Times(a, ops::Mul(a.scope, ops::Exp(a.scope, half),
                           std::sqrt(2 * std::acos(-1.0))));
}
Output Lgamma(const UnaryArgs& a) {
  return Times(a, ops::Digamma(a.scope, a.x));
}
Output Digamma(const UnaryArgs& a) {
  const Output order = ops::OnesLike(a.scope, a.x);
  return Times(a, a.scope.AddOutput("Polygamma", {order, a.x}));
}
Output L2Loss(const UnaryArgs& a) { return Times(a, a.x); }

// The complex number of two real parts.
Output Join(const Scope& scope, const Output& real, const Output& imag) {
  const DataType type =
      real.dtype() == DT_DOUBLE ? DT_COMPLEX128 : DT_COMPLEX64;
  return scope.AddOutput("Complex", {real, imag}, {{"Tout", type}});
}
Output Real(const UnaryArgs& a) {
  return Join(a.scope, a.grad, ZeroLike(a.scope, a.grad));
}
Output Imag(const UnaryArgs& a) {
  return Join(a.scope, ZeroLike(a.scope, a.grad), a.grad);
}
Output Conj(const UnaryArgs& a) { return Conjugate(a.scope, a.grad); }
Output ComplexAbs(const UnaryArgs& a) {
  const Output zero = ZeroLike(a.scope, a.grad);
  const Output scaled = ops::Mul(a.scope, Join(a.scope, a.grad, zero), a.x);
  return ops::DivNoNan(a.scope, scaled, Join(a.scope, a.y, zero));
}
Output Angle(const UnaryArgs& a) {
  const AttrMap part = {{"Tout", a.grad.dtype()}};
  const Output real = a.scope.AddOutput("Real", {a.x}, part);
  const Output imag = a.scope.AddOutput("Imag", {a.x}, part);
  const Output grad = Join(a.scope, a.grad, ZeroLike(a.scope, a.grad));
  return ops::Mul(a.scope, ops::Neg(a.scope, grad),
                  Inverse(a, Join(a.scope, imag, real)));
}

// Uses the op that takes the result and the gradient.
UnaryGradient ByGradientOp(absl::string_view op) {
  return [op = std::string(op)](const UnaryArgs& a) {
    return a.scope.AddOutput(op, {a.y, a.grad});
  };
}

// Like ByGradientOp, for an op that does not conjugate.
UnaryGradient ByConjugate(absl::string_view op) {
  return [op = std::string(op)](const UnaryArgs& a) {
    return a.scope.AddOutput(op, {Conjugate(a.scope, a.y), a.grad});
  };
}

absl::StatusOr<std::vector<Gradient>> Cast(const Scope& scope, const Node& node,
                                           const std::vector<Gradient>& grads) {
  const auto has_gradient = [](DataType type) {
    return IsFloatingType(type) || IsComplexType(type);
  };
  const DataType from = node.input_type(0);
  if (!has_gradient(from) || !has_gradient(node.output_type(0))) {
    return std::vector<Gradient>{Gradient()};
  }
  return std::vector<Gradient>{ops::Cast(scope, grads[0].dense, from)};
}

}  // namespace

void RegisterUnaryGradients(GradientRegistry& registry) {
  const std::pair<const char*, Output (*)(const UnaryArgs&)> gradients[] = {
      {"Neg", Neg},       {"Abs", Abs},       {"Sign", Sign},
      {"Square", Square}, {"Exp", Exp},       {"Expm1", Expm1},
      {"Log", Log},       {"Log1p", Log1p},   {"Sin", Sin},
      {"Cos", Cos},       {"Tan", Tan},       {"Asin", Asin},
      {"Acos", Acos},     {"Atan", Atan},     {"Sinh", Sinh},
      {"Cosh", Cosh},     {"Atanh", Atanh},   {"Erf", Erf},
      {"Lgamma", Lgamma}, {"L2Loss", L2Loss}, {"Digamma", Digamma},
      {"Asinh", Asinh},   {"Acosh", Acosh},   {"Erfc", Erfc},
      {"Erfinv", Erfinv}, {"Ndtri", Ndtri},   {"Real", Real},
      {"Imag", Imag},     {"Conj", Conj},     {"ComplexAbs", ComplexAbs},
      {"Angle", Angle}};
  for (const auto& [op, gradient] : gradients) {
    RegisterUnaryGradient(registry, op, gradient);
  }
  RegisterUnaryGradient(registry, "Tanh", ByConjugate("TanhGrad"));
  RegisterUnaryGradient(registry, "Sigmoid", ByConjugate("SigmoidGrad"));
  RegisterUnaryGradient(registry, "Sqrt", ByGradientOp("SqrtGrad"));
  RegisterUnaryGradient(registry, "Rsqrt", ByGradientOp("RsqrtGrad"));
  RegisterUnaryGradient(registry, "Reciprocal", ByGradientOp("ReciprocalGrad"));
  RegisterUnaryGradient(registry, "Inv", ByGradientOp("InvGrad"));
  registry.Register("Cast", Cast);
}

}  // namespace weft
