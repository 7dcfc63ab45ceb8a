#include "libs/graph/near_nodes.h"

#include "absl/strings/str_cat.h"
#include "libs/base/near_names.h"

namespace weft {

std::string SuggestNodes(const Graph& graph, absl::string_view unknown) {
  NearNames near(unknown);
  for (const Node* node : graph.nodes()) near.Consider(node->name());
  return near.Suggestion();
}

absl::StatusOr<OutputTensor> FindTensorOrSuggest(
    const Graph& graph, absl::string_view tensor_name) {
  absl::StatusOr<OutputTensor> found = graph.FindOutputTensor(tensor_name);
  if (!absl::IsNotFound(found.status())) return found;
  const absl::string_view node = tensor_name.substr(0, tensor_name.rfind(':'));
  return absl::NotFoundError(
      absl::StrCat(found.status().message(), ".", SuggestNodes(graph, node)));
}

}  // namespace weft
