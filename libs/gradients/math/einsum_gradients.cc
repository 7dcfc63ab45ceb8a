// The gradient of Einsum: an Einsum of the result's gradient and the other
// operand, with the subscripts exchanged.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/gradients/math/math_gradients.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/einsum_equation.h"
#include "libs/ops/math/math_ops.h"

namespace weft {
namespace {

constexpr char kEllipsis = EinsumEquation::kEllipsis;

// A tensor and its subscript.
struct Operand {
  Output tensor;
  std::string labels;
};

Operand Multiply(const Scope& scope, const std::vector<Operand>& operands,
                 const std::string& labels) {
  EinsumEquation equation;
  InputList tensors;
  for (const Operand& operand : operands) {
    equation.inputs.push_back(operand.labels);
    tensors.push_back(operand.tensor);
  }
  equation.output = labels;
  return {ops::Einsum(scope, tensors, equation.ToString()), labels};
}

// The labels of `labels` that are not in `others`, each once.
std::string LabelsBeside(const std::string& labels, const std::string& others) {
  std::string beside;
  for (const char label : labels) {
    if (label == kEllipsis || absl::StrContains(others, label)) continue;
    if (!absl::StrContains(beside, label)) beside.push_back(label);
  }
  return beside;
}

std::string Without(const std::string& labels, const std::string& gone) {
  std::string left;
  for (const char label : labels) {
    if (!absl::StrContains(gone, label)) left.push_back(label);
  }
  return left;
}

// Sizes [begin, end) of a shape, counted from its end if they are behind the
// ellipsis of `labels`.
Output SizesBetween(const Scope& scope, const Output& shape,
                    const std::string& labels, size_t begin, size_t end) {
  const size_t ellipsis = labels.find(kEllipsis);
  const auto place = [&](size_t i) {
    const auto at = static_cast<int32_t>(i);
    return i > ellipsis ? at - static_cast<int32_t>(labels.size()) : at;
  };
  return ops::StridedSlice(scope, shape, {place(begin)}, {place(end)}, {1},
                           {.end_mask = end == labels.size() ? 1 : 0});
}

// Ones for all values of `labels`, with the sizes that they have in `x`.
Operand OnesOf(const Scope& scope, const Operand& x,
               const std::string& labels) {
  const Output shape = ops::Shape(scope, x.tensor);
  InputList sizes;
  for (const char label : labels) {
    const size_t at = x.labels.find(label);
    sizes.push_back(SizesBetween(scope, shape, x.labels, at, at + 1));
  }
  const Output dims =
      sizes.size() == 1 ? sizes[0].output() : ops::Concat(scope, sizes, 0);
  const Output one = ops::OnesLike(scope, ZeroLike(scope, x.tensor));
  return {ops::Fill(scope, dims, one), labels};
}

// `factors` are the gradient and, for two operands, the other operand. Labels
// of `x` alone were summed over, so each of these elements gets the whole
// gradient.
Operand GradientOf(const Scope& scope, std::vector<Operand> factors,
                   const Operand& x) {
  std::string known;
  for (const Operand& factor : factors) known += factor.labels;
  const std::string summed = LabelsBeside(x.labels, known);
  if (!summed.empty()) {
    if (factors.size() == 2) {
      factors = {Multiply(scope, factors, Without(x.labels, summed))};
    }
    factors.push_back(OnesOf(scope, x, summed));
  }
  return Multiply(scope, factors, x.labels);
}

Output EllipsisSizes(const Scope& scope, const Operand& x,
                     const Output& shape) {
  const size_t at = x.labels.find(kEllipsis);
  return SizesBetween(scope, shape, x.labels, at, at + 1);
}

// Sums over the dimensions along which `x` was broadcast.
Output SumBroadcast(const Scope& scope, const Operand& gradient,
                    const Output& axes, const Output& shape) {
  const auto first = static_cast<int32_t>(gradient.labels.find(kEllipsis));
  const Output summed =
      ops::Sum(scope, gradient.tensor, ops::Add(scope, axes, first));
  return ops::Reshape(scope, summed, shape);
}

std::vector<Gradient> GradientsOfTwo(const Scope& scope, Operand x, Operand y,
                                     const Operand& grad) {
  const bool broadcasts = absl::StrContains(grad.labels, kEllipsis);
  for (Operand* operand : {&x, &y}) {
    if (broadcasts && !absl::StrContains(operand->labels, kEllipsis)) {
      operand->labels.push_back(kEllipsis);
    }
  }
  const auto conjugate = [&](const Operand& operand) {
    return Operand{Conjugate(scope, operand.tensor), operand.labels};
  };
  const Operand dx = GradientOf(scope, {grad, conjugate(y)}, x);
  const Operand dy = GradientOf(scope, {grad, conjugate(x)}, y);
  if (!broadcasts) return {dx.tensor, dy.tensor};
  const Output x_shape = ops::Shape(scope, x.tensor);
  const Output y_shape = ops::Shape(scope, y.tensor);
  const auto [x_axes, y_axes] =
      ops::BroadcastGradientArgs(scope, EllipsisSizes(scope, x, x_shape),
                                 EllipsisSizes(scope, y, y_shape));
  return {SumBroadcast(scope, dx, x_axes, x_shape),
          SumBroadcast(scope, dy, y_axes, y_shape)};
}

absl::StatusOr<std::vector<Gradient>> EinsumGradient(
    const Scope& scope, const Node& node, const std::vector<Gradient>& grads) {
  ASSIGN_OR_RETURN(const EinsumEquation equation,
                   ParseEinsum(*node.attr<std::string>("equation")));
  const Operand grad = {grads[0].dense, equation.output};
  const Operand x = {Output(node.input(0)), equation.inputs[0]};
  if (equation.inputs.size() == 1) {
    return std::vector<Gradient>{GradientOf(scope, {grad}, x).tensor};
  }
  const Operand y = {Output(node.input(1)), equation.inputs[1]};
  return GradientsOfTwo(scope, x, y, grad);
}

}  // namespace

void RegisterEinsumGradients(GradientRegistry& registry) {
  registry.Register("Einsum", EinsumGradient);
}

}  // namespace weft
