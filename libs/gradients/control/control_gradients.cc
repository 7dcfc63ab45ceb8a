// Conditions: what flowed through one branch flows back through it alone. A
// Switch's gradient is a Merge, a Merge's are Switches. Loops are in ../loops.
#include "libs/gradients/control/control_gradients.h"

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/gradients/gradient_registry.h"
#include "libs/gradients/loops/frames.h"
#include "libs/gradients/math/broadcast_gradient.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/control/control_flow_ops.h"
#include "libs/ops/math/math_ops.h"

namespace weft {
namespace {

using Gradients = std::vector<Gradient>;

// Gradients through whole loops are AddGradients' own business.
absl::StatusOr<Gradients> LoopGrad(const Scope&, const Node& node,
                                   const Gradients&) {
  return absl::UnimplementedError(absl::StrCat(
      "Gradients through a part of a loop are not supported: node '",
      node.name(), "'"));
}

// Zeros like the data, where it goes to output `i`.
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

// Of the two gradients one is alive. A branch that does not depend on the data
// counts with zeros.
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

// The gradient goes to the input that was alive, which `value_index` tells.
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
  for (const char* op :
       {"NoOp", "Assert", "PrintV2", "StringFormat", "ControlTrigger",
        "LoopCond", "ToBool", "_Arg", "_Retval", "_Send", "_Recv",
        "_CopyToDevice", "_CopyToHost"}) {
    registry.RegisterNone(op);
  }
  // TensorFlow differentiates no function of the program either, but for what
  // tf.py_function recorded.
  for (const char* op : {"PyFunc", "PyFuncStateless", "EagerPyFunc"}) {
    registry.RegisterNone(op);
  }
  RegisterListGradients(registry);
  // Calls of functions are AddGradients' own business; what else they hand on
  // has none yet.
  for (const char* op :
       {"PartitionedCall", "StatefulPartitionedCall", "If", "StatelessIf",
        "Case", "StatelessCase", "While", "StatelessWhile", "SymbolicGradient",
        "MapDefun", "OptionalFromValue", "OptionalNone", "OptionalHasValue",
        "OptionalGetValue"}) {
    registry.RegisterNone(op);
  }
}

}  // namespace weft
