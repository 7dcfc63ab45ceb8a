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

// The version of a node's op: "", "V2" or "V3".
std::string VersionOf(const Node& node) {
  for (const char* version : {"V2", "V3"}) {
    if (absl::EndsWith(node.type(), version)) return version;
  }
  return "";
}

// The op `name` on an array, in the version of `node`.
Output SameVersion(const Scope& scope, const Node& node, absl::string_view name,
                   std::initializer_list<Input> inputs, AttrMap attrs = {}) {
  return scope.AddOutput(absl::StrCat("TensorArray", name, VersionOf(node)),
                         inputs, std::move(attrs));
}

struct ArrayAndFlow {
  Output handle, flow;
};

// The array of gradients of the one at input 0, once `flow` is there.
ArrayAndFlow GradientArray(const Scope& scope, const Node& node,
                           const Output& flow) {
  const Output handle =
      SameVersion(scope, node, "Grad", {Output(node.input(0)), flow},
                  {{"source", SourceOf(scope)}});
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

// What has read: handle, index or indices, flow.
absl::StatusOr<Gradients> ReadGrad(const Scope& scope, const Node& node,
                                   const Gradients& grads) {
  const auto array = GradientArray(scope, node, FlowIn(node));
  const Output flow = SameVersion(
      scope, node, "Write",
      {array.handle, Output(node.input(1)), grads[0].dense, array.flow});
  return Gradients{Gradient(), Gradient(), flow};
}

absl::StatusOr<Gradients> GatherGrad(const Scope& scope, const Node& node,
                                     const Gradients& grads) {
  const auto array = GradientArray(scope, node, FlowIn(node));
  const Output flow = SameVersion(
      scope, node, "Scatter",
      {array.handle, Output(node.input(1)), grads[0].dense, array.flow});
  return Gradients{Gradient(), Gradient(), flow};
}

absl::StatusOr<Gradients> ConcatGrad(const Scope& scope, const Node& node,
                                     const Gradients& grads) {
  if (grads[0].IsNone()) return Gradients(node.num_inputs());
  const auto array = GradientArray(scope, node, FlowIn(node));
  const Output flow =
      SameVersion(scope, node, "Split",
                  {array.handle, grads[0].dense, Output(&node, 1), array.flow});
  return Gradients{Gradient(), flow};
}

// What has written: handle, index or indices, value, flow; the gradient of the
// flow says that all is in the array of gradients.
absl::StatusOr<Gradients> WriteGrad(const Scope& scope, const Node& node,
                                    const Gradients& grads) {
  const auto array = GradientArray(scope, node, grads[0].dense);
  const Output value = Output(node.input(2));
  const Output grad = SameVersion(
      scope, node, "Read", {array.handle, Output(node.input(1)), array.flow},
      {{"dtype", value.dtype()}});
  return Gradients{Gradient(), Gradient(), grad, grads[0]};
}

absl::StatusOr<Gradients> ScatterGrad(const Scope& scope, const Node& node,
                                      const Gradients& grads) {
  const auto array = GradientArray(scope, node, grads[0].dense);
  const Output value = Output(node.input(2));
  const Output grad = SameVersion(
      scope, node, "Gather", {array.handle, Output(node.input(1)), array.flow},
      {{"dtype", value.dtype()}});
  return Gradients{Gradient(), Gradient(), grad, grads[0]};
}

// Handle, value, lengths, flow.
absl::StatusOr<Gradients> SplitGrad(const Scope& scope, const Node& node,
                                    const Gradients& grads) {
  const auto array = GradientArray(scope, node, grads[0].dense);
  const Output value = Output(node.input(1));
  const Output grad =
      SameVersion(scope, node, "Concat", {array.handle, array.flow},
                  {{"dtype", value.dtype()}});
  return Gradients{Gradient(), grad, Gradient(), grads[0]};
}

// Handle, flow: all elements as rows.
absl::StatusOr<Gradients> PackGrad(const Scope& scope, const Node& node,
                                   const Gradients& grads) {
  const auto array = GradientArray(scope, node, FlowIn(node));
  return Gradients{Gradient(),
                   SameVersion(scope, node, "Unpack",
                               {array.handle, grads[0].dense, array.flow})};
}

// Handle, value, flow.
absl::StatusOr<Gradients> UnpackGrad(const Scope& scope, const Node& node,
                                     const Gradients& grads) {
  const auto array = GradientArray(scope, node, grads[0].dense);
  const Output grad =
      SameVersion(scope, node, "Pack", {array.handle, array.flow},
                  {{"dtype", Output(node.input(1)).dtype()}});
  return Gradients{Gradient(), grad, grads[0]};
}

}  // namespace

void RegisterTensorArrayGradients(GradientRegistry& registry) {
  for (const std::string version : {"", "V2", "V3"}) {
    registry.Register("TensorArrayRead" + version, ReadGrad);
    registry.Register("TensorArrayGather" + version, GatherGrad);
    registry.Register("TensorArrayConcat" + version, ConcatGrad);
    registry.Register("TensorArrayWrite" + version, WriteGrad);
    registry.Register("TensorArrayScatter" + version, ScatterGrad);
    registry.Register("TensorArraySplit" + version, SplitGrad);
    for (const char* op : {"TensorArray", "TensorArrayGrad", "TensorArraySize",
                           "TensorArrayClose"}) {
      registry.RegisterNone(op + version);
    }
  }
  registry.Register("TensorArrayPack", PackGrad);
  registry.Register("TensorArrayUnpack", UnpackGrad);
  for (const std::string version : {"", "V2"}) {
    for (const char* op : {"Stack", "StackPush", "StackPop", "StackClose"}) {
      registry.RegisterNone(op + version);
    }
  }
}

}  // namespace weft
