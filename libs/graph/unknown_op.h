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
// the importer counts the outputs that others consume; the type of each is the
// one that its first known consumer expects, or that the first one expects that
// needs a reference, and DT_INVALID without a known consumer. Placement puts an
// unknown node next to its neighbors. A step that needs it fails, and so does a
// gradient through it.
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
// The same for a node with the outputs of its op. REQUIRES: `spec` is correct
// except for the function that it calls.
void MarkNotRunnable(NodeSpec& spec);
// Marks the copy of an unknown node like the original.
void MarkAs(const Node& unknown, NodeSpec& copy);
bool IsMarkedUnknown(const NodeSpec& spec);
struct UnknownMark {
  std::optional<int> num_outputs;  // none: those of the op
};
// Removes the mark and returns it; nothing without a mark.
std::optional<UnknownMark> TakeUnknownMark(NodeSpec& spec);

// An unknown node's own op, which is in no registry.
std::shared_ptr<const OpDef> MakeUnknownOp(absl::string_view name);
// The same with the inputs and outputs of a known op.
std::shared_ptr<const OpDef> MakeUnknownOp(const OpDef& known);

// Whether outputs and their types are only inferred from consumers.
bool HasGuessedOutputs(const Node& node);
// Whether the input is an output of such a node, so that its type is a guess.
bool IsOfUnknown(const OutputTensor& input);

// The functions that a node with these attrs calls and that `functions` lacks,
// without duplicates.
std::vector<std::string> UndefinedFunctions(const FunctionLibrary& functions,
                                            const AttrMap& attrs);

// INVALID_ARGUMENT, naming input and node, if an input that must be a reference
// is a value. Other errors are not checked.
absl::Status CheckReferences(const OpDef& op, absl::string_view node,
                             const AttrMap& attrs,
                             absl::Span<const OutputTensor> inputs);

// OK if there are none. Otherwise the error of a step that needs these unknown
// nodes of `graph`: NOT_FOUND with all ops that are not registered and all
// functions that are not defined. Without those the error of the first node:
// UNIMPLEMENTED for a removed op, INVALID_ARGUMENT for an input that is not a
// reference, FAILED_PRECONDITION for a function that was defined after the node
// had been added. At most 2 kB.
absl::Status RefuseUnknown(const Graph& graph,
                           absl::Span<const Node* const> unknown);

// RefuseUnknown of the unknown nodes of the graph.
absl::Status CheckNoneUnknown(const Graph& graph);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_UNKNOWN_OP_H_
