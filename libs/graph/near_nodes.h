// SuggestNodes suggests similar node names in an error about an unknown node.
//
// Functions without state. They visit every node if a name is unknown; the
// graph must not change meanwhile.
#ifndef WEFT_LIBS_GRAPH_NEAR_NODES_H_
#define WEFT_LIBS_GRAPH_NEAR_NODES_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/graph/graph.h"

namespace weft {

// Returns " Did you mean \"weights\"?", to be appended to an error (NearNames);
// empty if no name is near.
std::string SuggestNodes(const Graph& graph, absl::string_view unknown);

// As Graph::FindOutputTensor; the error for an unknown node has a suggestion.
absl::StatusOr<OutputTensor> FindTensorOrSuggest(const Graph& graph,
                                                 absl::string_view tensor_name);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_NEAR_NODES_H_
