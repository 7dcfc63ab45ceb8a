// Conditions: what flowed through one branch flows back through it alone. A
// Switch's gradient is a Merge, a Merge's are Switches. Loops are not
// supported yet.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/gradients/gradient_registry.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/control/control_flow_ops.h"
#include "libs/ops/math/math_ops.h"

namespace weft {
namespace {

using Gradients = std::vector<Gradient>;

absl::Status NoLoops(const Node& node) {
  return absl::UnimplementedError(
      absl::StrCat("Gradients through loops are not supported yet: node '",
                   node.name(), "'"));
}

absl::StatusOr<Gradients> LoopGrad(const Scope&, const Node& node,
                                   const Gradients&) {
  return NoLoops(node);
}

// Zeros like `output`, computed where that is alive.
Output ZerosWhere(const Scope& scope, const Output& output, DataType dtype) {
  if (RemoveRefType(output.dtype()) != DT_RESOURCE) {
    return ops::ZerosLike(scope, output);
  }
  const Output shape =
      scope.AddOutput("VariableShape", {output}, {{"out_type", DT_INT32}});
  return scope.AddOutput("Fill", {shape, 0}, {{"T", dtype}});
}

// Of the two gradients one is alive. A branch that does not depend on the data
// counts with zeros.
absl::StatusOr<Gradients> SwitchGrad(const Scope& scope, const Node& node,
                                     const Gradients& grads) {
  const Output given = grads[0].IsNone() ? grads[1].dense : grads[0].dense;
  InputList branches;
  for (int i = 0; i < 2; ++i) {
    branches.emplace_back(grads[i].IsNone()
                              ? ZerosWhere(scope, {&node, i}, given.dtype())
                              : grads[i].dense);
  }
  return Gradients{ops::Merge(scope.WithName("cond_grad"), branches).output,
                   Gradient()};
}

// The gradient goes to the input that was alive, which `value_index` tells.
absl::StatusOr<Gradients> MergeGrad(const Scope& scope, const Node& node,
                                    const Gradients& grads) {
  const int id = node.id();
  if (std::any_of(node.inputs().begin(), node.inputs().end(),
                  [id](const OutputTensor& input) {
                    return input.node == nullptr || input.node->id() > id;
                  })) {
    return NoLoops(node);
  }
  if (grads[0].IsNone()) return Gradients(node.num_inputs());
  Gradients result;
  for (int i = 0; i < node.num_inputs(); ++i) {
    const Output taken = ops::Equal(scope, Output(&node, 1), i);
    result.emplace_back(ops::Switch(scope, grads[0].dense, taken).output_true);
  }
  return result;
}

// What passes through Print has the gradient that it would have without.
absl::StatusOr<Gradients> PrintGrad(const Scope&, const Node& node,
                                    const Gradients& grads) {
  Gradients result(node.num_inputs());
  result[0] = grads[0];
  return result;
}

}  // namespace

void RegisterControlGradients(GradientRegistry& registry) {
  for (const char* op : {"Switch", "RefSwitch"}) {
    registry.Register(op, SwitchGrad);
  }
  for (const char* op : {"Merge", "RefMerge"}) {
    registry.Register(op, MergeGrad);
  }
  for (const char* op : {"Enter", "RefEnter", "Exit", "RefExit",
                         "NextIteration", "RefNextIteration"}) {
    registry.Register(op, LoopGrad);
  }
  registry.Register("Print", PrintGrad, /*takes_sparse=*/true);
  // No values, no numbers, or the ends of a partition.
  for (const char* op : {"NoOp", "Assert", "ControlTrigger", "LoopCond",
                         "ToBool", "_Arg", "_Retval", "_Send", "_Recv"}) {
    registry.RegisterNone(op);
  }
  // Calls of functions, and what they hand on: none yet.
  for (const char* op : {"PartitionedCall",
                         "StatefulPartitionedCall",
                         "If",
                         "StatelessIf",
                         "Case",
                         "StatelessCase",
                         "While",
                         "StatelessWhile",
                         "SymbolicGradient",
                         "MapDefun",
                         "EmptyTensorList",
                         "TensorListReserve",
                         "TensorListFromTensor",
                         "TensorListPushBack",
                         "TensorListPopBack",
                         "TensorListSetItem",
                         "TensorListLength",
                         "TensorListElementShape",
                         "TensorListGetItem",
                         "TensorListStack",
                         "OptionalFromValue",
                         "OptionalNone",
                         "OptionalHasValue",
                         "OptionalGetValue"}) {
    registry.RegisterNone(op);
  }
}

}  // namespace weft
