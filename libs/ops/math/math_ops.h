// Builders of the math family: functions that add one node each, named as in
// TensorFlow's C++ API (tensorflow::ops), with optional attributes as a struct:
//
//   Output y = ops::Add(root, ops::MatMul(root, x, w), b);
//   Output z = ops::Sum(root, y, {0, 1}, {.keep_dims = true});
//
// Errors stick to the scope (see libs/ops/scope.h); the outputs are then null.
// Threads: as for the scope.
#ifndef WEFT_LIBS_OPS_MATH_MATH_OPS_H_
#define WEFT_LIBS_OPS_MATH_MATH_OPS_H_

#include <utility>
#include <vector>

#include "libs/ops/scope.h"

namespace weft::ops {

// ---- Binary, elementwise; shapes broadcast as in NumPy ----

Output Add(const Scope& scope, const Input& x, const Input& y);
Output AddV2(const Scope& scope, const Input& x, const Input& y);
Output Sub(const Scope& scope, const Input& x, const Input& y);
Output Mul(const Scope& scope, const Input& x, const Input& y);
Output Div(const Scope& scope, const Input& x, const Input& y);
Output RealDiv(const Scope& scope, const Input& x, const Input& y);
Output FloorDiv(const Scope& scope, const Input& x, const Input& y);
Output TruncateDiv(const Scope& scope, const Input& x, const Input& y);
Output FloorMod(const Scope& scope, const Input& x, const Input& y);
Output Mod(const Scope& scope, const Input& x, const Input& y);
Output TruncateMod(const Scope& scope, const Input& x, const Input& y);
Output DivNoNan(const Scope& scope, const Input& x, const Input& y);
Output Xdivy(const Scope& scope, const Input& x, const Input& y);
Output Maximum(const Scope& scope, const Input& x, const Input& y);
Output Minimum(const Scope& scope, const Input& x, const Input& y);
Output Pow(const Scope& scope, const Input& x, const Input& y);
Output SquaredDifference(const Scope& scope, const Input& x, const Input& y);
Output Atan2(const Scope& scope, const Input& x, const Input& y);

// ---- Comparisons and logic; bool ----

struct EqualAttrs {
  // False: shapes that do not broadcast are unequal, not an error.
  bool incompatible_shape_error = true;
};
Output Equal(const Scope& scope, const Input& x, const Input& y,
             const EqualAttrs& attrs = {});
Output NotEqual(const Scope& scope, const Input& x, const Input& y,
                const EqualAttrs& attrs = {});
struct ApproximateEqualAttrs {
  float tolerance = 1e-5f;
};
Output ApproximateEqual(const Scope& scope, const Input& x, const Input& y,
                        const ApproximateEqualAttrs& attrs = {});
Output Less(const Scope& scope, const Input& x, const Input& y);
Output LessEqual(const Scope& scope, const Input& x, const Input& y);
Output Greater(const Scope& scope, const Input& x, const Input& y);
Output GreaterEqual(const Scope& scope, const Input& x, const Input& y);
Output LogicalAnd(const Scope& scope, const Input& x, const Input& y);
Output LogicalOr(const Scope& scope, const Input& x, const Input& y);

// A vector of conditions selects rows of `t` and `e`.
Output Select(const Scope& scope, const Input& condition, const Input& t,
              const Input& e);
// All three broadcast.
Output SelectV2(const Scope& scope, const Input& condition, const Input& t,
                const Input& e);
// TensorFlow's C++ name of Select.
inline Output Where3(const Scope& scope, const Input& condition, const Input& t,
                     const Input& e) {
  return Select(scope, condition, t, e);
}

// ---- Unary, elementwise ----

Output Neg(const Scope& scope, const Input& x);
Output Abs(const Scope& scope, const Input& x);
Output Sign(const Scope& scope, const Input& x);
Output Reciprocal(const Scope& scope, const Input& x);
Output Inv(const Scope& scope, const Input& x);
Output Exp(const Scope& scope, const Input& x);
Output Expm1(const Scope& scope, const Input& x);
Output Log(const Scope& scope, const Input& x);
Output Log1p(const Scope& scope, const Input& x);
Output Sqrt(const Scope& scope, const Input& x);
Output Rsqrt(const Scope& scope, const Input& x);
Output Square(const Scope& scope, const Input& x);
Output Sin(const Scope& scope, const Input& x);
Output Cos(const Scope& scope, const Input& x);
Output Tan(const Scope& scope, const Input& x);
Output Asin(const Scope& scope, const Input& x);
Output Acos(const Scope& scope, const Input& x);
Output Atan(const Scope& scope, const Input& x);
Output Sinh(const Scope& scope, const Input& x);
Output Cosh(const Scope& scope, const Input& x);
Output Atanh(const Scope& scope, const Input& x);
Output Tanh(const Scope& scope, const Input& x);
Output Sigmoid(const Scope& scope, const Input& x);
Output Erf(const Scope& scope, const Input& x);
Output Lgamma(const Scope& scope, const Input& x);
Output Digamma(const Scope& scope, const Input& x);
Output Floor(const Scope& scope, const Input& x);
Output Ceil(const Scope& scope, const Input& x);
Output Round(const Scope& scope, const Input& x);
Output Rint(const Scope& scope, const Input& x);
Output LogicalNot(const Scope& scope, const Input& x);
Output IsNan(const Scope& scope, const Input& x);
Output IsInf(const Scope& scope, const Input& x);
Output IsFinite(const Scope& scope, const Input& x);

struct CastAttrs {
  bool truncate = false;
};
Output Cast(const Scope& scope, const Input& x, DataType dtype,
            const CastAttrs& attrs = {});
Output ClipByValue(const Scope& scope, const Input& t,
                   const Input& clip_value_min, const Input& clip_value_max);
Output Bucketize(const Scope& scope, const Input& input,
                 std::vector<float> boundaries);

// ---- Reductions; `axes` may be negative, and are a scalar or a vector ----

struct ReductionAttrs {
  bool keep_dims = false;
};
Output Sum(const Scope& scope, const Input& input, const Input& axes,
           const ReductionAttrs& attrs = {});
Output Mean(const Scope& scope, const Input& input, const Input& axes,
            const ReductionAttrs& attrs = {});
Output Prod(const Scope& scope, const Input& input, const Input& axes,
            const ReductionAttrs& attrs = {});
Output Max(const Scope& scope, const Input& input, const Input& axes,
           const ReductionAttrs& attrs = {});
Output Min(const Scope& scope, const Input& input, const Input& axes,
           const ReductionAttrs& attrs = {});
Output All(const Scope& scope, const Input& input, const Input& axes,
           const ReductionAttrs& attrs = {});
Output Any(const Scope& scope, const Input& input, const Input& axes,
           const ReductionAttrs& attrs = {});

struct ArgAttrs {
  DataType output_type = DT_INT64;
};
Output ArgMax(const Scope& scope, const Input& input, const Input& dimension,
              const ArgAttrs& attrs = {});
Output ArgMin(const Scope& scope, const Input& input, const Input& dimension,
              const ArgAttrs& attrs = {});
struct ScanAttrs {
  bool exclusive = false;
  bool reverse = false;
};
Output Cumsum(const Scope& scope, const Input& x, const Input& axis,
              const ScanAttrs& attrs = {});
Output Cumprod(const Scope& scope, const Input& x, const Input& axis,
               const ScanAttrs& attrs = {});
// Half the sum of squares.
Output L2Loss(const Scope& scope, const Input& t);
Output AddN(const Scope& scope, const InputList& inputs);

// ---- Matrices ----

struct MatMulAttrs {
  bool transpose_a = false;
  bool transpose_b = false;
};
Output MatMul(const Scope& scope, const Input& a, const Input& b,
              const MatMulAttrs& attrs = {});
struct BatchMatMulAttrs {
  bool adj_x = false;
  bool adj_y = false;
};
Output BatchMatMul(const Scope& scope, const Input& x, const Input& y,
                   const BatchMatMulAttrs& attrs = {});
Output BatchMatMulV2(const Scope& scope, const Input& x, const Input& y,
                     const BatchMatMulAttrs& attrs = {});
// "ij,jk->ik": the labels of the dimensions of one or two operands and of the
// result; "..." stands for broadcast dimensions. Labels missing in the result
// are summed over; a repeated label is a diagonal.
Output Einsum(const Scope& scope, const InputList& inputs,
              absl::string_view equation);
Output Cross(const Scope& scope, const Input& a, const Input& b);

// ---- Sequences and shapes ----

Output Range(const Scope& scope, const Input& start, const Input& limit,
             const Input& delta);
Output LinSpace(const Scope& scope, const Input& start, const Input& stop,
                const Input& num);
Output Bincount(const Scope& scope, const Input& arr, const Input& size,
                const Input& weights);
// The shape that shapes `s0` and `s1` broadcast to.
Output BroadcastArgs(const Scope& scope, const Input& s0, const Input& s1);
// Axes along which the gradients of two broadcast operands are summed.
std::pair<Output, Output> BroadcastGradientArgs(const Scope& scope,
                                                const Input& s0,
                                                const Input& s1);

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_MATH_MATH_OPS_H_
