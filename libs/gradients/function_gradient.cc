#include "libs/gradients/function_gradient.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/graph/functions/function_body.h"
#include "libs/graph/functions/function_expander.h"
#include "libs/graph/import/function_proto.h"
#include "libs/ops/array/array_ops.h"

namespace weft {
namespace {

std::vector<Output> Placeholders(const Scope& scope, absl::string_view name,
                                 const DataTypeVector& types) {
  std::vector<Output> result;
  for (size_t i = 0; i < types.size(); ++i) {
    result.push_back(ops::Placeholder(
        scope.WithName(absl::StrCat(name, "_", i)), RemoveRefType(types[i])));
  }
  return result;
}

std::vector<OutputTensor> Tensors(const std::vector<Output>& outputs) {
  std::vector<OutputTensor> result;
  for (const Output& output : outputs) {
    result.push_back(output.output_tensor());
  }
  return result;
}

// A function may take the gradient of another, which may in turn lead to its
// own.
constexpr int kMaxDepth = 8;

absl::StatusOr<FunctionPtr> GradientAtDepth(int depth, const std::string& name,
                                            const FunctionDef& function,
                                            const AttrMap& attrs,
                                            const Graph& graph,
                                            AddGradientsFn add_gradients) {
  if (depth > kMaxDepth) {
    return absl::InvalidArgumentError(
        absl::StrCat("SymbolicGradient of function '", function.name(),
                     "' is nested in more than ", kMaxDepth, " others"));
  }
  const auto inner = [depth, add_gradients](const std::string& inner_name,
                                            const FunctionDef& inner_function,
                                            const AttrMap& inner_attrs,
                                            const Graph& inner_graph) {
    return GradientAtDepth(depth + 1, inner_name, inner_function, inner_attrs,
                           inner_graph, add_gradients);
  };
  const Scope scope = Scope::Root(graph.registry());
  RETURN_IF_ERROR(scope.graph().AddFunctions(graph.functions().functions(),
                                             graph.functions().gradients()));
  ASSIGN_OR_RETURN(const FunctionTypes types, TypesOfCall(function, attrs));
  std::vector<Output> args = Placeholders(scope, "x", types.args);
  const std::vector<Output> grad_ys =
      Placeholders(scope, "grad_y", types.results);
  RETURN_IF_ERROR(scope.status());
  // Calls inside it are expanded, because gradients pass through nodes.
  FunctionExpander expander(scope.graph(), {.gradient = inner});
  ASSIGN_OR_RETURN(
      const FunctionBody body,
      expander.AddFunction(
          "f", {function.name(), std::make_shared<const AttrMap>(attrs)},
          Tensors(args)));
  const std::vector<Output> ys(body.results.begin(), body.results.end());
  ASSIGN_OR_RETURN(const std::vector<Gradient> gradients,
                   add_gradients(scope, ys, args, grad_ys));
  FunctionEnds ends;
  for (size_t i = 0; i < args.size(); ++i) {
    const Output gradient = gradients[i].IsNone()
                                ? ops::ZerosLike(scope, args[i])
                                : ToDense(scope, gradients[i]);
    ends.results.push_back(gradient.output_tensor());
  }
  RETURN_IF_ERROR(scope.status());
  args.insert(args.end(), grad_ys.begin(), grad_ys.end());
  ends.args = Tensors(args);
  return FunctionFromGraph(name, scope.graph(), ends);
}

}  // namespace

absl::StatusOr<FunctionPtr> BuildGradientFunction(
    const std::string& name, const FunctionDef& function, const AttrMap& attrs,
    const Graph& graph, AddGradientsFn add_gradients) {
  return GradientAtDepth(1, name, function, attrs, graph, add_gradients);
}

}  // namespace weft
