// Elementwise ops.
#include <algorithm>
#include <cmath>
#include <utility>

#include "libs/gradients/testing/reference_ops.h"

namespace weft {
namespace {

using Value = ReferenceValue;
using Values = ReferenceValues;
using Unary = double (*)(double);
using Binary = double (*)(double, double);

constexpr double kSeluScale = 1.0507009873554804934193349852946;
constexpr double kSeluScaleAlpha = 1.7580993408473768599402175208123;

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double FloorMod(double x, double y) { return x - y * std::floor(x / y); }

constexpr std::pair<const char*, Unary> kUnary[] = {
    {"Identity", [](double x) { return x; }},
    {"Snapshot", [](double x) { return x; }},
    {"StopGradient", [](double x) { return x; }},
    {"PreventGradient", [](double x) { return x; }},
    {"EnsureShape", [](double x) { return x; }},
    {"CheckNumerics", [](double x) { return x; }},
    {"ZerosLike", [](double) { return 0.0; }},
    {"OnesLike", [](double) { return 1.0; }},
    {"Neg", [](double x) { return -x; }},
    {"Abs", [](double x) { return std::abs(x); }},
    {"Sign", [](double x) { return x > 0   ? 1.0
                                   : x < 0 ? -1.0
                                           : 0.0; }},
    {"Square", [](double x) { return x * x; }},
    {"Exp", [](double x) { return std::exp(x); }},
    {"Expm1", [](double x) { return std::expm1(x); }},
    {"Log", [](double x) { return std::log(x); }},
    {"Log1p", [](double x) { return std::log1p(x); }},
    {"Sqrt", [](double x) { return std::sqrt(x); }},
    {"Rsqrt", [](double x) { return 1 / std::sqrt(x); }},
    {"Reciprocal", [](double x) { return 1 / x; }},
    {"Inv", [](double x) { return 1 / x; }},
    {"Sin", [](double x) { return std::sin(x); }},
    {"Cos", [](double x) { return std::cos(x); }},
    {"Tan", [](double x) { return std::tan(x); }},
    {"Asin", [](double x) { return std::asin(x); }},
    {"Acos", [](double x) { return std::acos(x); }},
    {"Atan", [](double x) { return std::atan(x); }},
    {"Sinh", [](double x) { return std::sinh(x); }},
    {"Cosh", [](double x) { return std::cosh(x); }},
    {"Tanh", [](double x) { return std::tanh(x); }},
    {"Asinh", [](double x) { return std::asinh(x); }},
    {"Acosh", [](double x) { return std::acosh(x); }},
    {"Atanh", [](double x) { return std::atanh(x); }},
    {"Erf", [](double x) { return std::erf(x); }},
    {"Erfc", [](double x) { return std::erfc(x); }},
    {"Floor", [](double x) { return std::floor(x); }},
    {"Sigmoid", Sigmoid},
    {"Relu", [](double x) { return std::max(x, 0.0); }},
    {"Relu6", [](double x) { return std::min(std::max(x, 0.0), 6.0); }},
    {"Elu", [](double x) { return x < 0 ? std::expm1(x) : x; }},
    {"Selu",
     [](double x) {
       return x < 0 ? kSeluScaleAlpha * std::expm1(x) : kSeluScale * x;
     }},
    {"Softplus", [](double x) { return std::log1p(std::exp(x)); }},
    {"Softsign", [](double x) { return x / (1 + std::abs(x)); }},
    {"ToBool", [](double x) { return x != 0 ? 1.0 : 0.0; }},
    {"LogicalNot", [](double x) { return x == 0 ? 1.0 : 0.0; }},
};

// The gradients of activations take (gradient, input or output), those of
// mathematical functions (output, gradient).
constexpr std::pair<const char*, Binary> kBinary[] = {
    {"Add", [](double x, double y) { return x + y; }},
    {"AddV2", [](double x, double y) { return x + y; }},
    {"Sub", [](double x, double y) { return x - y; }},
    {"Mul", [](double x, double y) { return x * y; }},
    {"MulNoNan", [](double x, double y) { return y == 0 ? 0.0 : x * y; }},
    {"Div", [](double x, double y) { return x / y; }},
    {"RealDiv", [](double x, double y) { return x / y; }},
    {"DivNoNan", [](double x, double y) { return y == 0 ? 0.0 : x / y; }},
    {"Xdivy", [](double x, double y) { return x == 0 ? 0.0 : x / y; }},
    {"Xlogy",
     [](double x, double y) { return x == 0 ? 0.0 : x * std::log(y); }},
    {"Xlog1py",
     [](double x, double y) { return x == 0 ? 0.0 : x * std::log1p(y); }},
    {"FloorDiv", [](double x, double y) { return std::floor(x / y); }},
    {"FloorMod", FloorMod},
    {"Mod", [](double x, double y) { return std::fmod(x, y); }},
    {"TruncateMod", [](double x, double y) { return std::fmod(x, y); }},
    {"Maximum", [](double x, double y) { return std::max(x, y); }},
    {"Minimum", [](double x, double y) { return std::min(x, y); }},
    {"Pow", [](double x, double y) { return std::pow(x, y); }},
    {"Atan2", [](double x, double y) { return std::atan2(x, y); }},
    {"SquaredDifference", [](double x, double y) { return (x - y) * (x - y); }},
    {"Equal", [](double x, double y) { return x == y ? 1.0 : 0.0; }},
    {"NotEqual", [](double x, double y) { return x != y ? 1.0 : 0.0; }},
    {"Less", [](double x, double y) { return x < y ? 1.0 : 0.0; }},
    {"LessEqual", [](double x, double y) { return x <= y ? 1.0 : 0.0; }},
    {"Greater", [](double x, double y) { return x > y ? 1.0 : 0.0; }},
    {"GreaterEqual", [](double x, double y) { return x >= y ? 1.0 : 0.0; }},
    {"LogicalAnd", [](double x, double y) { return x * y; }},
    {"LogicalOr", [](double x, double y) { return std::max(x, y); }},
    {"TanhGrad", [](double y, double dy) { return dy * (1 - y * y); }},
    {"SigmoidGrad", [](double y, double dy) { return dy * y * (1 - y); }},
    {"SqrtGrad", [](double y, double dy) { return dy * 0.5 / y; }},
    {"RsqrtGrad", [](double y, double dy) { return dy * -0.5 * y * y * y; }},
    {"ReciprocalGrad", [](double y, double dy) { return -dy * y * y; }},
    {"InvGrad", [](double y, double dy) { return -dy * y * y; }},
    {"ReluGrad", [](double dy, double y) { return y > 0 ? dy : 0; }},
    {"Relu6Grad", [](double dy, double y) { return y > 0 && y < 6 ? dy : 0; }},
    {"EluGrad", [](double dy, double y) { return y < 0 ? dy * (y + 1) : dy; }},
    {"SeluGrad",
     [](double dy,
        double y) { return dy * (y < 0 ? y + kSeluScaleAlpha : kSeluScale); }},
    {"SoftplusGrad", [](double dy, double x) { return dy * Sigmoid(x); }},
    {"SoftsignGrad",
     [](double dy,
        double x) { return dy / ((1 + std::abs(x)) * (1 + std::abs(x))); }},
};

ReferenceOp Elementwise(Unary f) {
  return [f](const Node&, const Values& in) {
    Value y = in[0];
    for (double& element : y.at) element = f(element);
    return Values{y};
  };
}

ReferenceOp Elementwise(Binary f) {
  return [f](const Node&, const Values& in) {
    const TensorShape shape = BroadcastShape(in[0].shape, in[1].shape);
    Value z = BroadcastReference(in[0], shape);
    const Value y = BroadcastReference(in[1], shape);
    for (size_t i = 0; i < z.at.size(); ++i) z.at[i] = f(z.at[i], y.at[i]);
    return Values{z};
  };
}

Values Cast(const Node& node, const Values& in) {
  Value y = in[0];
  const DataType to = node.output_type(0);
  for (double& element : y.at) {
    if (to == DT_BOOL) element = element != 0 ? 1 : 0;
    if (IsIntegerType(to)) element = std::trunc(element);
  }
  return {y};
}

Values LeakyRelu(const Node& node, const Values& in) {
  Value y = in[0];
  const double alpha = *node.attr<float>("alpha");
  for (double& element : y.at) element *= element > 0 ? 1 : alpha;
  return {y};
}

Values LeakyReluGrad(const Node& node, const Values& in) {
  Value result = in[0];
  const double alpha = *node.attr<float>("alpha");
  for (size_t i = 0; i < result.at.size(); ++i) {
    if (in[1].at[i] <= 0) result.at[i] *= alpha;
  }
  return {result};
}

Values AddN(const Node&, const Values& in) {
  Value sum = in[0];
  for (size_t i = 1; i < in.size(); ++i) {
    for (size_t j = 0; j < sum.at.size(); ++j) sum.at[j] += in[i].at[j];
  }
  return {sum};
}

Values SelectV2(const Node&, const Values& in) {
  const TensorShape shape =
      BroadcastShape(in[0].shape, BroadcastShape(in[1].shape, in[2].shape));
  const Value condition = BroadcastReference(in[0], shape);
  Value result = BroadcastReference(in[1], shape);
  const Value other = BroadcastReference(in[2], shape);
  for (size_t i = 0; i < result.at.size(); ++i) {
    if (condition.at[i] == 0) result.at[i] = other.at[i];
  }
  return {result};
}

// A vector of conditions selects rows.
Values Select(const Node&, const Values& in) {
  Value result = in[1];
  const size_t row = result.at.size() / std::max<size_t>(in[0].at.size(), 1);
  for (size_t i = 0; i < result.at.size(); ++i) {
    if (in[0].at[i / row] == 0) result.at[i] = in[2].at[i];
  }
  return {result};
}

Values ClipByValue(const Node&, const Values& in) {
  Value result = in[0];
  const Value low = BroadcastReference(in[1], result.shape);
  const Value high = BroadcastReference(in[2], result.shape);
  for (size_t i = 0; i < result.at.size(); ++i) {
    result.at[i] = std::min(std::max(result.at[i], low.at[i]), high.at[i]);
  }
  return {result};
}

}  // namespace

void AddReferenceMathOps(ReferenceOps& ops) {
  for (const auto& [name, f] : kUnary) ops[name] = Elementwise(f);
  for (const auto& [name, f] : kBinary) ops[name] = Elementwise(f);
  ops["Cast"] = Cast;
  ops["LeakyRelu"] = LeakyRelu;
  ops["LeakyReluGrad"] = LeakyReluGrad;
  ops["AddN"] = AddN;
  ops["Select"] = Select;
  ops["SelectV2"] = SelectV2;
  ops["ClipByValue"] = ClipByValue;
}

}  // namespace weft
