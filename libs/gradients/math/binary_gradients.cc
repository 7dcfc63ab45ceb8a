// Gradients of binary ops that broadcast, and of Select and related ops.
#include "libs/gradients/math/broadcast_gradient.h"
#include "libs/gradients/math/math_gradients.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"

namespace weft {
namespace {

using Pair = std::pair<Output, Output>;

Pair Add(const BinaryArgs& a) { return {a.grad, a.grad}; }

Pair Sub(const BinaryArgs& a) { return {a.grad, ops::Neg(a.scope, a.grad)}; }

Pair Mul(const BinaryArgs& a) {
  return {ops::Mul(a.scope, a.grad, Conjugate(a.scope, a.y)),
          ops::Mul(a.scope, Conjugate(a.scope, a.x), a.grad)};
}

// -x / y / y, where `divide` is the op's own division.
using Division = Output (*)(const Scope&, const Input&, const Input&);
Pair DivideBy(const BinaryArgs& a, Division divide) {
  const Output x = Conjugate(a.scope, a.x);
  const Output y = Conjugate(a.scope, a.y);
  const Output slope =
      divide(a.scope, divide(a.scope, ops::Neg(a.scope, x), y), y);
  return {divide(a.scope, a.grad, y), ops::Mul(a.scope, a.grad, slope)};
}

Pair Div(const BinaryArgs& a) { return DivideBy(a, &ops::Div); }
Pair RealDiv(const BinaryArgs& a) { return DivideBy(a, &ops::RealDiv); }
Pair DivNoNan(const BinaryArgs& a) { return DivideBy(a, &ops::DivNoNan); }

Pair FloorMod(const BinaryArgs& a) {
  const Output quotient = ops::FloorDiv(a.scope, a.x, a.y);
  return {a.grad, ops::Mul(a.scope, a.grad, ops::Neg(a.scope, quotient))};
}

// x - z is a multiple of y: the quotient, rounded toward zero.
Pair TruncateMod(const BinaryArgs& a) {
  const Output quotient =
      ops::RealDiv(a.scope, ops::Sub(a.scope, a.z, a.x), a.y);
  return {a.grad, ops::Mul(a.scope, a.grad, quotient)};
}

// 1 where x is not 0, for functions that are 0 there.
Output IsNotZero(const BinaryArgs& a) {
  return ops::Cast(a.scope, ops::NotEqual(a.scope, a.x, ZeroLike(a.scope, a.x)),
                   RemoveRefType(a.x.dtype()));
}
Pair Xdivy(const BinaryArgs& a) {
  const Output x_slope = ops::Xdivy(a.scope, IsNotZero(a), a.y);
  const Output y_slope =
      ops::Xdivy(a.scope, ops::Neg(a.scope, a.x), ops::Square(a.scope, a.y));
  return {ops::Mul(a.scope, x_slope, a.grad),
          ops::Mul(a.scope, y_slope, a.grad)};
}

Pair Xlogy(const BinaryArgs& a) {
  const Output x_slope = a.scope.AddOutput("Xlogy", {IsNotZero(a), a.y});
  const Output y_slope = ops::Xdivy(a.scope, a.x, a.y);
  return {ops::Mul(a.scope, x_slope, a.grad),
          ops::Mul(a.scope, y_slope, a.grad)};
}
Pair Xlog1py(const BinaryArgs& a) {
  const Output x_slope = a.scope.AddOutput("Xlog1py", {IsNotZero(a), a.y});
  const Output y_slope = ops::Xdivy(a.scope, a.x, ops::Add(a.scope, a.y, 1));
  return {ops::Mul(a.scope, x_slope, a.grad),
          ops::Mul(a.scope, y_slope, a.grad)};
}
Pair MulNoNan(const BinaryArgs& a) {
  return {a.scope.AddOutput("MulNoNan", {a.grad, a.y}),
          a.scope.AddOutput("MulNoNan", {a.x, a.grad})};
}
Pair NextAfter(const BinaryArgs& a) {
  return {a.grad, ops::ZerosLike(a.scope, a.grad)};
}

// The parts of a complex number.
Pair Complex(const BinaryArgs& a) {
  const AttrMap part = {{"Tout", RemoveRefType(a.x.dtype())}};
  return {a.scope.AddOutput("Real", {a.grad}, part),
          a.scope.AddOutput("Imag", {a.grad}, part)};
}

Pair Choose(const BinaryArgs& a, const Output& is_x) {
  const Output zero = ZeroLike(a.scope, a.grad);
  return {ops::SelectV2(a.scope, is_x, a.grad, zero),
          ops::SelectV2(a.scope, is_x, zero, a.grad)};
}
Pair Maximum(const BinaryArgs& a) {
  return Choose(a, ops::GreaterEqual(a.scope, a.x, a.y));
}
Pair Minimum(const BinaryArgs& a) {
  return Choose(a, ops::LessEqual(a.scope, a.x, a.y));
}

// The derivative with respect to y is x^y log(x), or 0 if there is no
// logarithm.
Pair Pow(const BinaryArgs& a) {
  const Scope& scope = a.scope;
  const Output x = Conjugate(scope, a.x);
  const Output y = Conjugate(scope, a.y);
  const Output x_slope =
      ops::Mul(scope, y, ops::Pow(scope, x, ops::Sub(scope, y, 1)));
  const Output zero = ZeroLike(scope, x);
  // Complex numbers are not ordered, and all except 0 have a logarithm.
  const Output has_log = IsComplexType(x.dtype())
                             ? ops::NotEqual(scope, x, zero)
                             : ops::Greater(scope, x, zero);
  const Output safe_x =
      ops::SelectV2(scope, has_log, x, ops::OnesLike(scope, x));
  const Output log_x =
      ops::SelectV2(scope, has_log, ops::Log(scope, safe_x), zero);
  const Output z = Conjugate(scope, a.z);
  return {ops::Mul(scope, a.grad, x_slope),
          ops::Mul(scope, ops::Mul(scope, a.grad, z), log_x)};
}

Pair SquaredDifference(const BinaryArgs& a) {
  const Output difference =
      ops::Sub(a.scope, Conjugate(a.scope, a.x), Conjugate(a.scope, a.y));
  const Output grad =
      ops::Mul(a.scope, ops::Mul(a.scope, a.grad, 2), difference);
  return {grad, ops::Neg(a.scope, grad)};
}

// The first operand is the ordinate.
Pair Atan2(const BinaryArgs& a) {
  const Output squares =
      ops::Add(a.scope, ops::Square(a.scope, a.x), ops::Square(a.scope, a.y));
  const Output scaled = ops::RealDiv(a.scope, a.grad, squares);
  return {ops::Mul(a.scope, a.y, scaled),
          ops::Mul(a.scope, ops::Neg(a.scope, a.x), scaled)};
}

Pair Polygamma(const BinaryArgs& a) {
  const Output slope =
      a.scope.AddOutput("Polygamma", {ops::Add(a.scope, a.x, 1), a.y});
  return {Output(), ops::Mul(a.scope, a.grad, slope)};
}

// Gradients of the ...Grad ops, f(y, dy), whose operands have the same shape.
// Here `a.x` is y and `a.y` is dy.
Pair TanhGrad(const BinaryArgs& a) {
  const Output y = Conjugate(a.scope, a.x);
  const Output dy = Conjugate(a.scope, a.y);
  const Output scaled = ops::Mul(a.scope, ops::Mul(a.scope, a.grad, -2), dy);
  return {ops::Mul(a.scope, scaled, y),
          a.scope.AddOutput("TanhGrad", {y, a.grad})};
}
Pair SigmoidGrad(const BinaryArgs& a) {
  const Output y = Conjugate(a.scope, a.x);
  const Output dy = Conjugate(a.scope, a.y);
  const Output scaled = ops::Mul(a.scope, a.grad, dy);
  const Output twice = ops::Mul(a.scope, ops::Mul(a.scope, scaled, 2), y);
  return {ops::Sub(a.scope, scaled, twice),
          a.scope.AddOutput("SigmoidGrad", {y, a.grad})};
}
Pair SqrtGrad(const BinaryArgs& a) {
  const Output scaled = ops::RealDiv(a.scope, a.grad, a.x);
  const Output minus = ops::Neg(a.scope, Conjugate(a.scope, scaled));
  return {ops::Mul(a.scope, minus, a.z), ops::Mul(a.scope, scaled, 0.5f)};
}
Pair RsqrtGrad(const BinaryArgs& a) {
  const Output y = Conjugate(a.scope, a.x);
  const Output scaled = ops::Mul(
      a.scope, ops::Mul(a.scope, Conjugate(a.scope, a.grad), -1.5f), a.y);
  return {ops::Mul(a.scope, scaled, ops::Square(a.scope, y)),
          a.scope.AddOutput("RsqrtGrad", {y, a.grad})};
}
Pair ReciprocalGrad(const BinaryArgs& a) {
  const Output y = Conjugate(a.scope, a.x);
  const Output scaled =
      ops::Mul(a.scope, ops::Mul(a.scope, Conjugate(a.scope, a.grad), -2), a.y);
  return {ops::Mul(a.scope, scaled, y),
          a.scope.AddOutput("ReciprocalGrad", {y, a.grad})};
}

absl::StatusOr<std::vector<Gradient>> Select(
    const Scope& scope, const Node& node, const std::vector<Gradient>& grads) {
  const Output grad = grads[0].dense;
  const Output condition = node.input(0);
  const Output zeros = ops::ZerosLike(scope, grad);
  return std::vector<Gradient>{Gradient(),
                               ops::Select(scope, condition, grad, zeros),
                               ops::Select(scope, condition, zeros, grad)};
}

// Sums an operand's gradient, which has the result's shape, to its own shape.
Output SumToOperand(const Scope& scope, const Output& operand,
                    const Output& result, const Output& grad) {
  return SumToShapes(scope, operand, result, grad, Output()).first;
}

absl::StatusOr<std::vector<Gradient>> SelectV2(
    const Scope& scope, const Node& node, const std::vector<Gradient>& grads) {
  const Output grad = grads[0].dense;
  const Output condition = node.input(0);
  const Output result(&node, 0);
  const Output zero = ZeroLike(scope, grad);
  const Output t = ops::SelectV2(scope, condition, grad, zero);
  const Output e = ops::SelectV2(scope, condition, zero, grad);
  return std::vector<Gradient>{Gradient(),
                               SumToOperand(scope, node.input(1), result, t),
                               SumToOperand(scope, node.input(2), result, e)};
}

absl::StatusOr<std::vector<Gradient>> ClipByValue(
    const Scope& scope, const Node& node, const std::vector<Gradient>& grads) {
  const Output grad = grads[0].dense;
  const Output x = node.input(0);
  const Output below = ops::Less(scope, x, Output(node.input(1)));
  const Output above = ops::Greater(scope, x, Output(node.input(2)));
  const Output zero = ZeroLike(scope, grad);
  const Output clipped = ops::LogicalOr(scope, below, above);
  const Output low = ops::SelectV2(scope, below, grad, zero);
  const Output high = ops::SelectV2(scope, above, grad, zero);
  return std::vector<Gradient>{ops::SelectV2(scope, clipped, zero, grad),
                               SumToOperand(scope, node.input(1), x, low),
                               SumToOperand(scope, node.input(2), x, high)};
}

absl::StatusOr<std::vector<Gradient>> AddN(const Scope&, const Node& node,
                                           const std::vector<Gradient>& grads) {
  return std::vector<Gradient>(node.num_inputs(), grads[0].dense);
}

absl::StatusOr<std::vector<Gradient>> Cross(
    const Scope& scope, const Node& node, const std::vector<Gradient>& grads) {
  const Output grad = grads[0].dense;
  return std::vector<Gradient>{ops::Cross(scope, Output(node.input(1)), grad),
                               ops::Cross(scope, grad, Output(node.input(0)))};
}

}  // namespace

void RegisterBinaryGradients(GradientRegistry& registry) {
  const std::pair<const char*, Pair (*)(const BinaryArgs&)> gradients[] = {
      {"Add", Add},
      {"AddV2", Add},
      {"Sub", Sub},
      {"Mul", Mul},
      {"Div", Div},
      {"RealDiv", RealDiv},
      {"DivNoNan", DivNoNan},
      {"FloorMod", FloorMod},
      {"Mod", TruncateMod},
      {"TruncateMod", TruncateMod},
      {"Xdivy", Xdivy},
      {"Xlogy", Xlogy},
      {"Xlog1py", Xlog1py},
      {"MulNoNan", MulNoNan},
      {"NextAfter", NextAfter},
      {"Complex", Complex},
      {"Maximum", Maximum},
      {"Minimum", Minimum},
      {"Pow", Pow},
      {"SquaredDifference", SquaredDifference},
      {"Atan2", Atan2},
      {"Polygamma", Polygamma},
      {"TanhGrad", TanhGrad},
      {"SigmoidGrad", SigmoidGrad},
      {"SqrtGrad", SqrtGrad},
      {"RsqrtGrad", RsqrtGrad},
      {"ReciprocalGrad", ReciprocalGrad},
      {"InvGrad", ReciprocalGrad}};
  for (const auto& [op, gradient] : gradients) {
    RegisterBinaryGradient(registry, op, gradient);
  }
  registry.Register("Select", Select);
  registry.Register("SelectV2", SelectV2);
  registry.Register("ClipByValue", ClipByValue);
  registry.Register("AddN", AddN);
  registry.Register("Cross", Cross);
}

}  // namespace weft
