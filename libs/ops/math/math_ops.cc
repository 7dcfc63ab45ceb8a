// Definitions of the math ops: signature, shape function and, for ops used to
// compute shapes, the value on constants. Signatures are TensorFlow's.
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/ops/math/math_shapes.h"
#include "libs/ops/math/math_values.h"
#include "libs/ops/math/op_groups.h"
#include "libs/ops/standard_ops.h"

namespace weft {
namespace {

// TensorFlow's lists without the quantized types, which Weft does not support.
constexpr char kNumber[] =
    "{float, double, int32, uint8, int16, int8, complex64, int64, bfloat16, "
    "uint16, complex128, half, uint32, uint64}";
constexpr char kRealNumber[] =
    "{float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, "
    "uint32, uint64}";
constexpr char kFloating[] = "{bfloat16, half, float, double}";
constexpr char kArithmetic[] =
    "{bfloat16, half, float, double, uint8, int8, uint16, int16, int32, "
    "uint32, uint64, int64, complex64, complex128}";
constexpr char kFloatOrComplex[] =
    "{bfloat16, half, float, double, complex64, complex128}";
constexpr char kSigned[] =
    "{bfloat16, half, float, double, int8, int16, int32, int64, complex64, "
    "complex128}";
constexpr char kIndexType[] = "Tidx: {int32, int64} = DT_INT32";

std::string TypeAttr(absl::string_view types) {
  return absl::StrCat("T: ", types);
}

// y = f(x)
OpDefBuilder Unary(absl::string_view name, absl::string_view types,
                   absl::string_view doc) {
  return OpDefBuilder(name)
      .Input("x: T")
      .Output("y: T")
      .Attr(TypeAttr(types))
      .Doc(doc)
      .Shape(shapes::Unchanged);
}

// z = f(x, y), broadcasting
OpDefBuilder Binary(absl::string_view name, absl::string_view types,
                    absl::string_view doc) {
  return OpDefBuilder(name)
      .Input("x: T")
      .Input("y: T")
      .Output("z: T")
      .Attr(TypeAttr(types))
      .Doc(doc)
      .Shape(shapes::BroadcastBinary);
}

// z = f'(x) * dy, written in terms of y = f(x)
OpDefBuilder UnaryGradient(absl::string_view name) {
  return OpDefBuilder(name)
      .Input("y: T")
      .Input("dy: T")
      .Output("z: T")
      .Attr(TypeAttr(kFloatOrComplex))
      .Doc("The gradient of an op, computed from its result.")
      .Shape(math_shapes::AllSame);
}

OpDefBuilder Comparison(absl::string_view name, absl::string_view doc) {
  return OpDefBuilder(name)
      .Input("x: T")
      .Input("y: T")
      .Output("z: bool")
      .Attr(TypeAttr(kRealNumber))
      .Doc(doc)
      .Shape(shapes::BroadcastBinary);
}

OpDefBuilder Equality(absl::string_view name, absl::string_view doc) {
  return OpDefBuilder(name)
      .Input("x: T")
      .Input("y: T")
      .Output("z: bool")
      .Attr("T: type")
      .Attr("incompatible_shape_error: bool = true")
      .Doc(doc)
      .Commutative()
      .Shape(math_shapes::Equality);
}

OpDefBuilder Reduction(absl::string_view name, absl::string_view types,
                       absl::string_view doc) {
  return OpDefBuilder(name)
      .Input("input: T")
      .Input("reduction_indices: Tidx")
      .Output("output: T")
      .Attr("keep_dims: bool = false")
      .Attr(TypeAttr(types))
      .Attr(kIndexType)
      .Doc(doc)
      .Shape(math_shapes::Reduction);
}

OpDefBuilder LogicalReduction(absl::string_view name, absl::string_view doc) {
  return OpDefBuilder(name)
      .Input("input: bool")
      .Input("reduction_indices: Tidx")
      .Output("output: bool")
      .Attr("keep_dims: bool = false")
      .Attr(kIndexType)
      .Doc(doc)
      .Shape(math_shapes::Reduction);
}

OpDefBuilder Scan(absl::string_view name, absl::string_view doc) {
  return OpDefBuilder(name)
      .Input("x: T")
      .Input("axis: Tidx")
      .Output("out: T")
      .Attr("exclusive: bool = false")
      .Attr("reverse: bool = false")
      .Attr(TypeAttr(kNumber))
      .Attr(kIndexType)
      .Doc(doc)
      .Shape(math_shapes::Scan);
}

void RegisterBinaryOps(OpRegistry& registry) {
  registry.Add(Binary("AddV2", kArithmetic, "x + y.")
                   .Commutative()
                   .Aggregate()
                   .Value(math_values::Add));
  registry.Add(
      Binary("Add",
             "{bfloat16, half, float, double, uint8, int8, int16, int32, "
             "int64, complex64, complex128, string}",
             "x + y; concatenates strings.")
          .Value(math_values::Add));
  registry.Add(Binary("Sub", kArithmetic, "x - y.").Value(math_values::Sub));
  registry.Add(Binary("Mul", kArithmetic, "x * y.")
                   .Commutative()
                   .Value(math_values::Mul));
  registry.Add(Binary("RealDiv", kArithmetic, "x / y for real numbers."));
  registry.Add(
      Binary("Div", kArithmetic, "x / y; integers are rounded toward zero.")
          .Value(math_values::TruncateDiv));
  registry.Add(Binary("FloorDiv", kArithmetic, "floor(x / y).")
                   .Value(math_values::FloorDiv));
  registry.Add(Binary("TruncateDiv", kArithmetic, "x / y, rounded toward zero.")
                   .Value(math_values::TruncateDiv));
  registry.Add(Binary("FloorMod",
                      "{int8, int16, int32, int64, uint8, uint16, uint32, "
                      "uint64, bfloat16, half, float, double}",
                      "The remainder of x / y with the sign of y.")
                   .Value(math_values::FloorMod));
  registry.Add(Binary("Mod", "{int32, int64, half, bfloat16, float, double}",
                      "The remainder of x / y with the sign of x."));
  registry.Add(Binary("TruncateMod",
                      "{int32, int64, bfloat16, half, float, double}",
                      "The remainder of x / y with the sign of x."));
  registry.Add(Binary("DivNoNan", kFloatOrComplex, "x / y, or 0 if y is 0."));
  registry.Add(Binary("Xdivy", kFloatOrComplex, "x / y, or 0 if x is 0."));
  registry.Add(Binary("MulNoNan", kFloatOrComplex, "x * y, or 0 if y is 0."));
  registry.Add(Binary("Xlogy", kFloatOrComplex, "x * log(y), or 0 if x is 0."));
  registry.Add(
      Binary("Xlog1py", kFloatOrComplex, "x * log(1 + y), or 0 if x is 0."));
  registry.Add(
      OpDefBuilder("NextAfter")
          .Input("x1: T")
          .Input("x2: T")
          .Output("output: T")
          .Attr("T: {double, float} = DT_FLOAT")
          .Doc("The next representable number after x1 in the direction of x2.")
          .Shape(shapes::BroadcastBinary));
  registry.Add(Binary("Maximum", kRealNumber, "The larger of x and y.")
                   .Value(math_values::Maximum));
  registry.Add(Binary("Minimum", kRealNumber, "The smaller of x and y.")
                   .Value(math_values::Minimum));
  registry.Add(Binary("Pow", kSigned, "x to the power of y."));
  registry.Add(Binary("SquaredDifference",
                      "{bfloat16, half, float, double, int32, int64, "
                      "complex64, complex128}",
                      "(x - y) * (x - y).")
                   .Commutative());
  registry.Add(OpDefBuilder("Atan2")
                   .Input("y: T")
                   .Input("x: T")
                   .Output("z: T")
                   .Attr(TypeAttr(kFloating))
                   .Doc("The angle of the point (x, y).")
                   .Shape(shapes::BroadcastBinary));
  registry.Add(OpDefBuilder("Polygamma")
                   .Input("a: T")
                   .Input("x: T")
                   .Output("z: T")
                   .Attr("T: {float, double}")
                   .Doc("The derivative of order a of Digamma at x.")
                   .Shape(shapes::BroadcastBinary));
}

void RegisterUnaryOps(OpRegistry& registry) {
  registry.Add(Unary("Neg", kSigned, "-x.").Value(math_values::Neg));
  registry.Add(
      Unary("Abs", "{bfloat16, half, float, double, int8, int16, int32, int64}",
            "The absolute value."));
  registry.Add(Unary("Sign", kSigned,
                     "The sign: -1, 0 or 1; x / |x| for complex numbers."));
  registry.Add(Unary("Reciprocal", kSigned, "1 / x."));
  registry.Add(Unary("Inv", kSigned, "1 / x."));
  registry.Add(Unary("Round", kSigned,
                     "Rounds to the nearest integer, and half to even."));
  registry.Add(Unary("Square", kArithmetic, "x * x."));
  for (const char* name :
       {"Exp", "Expm1", "Log", "Log1p", "Sqrt", "Rsqrt", "Sin", "Cos", "Tan",
        "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh",
        "Tanh", "Sigmoid"}) {
    registry.Add(Unary(name, kFloatOrComplex,
                       "The function with that name, element-wise."));
  }
  for (const char* name : {"Floor", "Ceil", "Rint", "Erf", "Erfc", "Erfinv",
                           "Ndtri", "Lgamma", "Digamma"}) {
    registry.Add(
        Unary(name, kFloating, "The function with that name, element-wise."));
  }
  for (const char* name : {"TanhGrad", "SigmoidGrad", "SqrtGrad", "RsqrtGrad",
                           "ReciprocalGrad", "InvGrad"}) {
    registry.Add(UnaryGradient(name));
  }
  for (const char* name : {"IsNan", "IsInf", "IsFinite"}) {
    registry.Add(OpDefBuilder(name)
                     .Input("x: T")
                     .Output("y: bool")
                     .Attr(TypeAttr(kFloating))
                     .Doc("Tests each element for the property with that name.")
                     .Shape(shapes::Unchanged));
  }
}

void RegisterLogicalOps(OpRegistry& registry) {
  registry.Add(Comparison("Less", "x < y."));
  registry.Add(Comparison("LessEqual", "x <= y."));
  registry.Add(Comparison("Greater", "x > y."));
  registry.Add(Comparison("GreaterEqual", "x >= y."));
  registry.Add(Equality("Equal", "x == y."));
  registry.Add(Equality("NotEqual", "x != y."));
  registry.Add(OpDefBuilder("ApproximateEqual")
                   .Input("x: T")
                   .Input("y: T")
                   .Output("z: bool")
                   .Attr(TypeAttr(kNumber))
                   .Attr("tolerance: float = 1e-05")
                   .Doc("|x - y| < tolerance.")
                   .Commutative()
                   .Shape(math_shapes::AllSame));
  for (const char* name : {"LogicalAnd", "LogicalOr"}) {
    registry.Add(OpDefBuilder(name)
                     .Input("x: bool")
                     .Input("y: bool")
                     .Output("z: bool")
                     .Doc("The logical operation with that name.")
                     .Commutative()
                     .Shape(shapes::BroadcastBinary));
  }
  registry.Add(OpDefBuilder("LogicalNot")
                   .Input("x: bool")
                   .Output("y: bool")
                   .Doc("not x.")
                   .Shape(shapes::Unchanged));
}

void RegisterSelectOps(OpRegistry& registry) {
  const auto select = [](absl::string_view name, absl::string_view doc) {
    return OpDefBuilder(name)
        .Input("condition: bool")
        .Input("t: T")
        .Input("e: T")
        .Output("output: T")
        .Attr("T: type")
        .Doc(doc);
  };
  registry.Add(select("Select",
                      "t where condition is true, otherwise e; a vector of "
                      "conditions selects rows.")
                   .Shape(math_shapes::Select));
  registry.Add(
      select("SelectV2", "t where condition is true, otherwise e; broadcasts.")
          .Shape(math_shapes::SelectV2));
  registry.Add(OpDefBuilder("Cast")
                   .Input("x: SrcT")
                   .Output("y: DstT")
                   .Attr("SrcT: type")
                   .Attr("DstT: type")
                   .Attr("Truncate: bool = false")
                   .Doc("Converts the values to another type.")
                   .Shape(shapes::Unchanged)
                   .Value(math_values::Cast));
  registry.Add(OpDefBuilder("ClipByValue")
                   .Input("t: T")
                   .Input("clip_value_min: T")
                   .Input("clip_value_max: T")
                   .Output("output: T")
                   .Attr(TypeAttr(kNumber))
                   .Doc("Limits t to the bounds.")
                   .Shape(math_shapes::ClipByValue));
}

void RegisterReductionOps(OpRegistry& registry) {
  registry.Add(Reduction("Sum", kNumber, "Sums along the given axes.")
                   .Value(math_values::Sum));
  registry.Add(Reduction("Mean", kNumber, "Means along the given axes."));
  registry.Add(Reduction("Prod", kNumber, "Products along the given axes.")
                   .Value(math_values::Prod));
  registry.Add(Reduction("Max", kRealNumber, "Maximum along the given axes.")
                   .Value(math_values::Max));
  registry.Add(Reduction("Min", kRealNumber, "Minimum along the given axes."));
  registry.Add(LogicalReduction("All", "Logical and along the given axes."));
  registry.Add(LogicalReduction("Any", "Logical or along the given axes."));
  registry.Add(Scan("Cumsum", "Cumulative sum along one axis."));
  registry.Add(Scan("Cumprod", "Cumulative product along one axis."));
  registry.Add(OpDefBuilder("L2Loss")
                   .Input("t: T")
                   .Output("output: T")
                   .Attr(TypeAttr(kFloating))
                   .Doc("Half the sum of squares.")
                   .Shape(shapes::Scalar));
}

void RegisterArgReductionOps(OpRegistry& registry) {
  // TensorFlow allows more index types for ArgMax than for ArgMin.
  const auto arg = [](absl::string_view name, absl::string_view index,
                      absl::string_view output, absl::string_view doc) {
    return OpDefBuilder(name)
        .Input("input: T")
        .Input("dimension: Tidx")
        .Output("output: output_type")
        .Attr(
            "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, "
            "uint16, half, uint32, uint64, bool}")
        .Attr(absl::StrCat("Tidx: {", index, "} = DT_INT32"))
        .Attr(absl::StrCat("output_type: {", output, "} = DT_INT64"))
        .Doc(doc)
        .Shape(math_shapes::ArgReduction);
  };
  registry.Add(arg("ArgMax", "int16, int32, int64",
                   "int16, uint16, int32, int64",
                   "The first index of the maximum along one axis."));
  registry.Add(arg("ArgMin", "int32, int64", "int32, int64",
                   "The first index of the minimum along one axis."));
}

void RegisterMatrixOps(OpRegistry& registry) {
  registry.Add(
      OpDefBuilder("MatMul")
          .Input("a: T")
          .Input("b: T")
          .Output("product: T")
          .Attr("transpose_a: bool = false")
          .Attr("transpose_b: bool = false")
          .Attr("T: {bfloat16, half, float, double, int32, int64, uint8, "
                "uint16, uint32, uint64, complex64, complex128}")
          .Attr("grad_a: bool = false")
          .Attr("grad_b: bool = false")
          .Doc("The product of two matrices.")
          .Shape(math_shapes::MatMul));
  const auto batch = [](absl::string_view name, absl::string_view types,
                        absl::string_view doc) {
    return OpDefBuilder(name)
        .Input("x: T")
        .Input("y: T")
        .Output("output: T")
        .Attr(TypeAttr(types))
        .Attr("adj_x: bool = false")
        .Attr("adj_y: bool = false")
        .Attr("grad_x: bool = false")
        .Attr("grad_y: bool = false")
        .Doc(doc);
  };
  registry.Add(batch("BatchMatMul",
                     "{bfloat16, half, float, double, int32, int64, "
                     "complex64, complex128}",
                     "Products of the matrices in the last two dimensions.")
                   .Shape(math_shapes::BatchMatMul));
  registry.Add(batch("BatchMatMulV2",
                     "{bfloat16, half, float, double, int16, int32, int64, "
                     "uint8, uint16, uint32, uint64, complex64, complex128}",
                     "Products of the matrices in the last two dimensions; "
                     "other dimensions broadcast.")
                   .Shape(math_shapes::BatchMatMulV2));
  registry.Add(OpDefBuilder("Einsum")
                   .Input("inputs: N * T")
                   .Output("output: T")
                   .Attr("equation: string")
                   .Attr("N: int >= 1")
                   .Attr("T: type")
                   .Doc("Sums of products according to the equation.")
                   .Shape(math_shapes::Einsum));
  registry.Add(OpDefBuilder("Cross")
                   .Input("a: T")
                   .Input("b: T")
                   .Output("product: T")
                   .Attr(TypeAttr(kRealNumber))
                   .Doc("Cross products of vectors of size three.")
                   .Shape(math_shapes::Cross));
}

void RegisterSequenceOps(OpRegistry& registry) {
  registry.Add(
      OpDefBuilder("AddN")
          .Input("inputs: N * T")
          .Output("sum: T")
          .Attr("N: int >= 1")
          .Attr("T: {float, double, int32, uint8, int16, int8, complex64, "
                "int64, bfloat16, uint16, complex128, half, uint32, uint64, "
                "variant}")
          .Doc("The sum of all inputs.")
          .Commutative()
          .Aggregate()
          .Shape(math_shapes::AllSame));
  registry.Add(
      OpDefBuilder("Range")
          .Input("start: Tidx")
          .Input("limit: Tidx")
          .Input("delta: Tidx")
          .Output("output: Tidx")
          .Attr("Tidx: {bfloat16, half, float, double, int8, int16, int32, "
                "int64, uint16, uint32, uint64} = DT_INT32")
          .Doc("start, start + delta, ... up to but not including limit.")
          .Shape(math_shapes::Range)
          .Value(math_values::Range));
  registry.Add(OpDefBuilder("LinSpace")
                   .Input("start: T")
                   .Input("stop: T")
                   .Input("num: Tidx")
                   .Output("output: T")
                   .Attr(TypeAttr(kFloating))
                   .Attr(kIndexType)
                   .Doc("num equally spaced numbers.")
                   .Shape(math_shapes::LinSpace));
  registry.Add(OpDefBuilder("Bincount")
                   .Input("arr: int32")
                   .Input("size: int32")
                   .Input("weights: T")
                   .Output("bins: T")
                   .Attr("T: {int32, int64, float, double}")
                   .Doc("Counts the occurrences of each number below size.")
                   .Shape(math_shapes::Bincount));
  registry.Add(
      OpDefBuilder("DenseBincount")
          .Input("input: Tidx")
          .Input("size: Tidx")
          .Input("weights: T")
          .Output("output: T")
          .Attr("Tidx: {int32, int64}")
          .Attr("T: {int32, int64, float, double}")
          .Attr("binary_output: bool = false")
          .Doc("Counts the occurrences of each number below size in each row.")
          .Shape(math_shapes::DenseBincount));
  registry.Add(OpDefBuilder("Bucketize")
                   .Input("input: T")
                   .Output("output: int32")
                   .Attr("T: {int32, int64, float, double}")
                   .Attr("boundaries: list(float)")
                   .Doc("Returns the index of the bucket of each element.")
                   .Shape(shapes::Unchanged));
}

void RegisterBroadcastOps(OpRegistry& registry) {
  registry.Add(OpDefBuilder("BroadcastArgs")
                   .Input("s0: T")
                   .Input("s1: T")
                   .Output("r0: T")
                   .Attr("T: {int32, int64} = DT_INT32")
                   .Doc("The shape to which two shapes broadcast.")
                   .Shape(math_shapes::BroadcastArgs)
                   .Value(math_values::BroadcastArgs));
  registry.Add(
      OpDefBuilder("BroadcastGradientArgs")
          .Input("s0: T")
          .Input("s1: T")
          .Output("r0: T")
          .Output("r1: T")
          .Attr("T: {int32, int64} = DT_INT32")
          .Doc("The axes along which gradients are summed after broadcasting.")
          .Shape(math_shapes::BroadcastGradientArgs));
}

// Input 0 broadcasts with a tensor whose shape is the value of the last input.
absl::Status MulInTurnShape(InferenceContext& c) {
  const PartialShape shape = c.input_as_shape(c.num_inputs() - 1);
  ASSIGN_OR_RETURN(PartialShape z, shapes::Broadcast(c.input(0), shape));
  c.set_output(0, std::move(z));
  return absl::OkStatus();
}

// Ops inserted by passes (libs/passes/scaling_fusion.h). Clients do not use
// them.
void RegisterScalingOps(OpRegistry& registry) {
  registry.Add(
      OpDefBuilder("_MulInTurn")
          .Input("x: T")
          .Input("factors: N * T")
          .Input("shape: Tidx")
          .Output("z: T")
          .Attr("N: int >= 1")
          .Attr("T: {half, bfloat16, float, double}")
          .Attr("Tidx: {int32, int64} = DT_INT32")
          .Attr("shape_first: bool = false")
          .Doc("Multiplies x by each factor, which has one element, in order. "
               "The last factor counts as broadcast to a shape, which comes "
               "first in error texts if it was the first operand.")
          .Shape(MulInTurnShape));
}

// Further ops inserted by passes (libs/passes/element_fusion.h). They need no
// shape functions: the shapes of the replaced nodes are known.
void RegisterFusedOps(OpRegistry& registry) {
  registry.Add(
      OpDefBuilder("_FusedMatMul")
          .Input("a: T")
          .Input("b: T")
          .Input("args: num_args * T")
          .Output("product: T")
          .Attr("transpose_a: bool = false")
          .Attr("transpose_b: bool = false")
          .Attr("T: {half, bfloat16, float, double}")
          .Attr("num_args: int >= 0")
          .Attr("fused_ops: list(string) = []")
          .Attr("fused_names: list(string) = []")
          .Attr("fused_operands: list(int) = []")
          .Doc("A product of matrices, followed by element-wise functions.")
          .Shape(shapes::Unknown));
  registry.Add(
      OpDefBuilder("_SlicedMatMul")
          .Input("a: T")
          .Input("b: T")
          .Input("begin: Index")
          .Input("size: Index")
          .Output("output: T")
          .Attr("transpose_a: bool = false")
          .Attr("transpose_b: bool = false")
          .Attr("T: {float}")
          .Attr("Index: {int32, int64}")
          .Attr("product_name: string")
          .Doc("A slice of a product of matrices (libs/passes/slice_fusion.h).")
          .Shape(shapes::Unknown));
  registry.Add(OpDefBuilder("_FusedElementwise")
                   .Input("args: num_args * T")
                   .Output("z: T")
                   .Attr("T: {half, bfloat16, float, double}")
                   .Attr("num_args: int >= 1")
                   .Attr("fused_ops: list(string) = []")
                   .Attr("fused_names: list(string) = []")
                   .Attr("fused_operands: list(int) = []")
                   .Doc("A sequence of element-wise functions. Each has two "
                        "operands, the second one -1 if it takes only one: the "
                        "index of an argument, or, from num_args on, of an "
                        "earlier function's result.")
                   .Shape(shapes::Unknown));
}

}  // namespace

void RegisterMathOps(OpRegistry& registry) {
  RegisterBinaryOps(registry);
  RegisterBitwiseOps(registry);
  RegisterComplexOps(registry);
  RegisterUnaryOps(registry);
  RegisterLogicalOps(registry);
  RegisterSelectOps(registry);
  RegisterReductionOps(registry);
  RegisterArgReductionOps(registry);
  RegisterMatrixOps(registry);
  RegisterSequenceOps(registry);
  RegisterBroadcastOps(registry);
  RegisterScalingOps(registry);
  RegisterFusedOps(registry);
}

}  // namespace weft
