// HoldState ensures that side effects in loops and branches of a function's
// body happen in each call, and have ended when the call has.
//
// Outside of a loop nothing can wait for a node inside of it, and a node that
// waits for a node of a branch not taken does not run. TensorFlow 1 prunes such
// a node, or refuses the graph. HoldState adds a ControlTrigger, which is never
// dead. It waits for these nodes in each iteration, and the nodes that continue
// or leave the loop wait for it. Internal to this module.
//
// HoldState is a pure function.
#ifndef WEFT_LIBS_GRAPH_FUNCTIONS_FUNCTION_STATE_H_
#define WEFT_LIBS_GRAPH_FUNCTIONS_FUNCTION_STATE_H_

#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "libs/graph/function_library.h"

namespace weft {

// Returns a copy of the function with the ControlTriggers added, or nothing if
// the function needs none. `is_stateful` returns whether the op or function of
// a node is stateful. INVALID_ARGUMENT, naming the node, if the loop of a
// stateful node has no Exit, or if the next iteration would have to wait for
// itself.
absl::StatusOr<std::optional<FunctionDef>> HoldState(
    const FunctionDef& function,
    absl::FunctionRef<bool(const FunctionNode& node)> is_stateful);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_FUNCTIONS_FUNCTION_STATE_H_
