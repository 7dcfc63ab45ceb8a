#include "libs/gradients/call_gradient.h"

#include <memory>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/gradients/loops/flow.h"
#include "libs/graph/functions/function_expander.h"

namespace weft {
namespace {

// Returns whether a second run has the same result: the node has no state, only
// reads state, or uses state that its copy creates for the step.
bool MayRunTwice(const Node& node) {
  if (!node.op().is_stateful) {
    // TensorFlow's registry does not mark these as stateful.
    return absl::c_none_of(node.input_types(), IsRefType);
  }
  constexpr absl::string_view kReads[] = {
      "VarHandleOp",      "ReadVariableOp",
      "VariableShape",    "ResourceGather",
      "ResourceGatherNd", "VarIsInitializedOp",
      "PartitionedCall",  "Assert"};
  return absl::c_linear_search(kReads, node.type()) ||
         absl::StartsWith(node.type(), "TensorArray") ||
         absl::StartsWith(node.type(), "Stack");
}

absl::Status CheckCopy(const Scope& scope, const Node& call, int begin) {
  for (int id = begin; id < scope.graph().num_nodes(); ++id) {
    const Node& node = *scope.graph().node(id);
    if (MayRunTwice(node)) continue;
    return absl::UnimplementedError(absl::StrCat(
        "the gradient of call '", call.name(),
        "' would run it twice, but its node '", node.name(), "' (op type: ",
        node.type(), ") changes state or draws random numbers"));
  }
  return absl::OkStatus();
}

// Adds the nodes of the call again, with `inputs` as its inputs.
absl::StatusOr<const Node*> AddCopy(
    const Scope& scope, const Node& call, const std::vector<Output>& inputs,
    const GradientFunctionFn& gradient_function) {
  NodeSpec spec = {.name = scope.UniqueName("forward"),
                   .op = call.type(),
                   .attrs = call.attrs(),
                   .device = call.requested_device()};
  for (const Output& input : inputs) {
    spec.inputs.push_back(input.output_tensor());
  }
  const int begin = scope.graph().num_nodes();
  FunctionExpander expander(scope.graph(), {.gradient = gradient_function});
  ASSIGN_OR_RETURN(const Node* copy, expander.Add(std::move(spec)));
  RETURN_IF_ERROR(CheckCopy(scope, call, begin));
  if (scope.control_flow_context() != nullptr) {
    for (int id = begin; id < scope.graph().num_nodes(); ++id) {
      scope.control_flow_context()->NoteInside(scope.graph().node(id));
    }
  }
  return copy;
}

// The function that the node calls; an empty name for If and While.
NameAttrList CalledFunction(const Scope& scope, const Node& node) {
  if (scope.graph().functions().Find(node.type()) != nullptr) {
    return {node.type(), std::make_shared<const AttrMap>(node.attrs())};
  }
  const NameAttrList* f = node.attr<NameAttrList>("f");
  const bool is_call = node.type() == "PartitionedCall" ||
                       node.type() == "StatefulPartitionedCall";
  return is_call && f != nullptr ? *f : NameAttrList();
}

// Calls the function that the library declares as the gradient of this one.
absl::StatusOr<std::vector<Gradient>> GradientOfItsOwn(
    const Scope& scope, const Node& node, const NameAttrList& function,
    const std::vector<Gradient>& grad_outputs) {
  InputList inputs;
  DataTypeVector types, results;
  for (const OutputTensor& input : node.inputs()) {
    inputs.emplace_back(Output(input));
    results.push_back(RemoveRefType(Output(input).dtype()));
  }
  types = results;
  for (int i = 0; i < node.num_outputs(); ++i) {
    const Gradient& given = grad_outputs[i];
    inputs.emplace_back(given.IsNone()
                            ? scope.AddOutput("ZerosLike", {Output(&node, i)})
                            : given.dense);
    types.push_back(node.output_type(i));
  }
  const Node* gradients =
      scope.AddNode("SymbolicGradient", inputs,
                    {{"Tin", types}, {"Tout", results}, {"f", function}});
  std::vector<Gradient> result(node.num_inputs());
  for (int i = 0; gradients != nullptr && i < node.num_inputs(); ++i) {
    if (IsTrainable(results[i])) result[i] = Output(gradients, i);
  }
  return result;
}

}  // namespace

bool CallsFunctions(const Graph& graph, const Node& node) {
  constexpr absl::string_view kOps[] = {
      "PartitionedCall",  "StatefulPartitionedCall",
      "SymbolicGradient", "If",
      "StatelessIf",      "Case",
      "StatelessCase",    "While",
      "StatelessWhile"};
  return absl::c_linear_search(kOps, node.type()) ||
         graph.functions().Find(node.type()) != nullptr;
}

absl::StatusOr<std::vector<Gradient>> CallGradient(
    const Scope& scope, const Node& node,
    const std::vector<Gradient>& grad_outputs,
    const GradientFunctionFn& gradient_function, AddGradientsFn add_gradients) {
  const NameAttrList function = CalledFunction(scope, node);
  if (!scope.graph().functions().FindGradient(function.name).empty()) {
    return GradientOfItsOwn(scope, node, function, grad_outputs);
  }
  // Each input is a separate value: dependencies between inputs count where
  // those are differentiated.
  std::vector<Output> inputs;
  for (const OutputTensor& input : node.inputs()) {
    inputs.push_back(scope.AddOutput("Identity", {Output(input)}));
  }
  RETURN_IF_ERROR(scope.status());
  ASSIGN_OR_RETURN(const Node* copy,
                   AddCopy(scope, node, inputs, gradient_function));
  std::vector<Output> ys, grad_ys;
  for (size_t i = 0; i < grad_outputs.size(); ++i) {
    if (grad_outputs[i].IsNone()) continue;
    ys.emplace_back(copy, static_cast<int>(i));
    grad_ys.push_back(grad_outputs[i].dense);
  }
  std::vector<Output> xs;
  std::vector<size_t> at;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!IsTrainable(inputs[i].dtype())) continue;
    xs.push_back(inputs[i]);
    at.push_back(i);
  }
  ASSIGN_OR_RETURN(std::vector<Gradient> gradients,
                   add_gradients(scope, ys, xs, grad_ys));
  std::vector<Gradient> result(inputs.size());
  for (size_t i = 0; i < at.size(); ++i) {
    result[at[i]] = std::move(gradients[i]);
  }
  return result;
}

}  // namespace weft
