// Gradients of tensor arrays. Gradients of reads are written to the array of
// gradients, and gradients of writes are read from it. Gradients of the flow
// order the writes before the reads.
#include "absl/strings/match.h"
#include "libs/base/status.h"
#include "libs/gradients/registry/gradient_registry.h"
#include "libs/gradients/resource/resource_gradients.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/resource/tensor_array_ops.h"

namespace weft {
namespace {

using Gradients = std::vector<Gradient>;

// The versions of an op on arrays, with a different kind of handle each.
struct Versions {
  const char* first;
  const char* second;
  const char* third;
};

// The op on an array in the version of `node`.
Output SameVersion(const Scope& scope, const Node& node,
                   const Versions& versions,
                   std::initializer_list<Input> inputs, AttrMap attrs = {}) {
  const char* op = versions.first;
  if (absl::EndsWith(node.type(), "V2")) op = versions.second;
  if (absl::EndsWith(node.type(), "V3")) op = versions.third;
  return scope.AddOutput(op, inputs, std::move(attrs));
}

struct ArrayAndFlow {
  Output handle, flow;
};

// The array of gradients of the array at input 0, after `flow`.
ArrayAndFlow GradientArray(const Scope& scope, const Node& node,
                           const Output& flow) {
  const Output handle = SameVersion(
      scope, node,
      {"TensorArrayGrad", "TensorArrayGradV2", "TensorArrayGradV3"},
      {Output(node.input(0)), flow}, {{"source", scope.gradient_source()}});
  if (!handle) return {};
  const Output ordered =
      ops::Identity(scope.WithName("gradient_flow")
                        .WithControlDependencies({Operation(handle)}),
                    flow);
  return {handle, ordered};
}

Output FlowIn(const Node& node) {
  return Output(node.input(node.num_inputs() - 1));
}

// The gradient of a read, whose inputs are handle, index or indices, and flow.
absl::StatusOr<Gradients> ReadGrad(const Scope& scope, const Node& node,
                                   const Gradients& grads) {
  const auto array = GradientArray(scope, node, FlowIn(node));
  const Output flow = SameVersion(
      scope, node,
      {"TensorArrayWrite", "TensorArrayWriteV2", "TensorArrayWriteV3"},
      {array.handle, Output(node.input(1)), grads[0].dense, array.flow});
  return Gradients{Gradient(), Gradient(), flow};
}

absl::StatusOr<Gradients> GatherGrad(const Scope& scope, const Node& node,
                                     const Gradients& grads) {
  const auto array = GradientArray(scope, node, FlowIn(node));
  const Output flow = SameVersion(
      scope, node,
      {"TensorArrayScatter", "TensorArrayScatterV2", "TensorArrayScatterV3"},
      {array.handle, Output(node.input(1)), grads[0].dense, array.flow});
  return Gradients{Gradient(), Gradient(), flow};
}

absl::StatusOr<Gradients> ConcatGrad(const Scope& scope, const Node& node,
                                     const Gradients& grads) {
  if (grads[0].IsNone()) return Gradients(node.num_inputs());
  const auto array = GradientArray(scope, node, FlowIn(node));
  const Output flow = SameVersion(
      scope, node,
      {"TensorArraySplit", "TensorArraySplitV2", "TensorArraySplitV3"},
      {array.handle, grads[0].dense, Output(&node, 1), array.flow});
  return Gradients{Gradient(), flow};
}

// The gradient of a write, whose inputs are handle, index or indices, value and
// flow. The gradient of the flow orders it after all writes to the array of
// gradients.
absl::StatusOr<Gradients> WriteGrad(const Scope& scope, const Node& node,
                                    const Gradients& grads) {
  const auto array = GradientArray(scope, node, grads[0].dense);
  const Output value = Output(node.input(2));
  const Output grad =
      SameVersion(scope, node,
                  {"TensorArrayRead", "TensorArrayReadV2", "TensorArrayReadV3"},
                  {array.handle, Output(node.input(1)), array.flow},
                  {{"dtype", value.dtype()}});
  return Gradients{Gradient(), Gradient(), grad, grads[0]};
}

absl::StatusOr<Gradients> ScatterGrad(const Scope& scope, const Node& node,
                                      const Gradients& grads) {
  const auto array = GradientArray(scope, node, grads[0].dense);
  const Output value = Output(node.input(2));
  const Output grad = SameVersion(
      scope, node,
      {"TensorArrayGather", "TensorArrayGatherV2", "TensorArrayGatherV3"},
      {array.handle, Output(node.input(1)), array.flow},
      {{"dtype", value.dtype()}});
  return Gradients{Gradient(), Gradient(), grad, grads[0]};
}

// Handle, value, lengths, flow.
absl::StatusOr<Gradients> SplitGrad(const Scope& scope, const Node& node,
                                    const Gradients& grads) {
  const auto array = GradientArray(scope, node, grads[0].dense);
  const Output value = Output(node.input(1));
  const Output grad = SameVersion(
      scope, node,
      {"TensorArrayConcat", "TensorArrayConcatV2", "TensorArrayConcatV3"},
      {array.handle, array.flow}, {{"dtype", value.dtype()}});
  return Gradients{Gradient(), grad, Gradient(), grads[0]};
}

// Handle, flow: all elements as rows.
absl::StatusOr<Gradients> PackGrad(const Scope& scope, const Node& node,
                                   const Gradients& grads) {
  const auto array = GradientArray(scope, node, FlowIn(node));
  return Gradients{Gradient(),
                   scope.AddOutput("TensorArrayUnpack",
                                   {array.handle, grads[0].dense, array.flow})};
}

// Handle, value, flow.
absl::StatusOr<Gradients> UnpackGrad(const Scope& scope, const Node& node,
                                     const Gradients& grads) {
  const auto array = GradientArray(scope, node, grads[0].dense);
  const Output grad =
      scope.AddOutput("TensorArrayPack", {array.handle, array.flow},
                      {{"dtype", Output(node.input(1)).dtype()}});
  return Gradients{Gradient(), grad, grads[0]};
}

}  // namespace

void RegisterTensorArrayGradients(GradientRegistry& registry) {
  registry.Register("TensorArrayRead", ReadGrad);
  registry.Register("TensorArrayReadV2", ReadGrad);
  registry.Register("TensorArrayReadV3", ReadGrad);
  registry.Register("TensorArrayGather", GatherGrad);
  registry.Register("TensorArrayGatherV2", GatherGrad);
  registry.Register("TensorArrayGatherV3", GatherGrad);
  registry.Register("TensorArrayConcat", ConcatGrad);
  registry.Register("TensorArrayConcatV2", ConcatGrad);
  registry.Register("TensorArrayConcatV3", ConcatGrad);
  registry.Register("TensorArrayWrite", WriteGrad);
  registry.Register("TensorArrayWriteV2", WriteGrad);
  registry.Register("TensorArrayWriteV3", WriteGrad);
  registry.Register("TensorArrayScatter", ScatterGrad);
  registry.Register("TensorArrayScatterV2", ScatterGrad);
  registry.Register("TensorArrayScatterV3", ScatterGrad);
  registry.Register("TensorArraySplit", SplitGrad);
  registry.Register("TensorArraySplitV2", SplitGrad);
  registry.Register("TensorArraySplitV3", SplitGrad);
  registry.Register("TensorArrayPack", PackGrad);
  registry.Register("TensorArrayUnpack", UnpackGrad);
  for (const char* op : {"TensorArray",
                         "TensorArrayV2",
                         "TensorArrayV3",
                         "TensorArrayGrad",
                         "TensorArrayGradV2",
                         "TensorArrayGradV3",
                         "TensorArraySize",
                         "TensorArraySizeV2",
                         "TensorArraySizeV3",
                         "TensorArrayClose",
                         "TensorArrayCloseV2",
                         "TensorArrayCloseV3",
                         "Stack",
                         "StackV2",
                         "StackPush",
                         "StackPushV2",
                         "StackPop",
                         "StackPopV2",
                         "StackClose",
                         "StackCloseV2"}) {
    registry.RegisterNone(op);
  }
}

}  // namespace weft
