// AddFunctionBody: a function's body as nodes of a graph, for one call of it.
// What inlining a call, differentiating one, and running one on its own are
// made of.
//
// Functions without state; the graph is written to. As TensorFlow's
// InstantiateFunction and InlineFunctionBody.
#ifndef WEFT_LIBS_GRAPH_FUNCTION_BODY_H_
#define WEFT_LIBS_GRAPH_FUNCTION_BODY_H_

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

// INVALID_ARGUMENT where `attrs` (the call's) lack one that the types depend
// on.
absl::StatusOr<FunctionTypes> TypesOfCall(const FunctionDef& function,
                                          const AttrMap& attrs);

// Of one of FunctionNode::inputs: the node, or the argument, that it names.
absl::string_view NodeOfInput(absl::string_view input);

// Where a node is to the loops of frames in the body itself.
enum class LoopPlace {
  kOutside,
  kEnters,  // the Enter of one that lies in no other
  kInside,
};

struct BodyOptions {
  // Put before each node's name and each loop's frame_name with a "/"; the name
  // of the call.
  std::string prefix;
  // One for each flattened argument.
  std::vector<OutputTensor> args;
  // What nodes that have no input of any kind run after: the pivot of a branch,
  // a node in the frame of a loop. Empty: nothing. In loops of the body itself
  // a constant is one that exists in all frames, and waits for nothing.
  std::vector<const Node*> gate;
  // The device of a node whose requested one is `spec.device`; it has its
  // inputs and op. Null: as the function says.
  std::function<std::string(const NodeSpec& spec)> device;
  // Adds one node; may add others in its place and return one with the same
  // outputs. Null: Graph::AddNode.
  std::function<absl::StatusOr<const Node*>(NodeSpec spec, LoopPlace place)>
      add_node;
  // What stands for a result that such a node gives. Null: itself.
  std::function<OutputTensor(const OutputTensor&)> result;
};

struct FunctionBody {
  std::vector<OutputTensor> results;  // flattened
  // Nodes that run in each call, whichever results are wanted. For one inside a
  // loop that other nodes take, the Exits of that loop.
  std::vector<const Node*> control_results;
};

// Adds the nodes of the body, with `attrs` (the call's, else the defaults of
// the signature) in the place of placeholders. Errors name the function and its
// node; what was added by then stays, for the caller to truncate.
// INVALID_ARGUMENT for arguments of wrong number or type, for attrs that are
// missing, and for a body that refers to what it does not have. Nodes that
// cannot run are unknown nodes (unknown_op.h): their op is neither registered
// nor in the graph's library, they call a function that is not there, or their
// op was removed before the graph's version. The rules of that version apply to
// functions that were imported (version_rules.h).
absl::StatusOr<FunctionBody> AddFunctionBody(const FunctionDef& function,
                                             const AttrMap& attrs,
                                             const BodyOptions& options,
                                             Graph& graph);

// The attrs of a call, with the defaults of the function's signature;
// INVALID_ARGUMENT when one is missing.
absl::StatusOr<AttrMap> CompleteCallAttrs(const FunctionDef& function,
                                          const AttrMap& attrs);

// `value` with what `attrs` has in the place of placeholders; unset where it
// has nothing. INVALID_ARGUMENT inside functions that it names.
absl::StatusOr<AttrValue> ReplacePlaceholders(const AttrValue& value,
                                              const AttrMap& attrs);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_FUNCTION_BODY_H_
