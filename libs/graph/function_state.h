// HoldState: sees to it that what a function's body does to state in loops and
// branches of its own runs in each call, and has ended when the call has.
//
// Outside loops nothing can wait for a node inside of one, and what waits for a
// node of a branch that is not taken does not run. TensorFlow 1 prunes such a
// node, or refuses the graph. Here a ControlTrigger, which is never dead, waits
// for these nodes in each iteration, and what goes on with the loop or leaves
// it waits for that. Internal to this room.
//
// A pure function.
#ifndef WEFT_LIBS_GRAPH_FUNCTION_STATE_H_
#define WEFT_LIBS_GRAPH_FUNCTION_STATE_H_

#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "libs/graph/function_library.h"

namespace weft {

// The function with such nodes; nothing where it needs none. `is_stateful` says
// it of the op or function of a node. INVALID_ARGUMENT, naming the node, where
// its loop has no Exit, or where the next iteration would have to wait for what
// waits for that itself.
absl::StatusOr<std::optional<FunctionDef>> HoldState(
    const FunctionDef& function,
    absl::FunctionRef<bool(const FunctionNode& node)> is_stateful);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_FUNCTION_STATE_H_
