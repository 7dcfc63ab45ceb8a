// AddGradients adds nodes that compute gradients, by reverse-mode
// differentiation of the graph.
#ifndef WEFT_LIBS_GRADIENTS_GRADIENTS_H_
#define WEFT_LIBS_GRADIENTS_GRADIENTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "libs/gradients/registry/gradient.h"
#include "libs/gradients/registry/gradient_registry.h"
#include "libs/graph/function_library.h"
#include "libs/graph/graph.h"
#include "libs/ops/scope.h"

namespace weft {

struct GradientOptions {
  // Weights of the ys; a null output means ones. Empty: ones for all.
  std::vector<Output> grad_ys;
  // Outputs that gradients do not flow through.
  std::vector<Output> stop_gradients;
  // Put each gradient node on the device of its forward node.
  bool colocate_gradients_with_ops = false;
  const GradientRegistry* registry = nullptr;  // null: StandardGradients()
};

// Adds nodes, under "gradients/", that compute the sum over ys of dy/dx for
// each x, or returns None for an x that no y depends on. An x may be the handle
// of a resource variable. It works like TensorFlow's tf.gradients, through
// loops and branches (docs/user/control_flow.md). An error names the op without
// a gradient, and no nodes are added. Inside the body of a loop or a branch,
// errors also stick to the scope.
absl::StatusOr<std::vector<Gradient>> AddGradients(
    const Scope& scope, absl::Span<const Output> ys,
    absl::Span<const Output> xs, const GradientOptions& options = {});

// Returns a function `name` that takes the arguments of `function` and the
// gradients of its results, and returns the gradients of its arguments: zeros
// for an argument that no result depends on. SymbolicGradient calls it; masters
// expand that op with it (libs/graph/functions/function_expander.h). `attrs`
// are those of the call; `graph` holds the functions that it may call. Errors
// are those of AddFunctionBody and AddGradients. Thread-safe.
absl::StatusOr<FunctionPtr> GradientFunction(const std::string& name,
                                             const FunctionDef& function,
                                             const AttrMap& attrs,
                                             const Graph& graph);

}  // namespace weft

#endif  // WEFT_LIBS_GRADIENTS_GRADIENTS_H_
