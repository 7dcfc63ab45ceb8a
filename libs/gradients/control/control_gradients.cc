// Gradients of conditionals: a gradient flows back only through the branch that
// was taken. The gradient of a Switch is a Merge, and that of a Merge uses
// Switches. Loops are in ../loops.
#include "libs/gradients/control/control_gradients.h"

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/gradients/loops/frames.h"
#include "libs/gradients/math/broadcast_gradient.h"
#include "libs/gradients/registry/gradient_registry.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/control/control_flow_ops.h"
#include "libs/ops/math/math_ops.h"

namespace weft {
namespace {

using Gradients = std::vector<Gradient>;

// AddGradients itself handles gradients through whole loops.
absl::StatusOr<Gradients> LoopGrad(const Scope&, const Node& node,
                                   const Gradients&) {
  return absl::UnimplementedError(absl::StrCat(
      "Gradients through a part of a loop are not supported: node '",
      node.name(), "'"));
}

// Zeros of the shape of the data, alive if the data goes to output `i`.
Output ZerosWhere(const Scope& scope, const Node& node, int i, DataType dtype) {
  const Output data = Output(node.input(0));
  if (dtype == DT_VARIANT) return ops::ZerosLike(scope, Output(&node, i));
  const bool is_resource = RemoveRefType(data.dtype()) == DT_RESOURCE;
  const Output shape = is_resource ? scope.AddOutput("VariableShape", {data},
                                                     {{"out_type", DT_INT32}})
                                   : ShapeOf(scope, data);
  const auto [on_false, on_true] =
      ops::Switch(scope, shape, Output(node.input(1)));
  return scope.AddOutput("Fill", {i == 0 ? on_false : on_true, 0},
                         {{"T", dtype}});
}

// One of the two gradients is alive. A branch that does not depend on the data
// contributes zeros.
absl::StatusOr<Gradients> SwitchGrad(const Scope& scope, const Node& node,
                                     const Gradients& grads) {
  if (IsLoopSwitch(node)) return LoopGrad(scope, node, grads);
  const Output given = grads[0].IsNone() ? grads[1].dense : grads[0].dense;
  InputList branches;
  for (int i = 0; i < 2; ++i) {
    branches.emplace_back(grads[i].IsNone()
                              ? ZerosWhere(scope, node, i, given.dtype())
                              : grads[i].dense);
  }
  return Gradients{ops::Merge(scope.WithName("cond_grad"), branches).output,
                   Gradient()};
}

// Passes the gradient to the input that was alive, given by `value_index`.
absl::StatusOr<Gradients> MergeGrad(const Scope& scope, const Node& node,
                                    const Gradients& grads) {
  if (IsLoopMerge(node)) return LoopGrad(scope, node, grads);
  if (grads[0].IsNone()) return Gradients(node.num_inputs());
  Gradients result;
  for (int i = 0; i < node.num_inputs(); ++i) {
    const Output taken = ops::Equal(scope, Output(&node, 1), i);
    result.emplace_back(ops::Switch(scope, grads[0].dense, taken).output_true);
  }
  return result;
}

// Print passes the gradient of its input through.
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
  // These have no values, no numbers, or are the ends of a partition.
  for (const char* op :
       {"NoOp", "Assert", "PrintV2", "StringFormat", "ControlTrigger",
        "LoopCond", "ToBool", "_Arg", "_Retval", "_Send", "_Recv",
        "_CopyToDevice", "_CopyToHost"}) {
    registry.RegisterNone(op);
  }
  // TensorFlow does not differentiate functions of the program either, except
  // those recorded by tf.py_function.
  for (const char* op : {"PyFunc", "PyFuncStateless", "EagerPyFunc"}) {
    registry.RegisterNone(op);
  }
  RegisterListGradients(registry);
  // AddGradients handles calls of functions. The other ops that call functions
  // have no gradients yet.
  for (const char* op :
       {"PartitionedCall", "StatefulPartitionedCall", "If", "StatelessIf",
        "Case", "StatelessCase", "While", "StatelessWhile", "SymbolicGradient",
        "MapDefun", "OptionalFromValue", "OptionalNone", "OptionalHasValue",
        "OptionalGetValue"}) {
    registry.RegisterNone(op);
  }
}

}  // namespace weft
