// Unknown nodes are nodes that a graph keeps although they cannot run, because
// - their op is not registered;
// - they need a reference to a variable and get a value (the Assign nodes that
//   freezing a graph leaves over);
// - they call a function that the graph does not have; or
// - they are in a function, and the version of the graph no longer has their op
//   (version_rules.h).
//
// An unknown node has its name, op, attrs and inputs, so that it can be
// exported and shown. The shapes of its outputs are unknown. In the last two
// cases the op defines the number and types of the outputs. In the first two
// cases the importer counts the outputs that other nodes consume. The type of
// an output is the type that its first known consumer expects; a consumer that
// needs a reference has precedence. Without a known consumer the type is
// DT_INVALID. Placement puts an unknown node next to its neighbors. A step that
// needs it fails, and so does a gradient through it.
//
// Functions without state.
#ifndef WEFT_LIBS_GRAPH_UNKNOWN_OP_H_
#define WEFT_LIBS_GRAPH_UNKNOWN_OP_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "libs/graph/graph.h"

namespace weft {

// The maximum number of outputs of an unknown node.
inline constexpr int kMaxUnknownOutputs = 1 << 12;

bool IsUnknown(const Node& node);

// Makes Graph::AddNode add an unknown node for `spec`, whatever its op.
// REQUIRES: 0 <= num_outputs <= kMaxUnknownOutputs.
void MarkUnknown(int num_outputs, NodeSpec& spec);
// Does the same as MarkUnknown for a node with the outputs of its op. REQUIRES:
// `spec` is correct except for the function that it calls.
void MarkNotRunnable(NodeSpec& spec);
// Marks the copy of an unknown node in the same way as the original.
void MarkAs(const Node& unknown, NodeSpec& copy);
bool IsMarkedUnknown(const NodeSpec& spec);
struct UnknownMark {
  std::optional<int> num_outputs;  // not set: the outputs of its op
};
// Removes the mark from `spec` and returns it. Returns nothing if `spec` is not
// marked.
std::optional<UnknownMark> TakeUnknownMark(NodeSpec& spec);

// Returns the op of one unknown node. This op is in no registry.
std::shared_ptr<const OpDef> MakeUnknownOp(absl::string_view name);
// Returns the op of one unknown node with the inputs and outputs of a known op.
std::shared_ptr<const OpDef> MakeUnknownOp(const OpDef& known);

// Returns whether the node's outputs and their types are only inferred from its
// consumers.
bool HasGuessedOutputs(const Node& node);
// Returns whether the input is an output of a node with guessed outputs, so
// that its type is a guess.
bool IsOfUnknown(const OutputTensor& input);

// Returns the functions that a node with these attrs calls and that `functions`
// lacks, without duplicates.
std::vector<std::string> UndefinedFunctions(const FunctionLibrary& functions,
                                            const AttrMap& attrs);

// Returns INVALID_ARGUMENT, naming input and node, if an input that must be a
// reference is a value. Does not check for other errors.
absl::Status CheckReferences(const OpDef& op, absl::string_view node,
                             const AttrMap& attrs,
                             absl::Span<const OutputTensor> inputs);

// Returns the error of a step that needs the nodes `unknown` of `graph`, or OK
// if `unknown` is empty.
// The error is NOT_FOUND if ops are not registered or functions are not
// defined, and lists all of these. Otherwise it is the error of the first node:
// UNIMPLEMENTED for a removed op, INVALID_ARGUMENT for an input that is not a
// reference, FAILED_PRECONDITION for a function that was defined after the node
// had been added. The text has at most 2 kB.
absl::Status RefuseUnknown(const Graph& graph,
                           absl::Span<const Node* const> unknown);

// Returns the error of RefuseUnknown for all unknown nodes of the graph, or OK
// if there are none.
absl::Status CheckNoneUnknown(const Graph& graph);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_UNKNOWN_OP_H_
