// Gradients of activations, biases, softmax and its losses. Formulas are
// TensorFlow's (python/ops/nn_grad.py).
#include "libs/gradients/nn/nn_gradients.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/gradients/registry/gradient_registry.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/nn/nn_ops.h"

namespace weft {
namespace {

using Gradients = std::vector<Gradient>;
using Result = absl::StatusOr<Gradients>;
using ActivationGrad = Output (*)(const Scope&, const Input&, const Input&);

Output OutputOf(const Node& node, int i = 0) { return Output(&node, i); }

// ---- Activations ----

// Relu and Relu6 use their output, so that one tensor less is kept alive.
template <ActivationGrad kGrad>
Result FromOutput(const Scope& scope, const Node& node,
                  const Gradients& grads) {
  return Gradients{kGrad(scope, grads[0].dense, OutputOf(node))};
}

template <ActivationGrad kGrad>
Result FromInput(const Scope& scope, const Node& node, const Gradients& grads) {
  return Gradients{kGrad(scope, grads[0].dense, node.input(0))};
}

// The gradient of a rectifier's gradient: linear in its first input, and
// constant in its second. Zeros are made from the gradient, which has the shape
// of both inputs and is dead in a branch that was not taken.
template <ActivationGrad kGrad>
Result OfRectifierGrad(const Scope& scope, const Node& node,
                       const Gradients& grads) {
  const Output grad = grads[0].dense;
  return Gradients{kGrad(scope, grad, node.input(1)),
                   ops::ZerosLike(scope, grad)};
}

// The gradient of EluGrad and SeluGrad: dy * (y + constant) for y < 0.
template <ActivationGrad kGrad>
Result OfExponentialGrad(const Scope& scope, const Node& node,
                         const Gradients& grads) {
  const Output dy = node.input(0);
  const Output y = node.input(1);
  const Output grad = grads[0].dense;
  return Gradients{
      kGrad(scope, grad, y),
      ops::Select(scope, ops::Less(scope, y, ops::ZerosLike(scope, y)),
                  ops::Mul(scope, grad, dy), ops::ZerosLike(scope, y))};
}

// The gradient of dy / (exp(-x) + 1).
Result OfSoftplusGrad(const Scope& scope, const Node& node,
                      const Gradients& grads) {
  const Output dy = node.input(0);
  const Output x = node.input(1);
  const Output grad = grads[0].dense;
  const Output base =
      ops::Add(scope, ops::Add(scope, ops::Exp(scope, ops::Neg(scope, x)), 2.0),
               ops::Exp(scope, x));
  return Gradients{ops::SoftplusGrad(scope, grad, x),
                   ops::RealDiv(scope, ops::Mul(scope, grad, dy), base)};
}

// The gradient of dy / (1 + |x|)^2.
Result OfSoftsignGrad(const Scope& scope, const Node& node,
                      const Gradients& grads) {
  const Output dy = node.input(0);
  const Output x = node.input(1);
  const Output grad = grads[0].dense;
  const Output base = ops::Add(scope, ops::Abs(scope, x), 1.0);
  const Output slope =
      ops::RealDiv(scope, ops::Mul(scope, ops::Sign(scope, x), -2.0),
                   ops::Mul(scope, base, ops::Square(scope, base)));
  return Gradients{ops::SoftsignGrad(scope, grad, x),
                   ops::Mul(scope, ops::Mul(scope, grad, dy), slope)};
}

Result OfLeakyRelu(const Scope& scope, const Node& node,
                   const Gradients& grads) {
  return Gradients{ops::LeakyReluGrad(scope, grads[0].dense, node.input(0),
                                      *node.attr<float>("alpha"))};
}

Result OfLeakyReluGrad(const Scope& scope, const Node& node,
                       const Gradients& grads) {
  const Output grad = grads[0].dense;
  return Gradients{ops::LeakyReluGrad(scope, grad, node.input(1),
                                      *node.attr<float>("alpha")),
                   ops::ZerosLike(scope, grad)};
}

void RegisterActivations(GradientRegistry& registry) {
  registry.Register("Relu", FromOutput<ops::ReluGrad>);
  registry.Register("ReluGrad", OfRectifierGrad<ops::ReluGrad>);
  registry.Register("Relu6", FromOutput<ops::Relu6Grad>);
  registry.Register("Relu6Grad", OfRectifierGrad<ops::Relu6Grad>);
  registry.Register("Elu", FromOutput<ops::EluGrad>);
  registry.Register("EluGrad", OfExponentialGrad<ops::EluGrad>);
  registry.Register("Selu", FromOutput<ops::SeluGrad>);
  registry.Register("SeluGrad", OfExponentialGrad<ops::SeluGrad>);
  registry.Register("Softplus", FromInput<ops::SoftplusGrad>);
  registry.Register("SoftplusGrad", OfSoftplusGrad);
  registry.Register("Softsign", FromInput<ops::SoftsignGrad>);
  registry.Register("SoftsignGrad", OfSoftsignGrad);
  registry.Register("LeakyRelu", OfLeakyRelu);
  registry.Register("LeakyReluGrad", OfLeakyReluGrad);
}

// ---- Biases ----

Result OfBiasAdd(const Scope& scope, const Node& node, const Gradients& grads) {
  const Output grad = grads[0].dense;
  return Gradients{
      grad,
      ops::BiasAddGrad(scope, grad, *node.attr<std::string>("data_format"))};
}

// BiasAddGrad sums over all but the channels; its gradient is broadcast over
// them.
Result OfBiasAddGrad(const Scope& scope, const Node& node,
                     const Gradients& grads) {
  const Output x = node.input(0);
  Output grad = grads[0].dense;
  if (*node.attr<std::string>("data_format") == "NCHW") {
    if (!x.shape().has_rank()) {
      return absl::UnimplementedError(
          absl::StrCat("the gradient of ", node.name(),
                       " (BiasAddGrad) in format NCHW needs the rank of its "
                       "input to be known"));
    }
    // Channels are followed by rank - 2 dimensions.
    std::vector<int32_t> dims(x.shape().rank() - 1, 1);
    dims[0] = -1;
    grad = ops::Reshape(scope, grad,
                        Tensor::Vector(absl::Span<const int32_t>(dims)));
  }
  return Gradients{ops::BroadcastTo(scope, grad, ops::Shape(scope, x))};
}

// ---- Softmax ----

// The sum of each row, as a column.
Output RowSums(const Scope& scope, const Output& x) {
  return ops::Sum(scope, x, Tensor::Vector({-1}), {.keep_dims = true});
}

Result OfSoftmax(const Scope& scope, const Node& node, const Gradients& grads) {
  const Output y = OutputOf(node);
  const Output grad = grads[0].dense;
  const Output sums = RowSums(scope, ops::Mul(scope, grad, y));
  return Gradients{ops::Mul(scope, ops::Sub(scope, grad, sums), y)};
}

Result OfLogSoftmax(const Scope& scope, const Node& node,
                    const Gradients& grads) {
  const Output softmax = ops::Exp(scope, OutputOf(node));
  const Output grad = grads[0].dense;
  return Gradients{
      ops::Sub(scope, grad, ops::Mul(scope, RowSums(scope, grad), softmax))};
}

// Each row of `matrix` times its element of `vector`.
Output ScaleRows(const Scope& scope, const Output& vector,
                 const Output& matrix) {
  return ops::Mul(scope, ops::ExpandDims(scope, vector, -1), matrix);
}

// The gradient through the loss, and through its gradient if that was used
// (second derivatives). At least one of the outputs' gradients must not be
// None.
Output CrossEntropyGrad(const Scope& scope, const Node& node,
                        const Gradients& grads) {
  Output result;
  if (!grads[0].IsNone()) {
    result = ScaleRows(scope, grads[0].dense, OutputOf(node, 1));
  }
  if (grads[1].IsNone()) return result;
  const Output grad = grads[1].dense;
  const Output softmax = ops::Softmax(scope, node.input(0));
  const Output sums = RowSums(scope, ops::Mul(scope, grad, softmax));
  const Output second = ops::Mul(scope, ops::Sub(scope, grad, sums), softmax);
  return result ? ops::Add(scope, result, second) : second;
}

Result OfCrossEntropy(const Scope& scope, const Node& node,
                      const Gradients& grads) {
  Gradients result = {CrossEntropyGrad(scope, node, grads), Gradient()};
  if (!grads[0].IsNone()) {
    const Output log_softmax = ops::LogSoftmax(scope, node.input(0));
    result[1] = ScaleRows(scope, grads[0].dense, ops::Neg(scope, log_softmax));
  }
  return result;
}

Result OfSparseCrossEntropy(const Scope& scope, const Node& node,
                            const Gradients& grads) {
  return Gradients{CrossEntropyGrad(scope, node, grads), Gradient()};
}

// ---- Top k ----

// Scatters the gradients of the values to their source positions.
Result OfTopK(const Scope& scope, const Node& node, const Gradients& grads) {
  Gradients result(node.num_inputs());
  if (grads[0].IsNone()) return result;
  const Output input = node.input(0);
  const Output indices = ops::Cast(scope, OutputOf(node, 1), DT_INT64);
  const Output shape = ops::Shape(scope, input, {.out_type = DT_INT64});
  const Output size = ops::Size(scope, input, {.out_type = DT_INT64});
  const Output columns =
      ops::Gather(scope, shape, ops::Sub(scope, ops::Rank(scope, input), 1));
  // Row r begins at r * columns.
  const Output begins =
      ops::Range(scope, Tensor::Scalar(int64_t{0}), size, columns);
  const Output rows = ops::Reshape(
      scope, indices,
      ops::Stack(scope, {ops::Size(scope, begins, {.out_type = DT_INT64}),
                         Tensor::Scalar(int64_t{-1})}));
  const Output positions =
      ops::Add(scope, rows, ops::ExpandDims(scope, begins, -1));
  const Output flat = ops::UnsortedSegmentSum(
      scope, ops::Reshape(scope, grads[0].dense, Tensor::Vector({-1})),
      ops::Reshape(scope, positions, Tensor::Vector({-1})), size);
  result[0] = ops::Reshape(scope, flat, shape);
  return result;
}

}  // namespace

void RegisterNnGradients(GradientRegistry& registry) {
  RegisterActivations(registry);
  registry.Register("BiasAdd", OfBiasAdd);
  registry.Register("BiasAddGrad", OfBiasAddGrad);
  registry.Register("Softmax", OfSoftmax);
  registry.Register("LogSoftmax", OfLogSoftmax);
  registry.Register("SoftmaxCrossEntropyWithLogits", OfCrossEntropy);
  registry.Register("SparseSoftmaxCrossEntropyWithLogits",
                    OfSparseCrossEntropy);
  registry.Register("TopK", OfTopK);
  registry.Register("TopKV2", OfTopK);
  registry.RegisterNone("InTopK");
  registry.RegisterNone("InTopKV2");
  RegisterNnWindowGradients(registry);
}

}  // namespace weft
