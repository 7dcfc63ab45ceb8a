#include "libs/ops/control/control_flow_ops.h"

namespace weft::ops {
namespace {

AttrMap Attrs(const std::string& frame_name, const EnterAttrs& attrs) {
  return {{"frame_name", frame_name},
          {"is_constant", attrs.is_constant},
          {"parallel_iterations", attrs.parallel_iterations}};
}

}  // namespace

SwitchOutputs Switch(const Scope& scope, const Input& data, const Input& pred) {
  const Node* node = scope.AddNode("Switch", {data, pred});
  return {OutputOf(node, 0), OutputOf(node, 1)};
}

SwitchOutputs RefSwitch(const Scope& scope, const Input& ref,
                        const Input& pred) {
  const Node* node = scope.AddNode("RefSwitch", {ref, pred});
  return {OutputOf(node, 0), OutputOf(node, 1)};
}

MergeOutputs Merge(const Scope& scope, const InputList& inputs) {
  const Node* node = scope.AddNode("Merge", inputs);
  return {OutputOf(node, 0), OutputOf(node, 1)};
}

MergeOutputs RefMerge(const Scope& scope, const InputList& refs) {
  const Node* node = scope.AddNode("RefMerge", refs);
  return {OutputOf(node, 0), OutputOf(node, 1)};
}

// Scope::AddNode does not accept missing inputs.
MergeOutputs LoopMerge(const Scope& scope, const Output& enter) {
  if (!scope.ok() || !enter) return {};
  absl::StatusOr<Node*> node =
      scope.graph().AddNode({.name = scope.UniqueName("Merge"),
                             .op = "Merge",
                             .inputs = {enter.output_tensor(), OutputTensor()},
                             .attrs = {{"T", enter.dtype()}},
                             .device = scope.device()});
  if (!node.ok()) {
    scope.UpdateStatus(node.status());
    return {};
  }
  if (scope.control_flow_context() != nullptr) {
    scope.control_flow_context()->NoteInside(*node);
  }
  return {OutputOf(*node, 0), OutputOf(*node, 1)};
}

Output Enter(const Scope& scope, const Input& data,
             const std::string& frame_name, const EnterAttrs& attrs) {
  return scope.AddOutput("Enter", {data}, Attrs(frame_name, attrs));
}

Output RefEnter(const Scope& scope, const Input& ref,
                const std::string& frame_name, const EnterAttrs& attrs) {
  return scope.AddOutput("RefEnter", {ref}, Attrs(frame_name, attrs));
}

Output Exit(const Scope& scope, const Input& data) {
  return scope.AddOutput("Exit", {data});
}

Output RefExit(const Scope& scope, const Input& ref) {
  return scope.AddOutput("RefExit", {ref});
}

Output NextIteration(const Scope& scope, const Input& data) {
  return scope.AddOutput("NextIteration", {data});
}

Output RefNextIteration(const Scope& scope, const Input& ref) {
  return scope.AddOutput("RefNextIteration", {ref});
}

Output LoopCond(const Scope& scope, const Input& input) {
  return scope.AddOutput("LoopCond", {input});
}

Operation ControlTrigger(const Scope& scope) {
  return scope.AddNode("ControlTrigger", {});
}

}  // namespace weft::ops
