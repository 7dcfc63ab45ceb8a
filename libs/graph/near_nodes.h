// SuggestNodes suggests similar node names in an error about an unknown node.
//
// Functions without state. They visit every node if a name is unknown, and the
// graph must not change during the call.
#ifndef WEFT_LIBS_GRAPH_NEAR_NODES_H_
#define WEFT_LIBS_GRAPH_NEAR_NODES_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/graph/graph.h"

namespace weft {

// Returns a suggestion such as " Did you mean \"weights\"?", which is appended
// to an error. Returns "" if no node has a similar name (NearNames).
std::string SuggestNodes(const Graph& graph, absl::string_view unknown);

// Does the same as Graph::FindOutputTensor, but the error for an unknown node
// has a suggestion.
absl::StatusOr<OutputTensor> FindTensorOrSuggest(const Graph& graph,
                                                 absl::string_view tensor_name);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_NEAR_NODES_H_
