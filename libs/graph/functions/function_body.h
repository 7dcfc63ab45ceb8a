// AddFunctionBody adds a function's body to a graph, for one call of it.
// Inlining a call, differentiating one, and running one on its own are built on
// it.
//
// Functions without state; the graph is written. It corresponds to TensorFlow's
// InstantiateFunction and InlineFunctionBody.
#ifndef WEFT_LIBS_GRAPH_FUNCTIONS_FUNCTION_BODY_H_
#define WEFT_LIBS_GRAPH_FUNCTIONS_FUNCTION_BODY_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/graph/function_library.h"
#include "libs/graph/graph.h"

namespace weft {

// The types of a call's flattened arguments and results.
struct FunctionTypes {
  DataTypeVector args;
  DataTypeVector results;
};

// Returns INVALID_ARGUMENT if `attrs` (the call's) lack one that the types
// depend on.
absl::StatusOr<FunctionTypes> TypesOfCall(const FunctionDef& function,
                                          const AttrMap& attrs);

// Returns the node or argument that `input`, one of FunctionNode::inputs,
// names.
absl::string_view NodeOfInput(absl::string_view input);

// The position of a node relative to the loops of the body itself.
enum class LoopPlace {
  kOutside,
  kEnters,  // the Enter of an outermost loop
  kInside,
};

struct BodyOptions {
  // Prepended to each node's name and each loop's frame_name with a "/"; the
  // name of the call.
  std::string prefix;
  // One for each flattened argument.
  std::vector<OutputTensor> args;
  // The control inputs of nodes without any input: the pivot of a branch, a
  // node in the frame of a loop. Empty: none. In loops of the body itself a
  // constant exists in all frames, and waits for nothing.
  std::vector<const Node*> gate;
  // The device of a node with the requested device `spec.device`; it has its
  // inputs and op. Null: as in the function.
  std::function<std::string(const NodeSpec& spec)> device;
  // Adds one node; may add others instead and return one with the same outputs.
  // Null: Graph::AddNode.
  std::function<absl::StatusOr<const Node*>(NodeSpec spec, LoopPlace place)>
      add_node;
  // Replaces a result that is an output of such a node. Null: the output
  // itself.
  std::function<OutputTensor(const OutputTensor&)> result;
};

struct FunctionBody {
  std::vector<OutputTensor> results;  // flattened
  // Nodes that run in each call, whichever results are needed. For a node
  // inside a loop that other nodes consume, the Exits of that loop.
  std::vector<const Node*> control_results;
};

// Adds the nodes of the body, with `attrs` (the call's, else the defaults of
// the signature) in place of placeholders. Errors name the function and its
// node; the nodes added by then stay, for the caller to truncate.
// INVALID_ARGUMENT for arguments of wrong number or type, for missing attrs,
// and for a body with undefined references. Nodes that cannot run become
// unknown nodes (unknown_op.h): their op is neither registered nor in the
// graph's library, they call a missing function, or their op was removed before
// the graph's version. The rules of that version apply to functions that were
// imported (version_rules.h).
absl::StatusOr<FunctionBody> AddFunctionBody(const FunctionDef& function,
                                             const AttrMap& attrs,
                                             const BodyOptions& options,
                                             Graph& graph);

// The attrs of a call, with the defaults of the function's signature;
// INVALID_ARGUMENT if one is missing.
absl::StatusOr<AttrMap> CompleteCallAttrs(const FunctionDef& function,
                                          const AttrMap& attrs);

// Returns `value` with placeholders replaced from `attrs`; unset if it has no
// such attr. INVALID_ARGUMENT inside functions that it names.
absl::StatusOr<AttrValue> ReplacePlaceholders(const AttrValue& value,
                                              const AttrMap& attrs);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_FUNCTIONS_FUNCTION_BODY_H_
