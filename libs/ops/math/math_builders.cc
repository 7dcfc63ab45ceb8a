#include "libs/ops/math/math_ops.h"

namespace weft::ops {

// Ops without attributes of their own.
#define WEFT_UNARY(NAME)                            \
  Output NAME(const Scope& scope, const Input& x) { \
    return scope.AddOutput(#NAME, {x});             \
  }
#define WEFT_BINARY(NAME)                                           \
  Output NAME(const Scope& scope, const Input& x, const Input& y) { \
    return scope.AddOutput(#NAME, {x, y});                          \
  }
#define WEFT_TERNARY(NAME)                                        \
  Output NAME(const Scope& scope, const Input& x, const Input& y, \
              const Input& z) {                                   \
    return scope.AddOutput(#NAME, {x, y, z});                     \
  }
#define WEFT_REDUCTION(NAME)                                             \
  Output NAME(const Scope& scope, const Input& input, const Input& axes, \
              const ReductionAttrs& attrs) {                             \
    return scope.AddOutput(#NAME, {input, axes},                         \
                           {{"keep_dims", attrs.keep_dims}});            \
  }

WEFT_BINARY(Add)
WEFT_BINARY(AddV2)
WEFT_BINARY(Sub)
WEFT_BINARY(Mul)
WEFT_BINARY(Div)
WEFT_BINARY(RealDiv)
WEFT_BINARY(FloorDiv)
WEFT_BINARY(TruncateDiv)
WEFT_BINARY(FloorMod)
WEFT_BINARY(Mod)
WEFT_BINARY(TruncateMod)
WEFT_BINARY(DivNoNan)
WEFT_BINARY(Xdivy)
WEFT_BINARY(Maximum)
WEFT_BINARY(Minimum)
WEFT_BINARY(Pow)
WEFT_BINARY(SquaredDifference)
WEFT_BINARY(Atan2)
WEFT_BINARY(Less)
WEFT_BINARY(LessEqual)
WEFT_BINARY(Greater)
WEFT_BINARY(GreaterEqual)
WEFT_BINARY(LogicalAnd)
WEFT_BINARY(LogicalOr)
WEFT_BINARY(Cross)
WEFT_BINARY(BroadcastArgs)
WEFT_UNARY(Neg)
WEFT_UNARY(Abs)
WEFT_UNARY(Sign)
WEFT_UNARY(Reciprocal)
WEFT_UNARY(Inv)
WEFT_UNARY(Exp)
WEFT_UNARY(Expm1)
WEFT_UNARY(Log)
WEFT_UNARY(Log1p)
WEFT_UNARY(Sqrt)
WEFT_UNARY(Rsqrt)
WEFT_UNARY(Square)
WEFT_UNARY(Sin)
WEFT_UNARY(Cos)
WEFT_UNARY(Tan)
WEFT_UNARY(Asin)
WEFT_UNARY(Acos)
WEFT_UNARY(Atan)
WEFT_UNARY(Sinh)
WEFT_UNARY(Cosh)
WEFT_UNARY(Atanh)
WEFT_UNARY(Tanh)
WEFT_UNARY(Sigmoid)
WEFT_UNARY(Erf)
WEFT_UNARY(Lgamma)
WEFT_UNARY(Digamma)
WEFT_UNARY(Floor)
WEFT_UNARY(Ceil)
WEFT_UNARY(Round)
WEFT_UNARY(Rint)
WEFT_UNARY(LogicalNot)
WEFT_UNARY(IsNan)
WEFT_UNARY(IsInf)
WEFT_UNARY(IsFinite)
WEFT_UNARY(L2Loss)
WEFT_TERNARY(Select)
WEFT_TERNARY(SelectV2)
WEFT_TERNARY(ClipByValue)
WEFT_TERNARY(LinSpace)
WEFT_TERNARY(Bincount)
WEFT_REDUCTION(Sum)
WEFT_REDUCTION(Mean)
WEFT_REDUCTION(Prod)
WEFT_REDUCTION(Max)
WEFT_REDUCTION(Min)
WEFT_REDUCTION(All)
WEFT_REDUCTION(Any)

#undef WEFT_UNARY
#undef WEFT_BINARY
#undef WEFT_TERNARY
#undef WEFT_REDUCTION

Output Equal(const Scope& scope, const Input& x, const Input& y,
             const EqualAttrs& attrs) {
  return scope.AddOutput(
      "Equal", {x, y},
      {{"incompatible_shape_error", attrs.incompatible_shape_error}});
}

Output NotEqual(const Scope& scope, const Input& x, const Input& y,
                const EqualAttrs& attrs) {
  return scope.AddOutput(
      "NotEqual", {x, y},
      {{"incompatible_shape_error", attrs.incompatible_shape_error}});
}

Output ApproximateEqual(const Scope& scope, const Input& x, const Input& y,
                        const ApproximateEqualAttrs& attrs) {
  return scope.AddOutput("ApproximateEqual", {x, y},
                         {{"tolerance", attrs.tolerance}});
}

Output Cast(const Scope& scope, const Input& x, DataType dtype,
            const CastAttrs& attrs) {
  return scope.AddOutput("Cast", {x},
                         {{"DstT", dtype}, {"Truncate", attrs.truncate}});
}

Output Bucketize(const Scope& scope, const Input& input,
                 std::vector<float> boundaries) {
  return scope.AddOutput("Bucketize", {input},
                         {{"boundaries", std::move(boundaries)}});
}

Output ArgMax(const Scope& scope, const Input& input, const Input& dimension,
              const ArgAttrs& attrs) {
  return scope.AddOutput("ArgMax", {input, dimension},
                         {{"output_type", attrs.output_type}});
}

Output ArgMin(const Scope& scope, const Input& input, const Input& dimension,
              const ArgAttrs& attrs) {
  return scope.AddOutput("ArgMin", {input, dimension},
                         {{"output_type", attrs.output_type}});
}

Output Cumsum(const Scope& scope, const Input& x, const Input& axis,
              const ScanAttrs& attrs) {
  return scope.AddOutput(
      "Cumsum", {x, axis},
      {{"exclusive", attrs.exclusive}, {"reverse", attrs.reverse}});
}

Output Cumprod(const Scope& scope, const Input& x, const Input& axis,
               const ScanAttrs& attrs) {
  return scope.AddOutput(
      "Cumprod", {x, axis},
      {{"exclusive", attrs.exclusive}, {"reverse", attrs.reverse}});
}

Output Range(const Scope& scope, const Input& start, const Input& limit,
             const Input& delta) {
  // If all arguments are C++ scalars, the floats decide; the op's default is
  // int32.
  AttrMap attrs;
  bool all_values = true;
  for (const Input* input : {&start, &limit, &delta}) {
    all_values = all_values && input->adapts();
    if (input->value() && IsFloatingType(input->value()->dtype())) {
      attrs["Tidx"] = input->value()->dtype();
    }
  }
  if (!all_values) attrs.clear();
  return scope.AddOutput("Range", {start, limit, delta}, std::move(attrs));
}

Output AddN(const Scope& scope, const InputList& inputs) {
  return scope.AddOutput("AddN", inputs);
}

Output MatMul(const Scope& scope, const Input& a, const Input& b,
              const MatMulAttrs& attrs) {
  return scope.AddOutput(
      "MatMul", {a, b},
      {{"transpose_a", attrs.transpose_a}, {"transpose_b", attrs.transpose_b}});
}

Output BatchMatMul(const Scope& scope, const Input& x, const Input& y,
                   const BatchMatMulAttrs& attrs) {
  return scope.AddOutput("BatchMatMul", {x, y},
                         {{"adj_x", attrs.adj_x}, {"adj_y", attrs.adj_y}});
}

Output BatchMatMulV2(const Scope& scope, const Input& x, const Input& y,
                     const BatchMatMulAttrs& attrs) {
  return scope.AddOutput("BatchMatMulV2", {x, y},
                         {{"adj_x", attrs.adj_x}, {"adj_y", attrs.adj_y}});
}

Output Einsum(const Scope& scope, const InputList& inputs,
              absl::string_view equation) {
  return scope.AddOutput("Einsum", inputs,
                         {{"equation", std::string(equation)}});
}

std::pair<Output, Output> BroadcastGradientArgs(const Scope& scope,
                                                const Input& s0,
                                                const Input& s1) {
  const Node* node = scope.AddNode("BroadcastGradientArgs", {s0, s1});
  if (node == nullptr) return {};
  return {Output(node, 0), Output(node, 1)};
}

}  // namespace weft::ops
