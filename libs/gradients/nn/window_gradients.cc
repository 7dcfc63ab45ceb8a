// Gradients of convolutions, pools and normalization. Formulas are TensorFlow's
// (python/ops/nn_grad.py).
#include <string>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/gradients/math/broadcast_gradient.h"
#include "libs/gradients/nn/nn_gradients.h"
#include "libs/gradients/registry/gradient_registry.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/nn/window_ops.h"

namespace weft {
namespace {

using Gradients = std::vector<Gradient>;
using Result = absl::StatusOr<Gradients>;

// The attrs of `node` without those that follow from its inputs.
AttrMap AttrsOf(const Node& node, std::initializer_list<const char*> names) {
  AttrMap attrs;
  for (const char* name : names) {
    auto found = node.attrs().find(name);
    if (found != node.attrs().end()) attrs[name] = found->second;
  }
  return attrs;
}

AttrMap ConvAttrs(const Node& node) {
  return AttrsOf(node, {"strides", "padding", "explicit_paddings",
                        "data_format", "dilations"});
}
AttrMap PoolAttrs(const Node& node) {
  return AttrsOf(node, {"ksize", "strides", "padding", "data_format"});
}

Output In(const Node& node, int i) { return Output(node.input(i)); }

// ---- Convolutions ----

// A convolution op and the ops for the gradients of its input and its filter.
struct ConvOps {
  const char* conv;
  const char* input;
  const char* filter;
};

Result OfConv(const ConvOps& ops, const Scope& scope, const Node& node,
              const Gradients& grads) {
  const Output grad = grads[0].dense;
  return Gradients{
      scope.AddOutput(ops.input,
                      {ShapeOf(scope, In(node, 0)), In(node, 1), grad},
                      ConvAttrs(node)),
      scope.AddOutput(ops.filter,
                      {In(node, 0), ShapeOf(scope, In(node, 1)), grad},
                      ConvAttrs(node))};
}

// Inputs: sizes, filter, gradient of the output.
Result OfBackpropInput(const ConvOps& ops, const Scope& scope, const Node& node,
                       const Gradients& grads) {
  const Output grad = grads[0].dense;
  return Gradients{
      Gradient(),
      scope.AddOutput(ops.filter,
                      {grad, ShapeOf(scope, In(node, 1)), In(node, 2)},
                      ConvAttrs(node)),
      scope.AddOutput(ops.conv, {grad, In(node, 1)}, ConvAttrs(node))};
}

// Inputs: input, sizes, gradient of the output.
Result OfBackpropFilter(const ConvOps& ops, const Scope& scope,
                        const Node& node, const Gradients& grads) {
  const Output grad = grads[0].dense;
  return Gradients{
      scope.AddOutput(ops.input,
                      {ShapeOf(scope, In(node, 0)), grad, In(node, 2)},
                      ConvAttrs(node)),
      Gradient(),
      scope.AddOutput(ops.conv, {In(node, 0), grad}, ConvAttrs(node))};
}

void RegisterConvolutions(GradientRegistry& registry, const ConvOps& ops) {
  registry.Register(ops.conv, [ops](const Scope& scope, const Node& node,
                                    const Gradients& grads) {
    return OfConv(ops, scope, node, grads);
  });
  registry.Register(ops.input, [ops](const Scope& scope, const Node& node,
                                     const Gradients& grads) {
    return OfBackpropInput(ops, scope, node, grads);
  });
  registry.Register(ops.filter, [ops](const Scope& scope, const Node& node,
                                      const Gradients& grads) {
    return OfBackpropFilter(ops, scope, node, grads);
  });
}

// ---- Pools ----

Result OfAvgPool(const Scope& scope, const Node& node, const Gradients& grads) {
  return Gradients{scope.AddOutput(
      "AvgPoolGrad", {ShapeOf(scope, In(node, 0)), grads[0].dense},
      PoolAttrs(node))};
}

Result OfAvgPoolGrad(const Scope& scope, const Node& node,
                     const Gradients& grads) {
  return Gradients{Gradient(), scope.AddOutput("AvgPool", {grads[0].dense},
                                               PoolAttrs(node))};
}

Result OfMaxPool(const Scope& scope, const Node& node, const Gradients& grads) {
  return Gradients{scope.AddOutput(
      "MaxPoolGrad", {In(node, 0), Output(&node, 0), grads[0].dense},
      AttrsOf(node, {"ksize", "strides", "padding", "explicit_paddings",
                     "data_format"}))};
}

// Zeros like `x` that are dead if the gradient is, in a branch that was not
// taken.
Output ZerosWith(const Scope& scope, const Output& grad, const Output& x) {
  return ops::ZerosLike(scope.WithControlDependencies({Operation(grad.node())}),
                        x);
}

// The position of the maximum does not change.
Result OfMaxPoolGrad(const Scope& scope, const Node& node,
                     const Gradients& grads) {
  const Output grad = grads[0].dense;
  return Gradients{
      ZerosWith(scope, grad, In(node, 0)), ZerosWith(scope, grad, In(node, 1)),
      scope.AddOutput("MaxPoolGradGrad", {In(node, 0), In(node, 1), grad},
                      PoolAttrs(node))};
}

Result OfMaxPoolGradGrad(const Scope& scope, const Node& node,
                         const Gradients& grads) {
  const Output grad = grads[0].dense;
  return Gradients{
      ZerosWith(scope, grad, In(node, 0)), ZerosWith(scope, grad, In(node, 1)),
      scope.AddOutput("MaxPoolGrad", {In(node, 0), In(node, 1), grad},
                      PoolAttrs(node))};
}

// ---- Normalization ----

Result OfLrn(const Scope& scope, const Node& node, const Gradients& grads) {
  return Gradients{scope.AddOutput(
      "LRNGrad", {grads[0].dense, In(node, 0), Output(&node, 0)},
      AttrsOf(node, {"depth_radius", "bias", "alpha", "beta"}))};
}

// The gradient uses what the forward op saved; in inference, the mean and the
// variance that it was given.
Result OfBatchNorm(const char* gradient_op, const Scope& scope,
                   const Node& node, const Gradients& grads) {
  if (grads[0].IsNone()) return Gradients(5);
  const bool is_training = *node.attr<bool>("is_training");
  InputList inputs = {grads[0].dense, In(node, 0), In(node, 1),
                      is_training ? Output(&node, 3) : In(node, 3),
                      is_training ? Output(&node, 4) : In(node, 4)};
  // FusedBatchNormV3 saves one more output.
  if (node.num_outputs() > 5) inputs.emplace_back(Output(&node, 5));
  const Node* gradient =
      scope.AddNode(gradient_op, inputs,
                    AttrsOf(node, {"epsilon", "data_format", "is_training"}));
  if (gradient == nullptr) return Gradients(5);
  return Gradients{Output(gradient, 0), Output(gradient, 1),
                   Output(gradient, 2), Gradient(), Gradient()};
}

Result NoSecond(const Scope&, const Node& node, const Gradients&) {
  return absl::UnimplementedError(absl::StrCat("the gradient of ", node.type(),
                                               " (", node.name(),
                                               ") is not supported yet"));
}

void RegisterBatchNorm(GradientRegistry& registry, const char* op,
                       const char* gradient_op) {
  registry.Register(op, [gradient_op](const Scope& scope, const Node& node,
                                      const Gradients& grads) {
    return OfBatchNorm(gradient_op, scope, node, grads);
  });
  registry.Register(gradient_op, NoSecond);
}

}  // namespace

void RegisterNnWindowGradients(GradientRegistry& registry) {
  RegisterConvolutions(
      registry, {"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"});
  RegisterConvolutions(
      registry, {"DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput",
                 "DepthwiseConv2dNativeBackpropFilter"});
  registry.Register("AvgPool", OfAvgPool);
  registry.Register("AvgPoolGrad", OfAvgPoolGrad);
  registry.Register("MaxPool", OfMaxPool);
  registry.Register("MaxPoolGrad", OfMaxPoolGrad);
  registry.Register("MaxPoolGradGrad", OfMaxPoolGradGrad);
  registry.Register("LRN", OfLrn);
  registry.Register("LRNGrad", NoSecond);
  RegisterBatchNorm(registry, "FusedBatchNorm", "FusedBatchNormGrad");
  RegisterBatchNorm(registry, "FusedBatchNormV2", "FusedBatchNormGradV2");
  RegisterBatchNorm(registry, "FusedBatchNormV3", "FusedBatchNormGradV3");
}

}  // namespace weft
