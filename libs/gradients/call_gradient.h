// CallGradient differentiates a node that calls functions (PartitionedCall, If,
// While, Case, ..., or a function as an op). It adds the nodes of the call to
// the graph again, and differentiates those.
//
// A step that computes gradients therefore computes the call twice, as
// SymbolicGradient does in TensorFlow 1. Nodes with the same op and inputs are
// merged when the graph runs (libs/passes).
//
// Threads: as for the scope.
#ifndef WEFT_LIBS_GRADIENTS_CALL_GRADIENT_H_
#define WEFT_LIBS_GRADIENTS_CALL_GRADIENT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "libs/gradients/registry/gradient.h"
#include "libs/graph/functions/function_expander.h"

namespace weft {

bool CallsFunctions(const Graph& graph, const Node& node);

// A GradientFn. `gradient_function` expands SymbolicGradient in the copy of the
// call; `add_gradients` differentiates that copy. Returns UNIMPLEMENTED, naming
// the node, for a call that changes state or draws random numbers, because it
// would do so twice.
absl::StatusOr<std::vector<Gradient>> CallGradient(
    const Scope& scope, const Node& node,
    const std::vector<Gradient>& grad_outputs,
    const GradientFunctionFn& gradient_function, AddGradientsFn add_gradients);

}  // namespace weft

#endif  // WEFT_LIBS_GRADIENTS_CALL_GRADIENT_H_
