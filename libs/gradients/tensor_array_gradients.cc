// Gradients of arrays of tensors: what was read is written to the array of
// gradients, what was written is read from it. Gradients of the flow order
// these, so that all is written before it is read.
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "libs/base/status.h"
#include "libs/gradients/gradient_registry.h"
#include "libs/ops/array_ops.h"
#include "libs/ops/tensor_array_ops.h"

namespace weft {
namespace {

using Gradients = std::vector<Gradient>;

// Names one call of AddGradients: the part of its scope that is called
// "gradients", with what is before it.
std::string SourceOf(const Scope& scope) {
  std::string source;
  for (absl::string_view part : absl::StrSplit(scope.prefix(), '/')) {
    absl::StrAppend(&source, source.empty() ? "" : "/", part);
    if (absl::StartsWith(part, "gradients")) return source;
  }
  return "gradients";
}

// The array of gradients of the one at input 0, once `flow` is there.
ops::TensorArrayOutputs GradientArray(const Scope& scope, const Node& node,
                                      const Output& flow) {
  const ops::TensorArrayOutputs array =
      ops::TensorArrayGrad(scope, Output(node.input(0)), flow, SourceOf(scope));
  if (!array.handle) return array;
  const Output ordered =
      ops::Identity(scope.WithName("gradient_flow")
                        .WithControlDependencies({Operation(array.handle)}),
                    flow);
  return {array.handle, ordered};
}

Output FlowIn(const Node& node) {
  return Output(node.input(node.num_inputs() - 1));
}

// What has read: handle, index or indices, flow.
absl::StatusOr<Gradients> ReadGrad(const Scope& scope, const Node& node,
                                   const Gradients& grads) {
  const auto array = GradientArray(scope, node, FlowIn(node));
  const Output flow = ops::TensorArrayWrite(
      scope, array.handle, Output(node.input(1)), grads[0].dense, array.flow);
  return Gradients{Gradient(), Gradient(), flow};
}

absl::StatusOr<Gradients> GatherGrad(const Scope& scope, const Node& node,
                                     const Gradients& grads) {
  const auto array = GradientArray(scope, node, FlowIn(node));
  const Output flow = ops::TensorArrayScatter(
      scope, array.handle, Output(node.input(1)), grads[0].dense, array.flow);
  return Gradients{Gradient(), Gradient(), flow};
}

absl::StatusOr<Gradients> ConcatGrad(const Scope& scope, const Node& node,
                                     const Gradients& grads) {
  if (grads[0].IsNone()) return Gradients(node.num_inputs());
  const auto array = GradientArray(scope, node, FlowIn(node));
  const Output flow = ops::TensorArraySplit(scope, array.handle, grads[0].dense,
                                            Output(&node, 1), array.flow);
  return Gradients{Gradient(), flow};
}

// What has written: handle, index or indices, value, flow; the gradient of the
// flow says that all is in the array of gradients.
absl::StatusOr<Gradients> WriteGrad(const Scope& scope, const Node& node,
                                    const Gradients& grads) {
  const auto array = GradientArray(scope, node, grads[0].dense);
  const Output value = Output(node.input(2));
  const Output grad = ops::TensorArrayRead(
      scope, array.handle, Output(node.input(1)), array.flow, value.dtype());
  return Gradients{Gradient(), Gradient(), grad, grads[0]};
}

absl::StatusOr<Gradients> ScatterGrad(const Scope& scope, const Node& node,
                                      const Gradients& grads) {
  const auto array = GradientArray(scope, node, grads[0].dense);
  const Output value = Output(node.input(2));
  const Output grad = ops::TensorArrayGather(
      scope, array.handle, Output(node.input(1)), array.flow, value.dtype());
  return Gradients{Gradient(), Gradient(), grad, grads[0]};
}

// Handle, value, lengths, flow.
absl::StatusOr<Gradients> SplitGrad(const Scope& scope, const Node& node,
                                    const Gradients& grads) {
  const auto array = GradientArray(scope, node, grads[0].dense);
  const Output value = Output(node.input(1));
  const Output grad =
      ops::TensorArrayConcat(scope, array.handle, array.flow, value.dtype())
          .value;
  return Gradients{Gradient(), grad, Gradient(), grads[0]};
}

}  // namespace

void RegisterTensorArrayGradients(GradientRegistry& registry) {
  registry.Register("TensorArrayReadV3", ReadGrad);
  registry.Register("TensorArrayGatherV3", GatherGrad);
  registry.Register("TensorArrayConcatV3", ConcatGrad);
  registry.Register("TensorArrayWriteV3", WriteGrad);
  registry.Register("TensorArrayScatterV3", ScatterGrad);
  registry.Register("TensorArraySplitV3", SplitGrad);
  for (const char* op : {"TensorArrayV3", "TensorArrayGradV3",
                         "TensorArraySizeV3", "TensorArrayCloseV3", "StackV2",
                         "StackPushV2", "StackPopV2", "StackCloseV2"}) {
    registry.RegisterNone(op);
  }
}

}  // namespace weft
