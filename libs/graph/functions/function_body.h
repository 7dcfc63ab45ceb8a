// AddFunctionBody adds a function's body to a graph, for one call of it.
// Inlining a call, differentiating a call, and running a function on its own
// use AddFunctionBody.
//
// The functions here have no state of their own; the caller must be the writer
// of the graph. AddFunctionBody corresponds to TensorFlow's InstantiateFunction
// and InlineFunctionBody.
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

// Returns the types of the arguments and results of a call with the attrs
// `attrs`. INVALID_ARGUMENT if `attrs` lacks an attr that the types depend on.
absl::StatusOr<FunctionTypes> TypesOfCall(const FunctionDef& function,
                                          const AttrMap& attrs);

// Returns the name of the node or argument in `input`, an element of
// FunctionNode::inputs.
absl::string_view NodeOfInput(absl::string_view input);

// The position of a node relative to the loops of the body itself.
enum class LoopPlace {
  kOutside,
  kEnters,  // the Enter of an outermost loop
  kInside,
};

struct BodyOptions {
  // The name of the call. It is prepended, with a "/", to each node's name and
  // to each loop's frame_name.
  std::string prefix;
  // The arguments of the call: one tensor for each flattened argument.
  std::vector<OutputTensor> args;
  // The control inputs of nodes that have no other input, such as the pivot of
  // a branch or a node in the frame of a loop. If empty, these nodes get no
  // control inputs. A constant in a loop of the body itself gets none, because
  // it exists in all frames.
  std::vector<const Node*> gate;
  // Returns the device for a node. `spec` has the node's op, inputs, and
  // requested device. If null, the device is the one in the function.
  std::function<std::string(const NodeSpec& spec)> device;
  // Adds one node to the graph and returns it. It may add other nodes instead
  // and return a node with the same outputs. If null, Graph::AddNode is called.
  std::function<absl::StatusOr<const Node*>(NodeSpec spec, LoopPlace place)>
      add_node;
  // Returns the tensor that replaces a result of the body, for results that are
  // outputs of a node that `add_node` replaced. If null, results are not
  // replaced.
  std::function<OutputTensor(const OutputTensor&)> result;
};

struct FunctionBody {
  std::vector<OutputTensor> results;  // flattened
  // Nodes that run in each call, whichever results are needed. A node inside a
  // loop is represented by the Exits of that loop.
  std::vector<const Node*> control_results;
};

// Adds the nodes of the body to the graph. Placeholders are replaced by `attrs`
// of the call, else by the defaults of the signature. Errors name the function
// and its node. After an error the nodes added so far stay, and the caller must
// truncate the graph.
// INVALID_ARGUMENT for arguments of wrong number or type, for missing attrs,
// and for a body with undefined references.
// Nodes that cannot run become unknown nodes (unknown_op.h): their op is
// neither registered nor in the graph's library, they call a missing function,
// or their op was removed before the graph's version. The rules of that version
// apply to functions that were imported (version_rules.h).
absl::StatusOr<FunctionBody> AddFunctionBody(const FunctionDef& function,
                                             const AttrMap& attrs,
                                             const BodyOptions& options,
                                             Graph& graph);

// Returns the attrs of a call, completed by the defaults of the function's
// signature. INVALID_ARGUMENT if an attr is missing.
absl::StatusOr<AttrMap> CompleteCallAttrs(const FunctionDef& function,
                                          const AttrMap& attrs);

// Returns `value` with placeholders replaced from `attrs`. The result is not
// set if `value` is a placeholder and `attrs` does not have its attr.
// INVALID_ARGUMENT if `attrs` lacks an attr for a placeholder inside a function
// value.
absl::StatusOr<AttrValue> ReplacePlaceholders(const AttrValue& value,
                                              const AttrMap& attrs);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_FUNCTIONS_FUNCTION_BODY_H_
