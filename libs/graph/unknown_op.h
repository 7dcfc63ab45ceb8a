// Unknown nodes: nodes that a graph keeps although they cannot run. Their op is
// not registered, or they need a reference to a variable and get a value (the
// Assign nodes that freezing a graph leaves over).
//
// An unknown node has its name, op, attrs and inputs, so that it can be
// exported and shown. The importer counts its outputs; their shapes are
// unknown, and their type is what the first known consumer expects, DT_INVALID
// without one. Placement puts it beside its neighbors. A step that needs it
// fails, and so does a gradient through it.
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

// The largest number of outputs of an unknown node.
inline constexpr int kMaxUnknownOutputs = 1 << 12;

bool IsUnknown(const Node& node);

// Makes Graph::AddNode add an unknown node for `spec`, whatever its op.
// REQUIRES: 0 <= num_outputs <= kMaxUnknownOutputs.
void MarkUnknown(int num_outputs, NodeSpec& spec);
// Removes the mark and returns the number of outputs; nothing without a mark.
std::optional<int> TakeUnknownMark(NodeSpec& spec);

// An unknown node's own op, of which no registry knows.
std::shared_ptr<const OpDef> MakeUnknownOp(absl::string_view name);

// Whether the input is an output of an unknown node, so that its type is a
// guess.
bool IsOfUnknown(const OutputTensor& input);

// INVALID_ARGUMENT, naming input and node, if an input that must be a reference
// is a value. Other mistakes are not looked for.
absl::Status CheckReferences(const OpDef& op, absl::string_view node,
                             const AttrMap& attrs,
                             absl::Span<const OutputTensor> inputs);

// OK if there are none. Otherwise the error of a step that needs these unknown
// nodes: NOT_FOUND with all ops that are not registered, or else
// INVALID_ARGUMENT with the first input that is no reference. At most 2 kB.
absl::Status RefuseUnknown(const OpRegistry& registry,
                           absl::Span<const Node* const> unknown);

// RefuseUnknown of the unknown nodes of the graph.
absl::Status CheckNoneUnknown(const Graph& graph);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_UNKNOWN_OP_H_
