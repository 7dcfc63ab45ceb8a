// GraphCopier copies nodes from one graph into another, edge by edge, and can
// redirect edges. All rewrites of graphs use GraphCopier.
#ifndef WEFT_LIBS_GRAPH_GRAPH_COPY_H_
#define WEFT_LIBS_GRAPH_GRAPH_COPY_H_

#include <vector>

#include "absl/status/statusor.h"
#include "libs/base/hash_tables.h"
#include "libs/graph/graph.h"

namespace weft {

// Nodes must be copied in order of id. An input with a higher id closes a loop
// and is set by Finish.
// Not synchronized; `target` is not owned.
class GraphCopier {
 public:
  explicit GraphCopier(Graph& target) : target_(target) {}

  // Makes consumers of `from` (a tensor of the old graph) that are copied from
  // now on take `to` (a tensor of the new graph).
  void Replace(const OutputTensor& from, const OutputTensor& to) {
    replaced_outputs_[from] = to;
  }
  // Makes control inputs from `from` (a node of the old graph), in nodes that
  // are copied from now on, come from `to`.
  void ReplaceControl(const Node* from, const Node* to) {
    replaced_controls_[from] = to;
  }

  // Copies the node to the new graph with its name, op, attrs and devices.
  // Control inputs from nodes that are not in the new graph are dropped. A
  // missing data input is an INTERNAL error.
  absl::StatusOr<const Node*> Copy(const Node& node);

  // Returns the copy of the node, or null if the node was not copied.
  const Node* Find(const Node* node) const;
  bool Has(const OutputTensor& output) const {
    return Lookup(output).node != nullptr;
  }
  // Returns the copy of an output, or its replacement. The node of the result
  // is null if there is neither.
  OutputTensor Lookup(const OutputTensor& output) const;

  // Closes the loops: sets the inputs that come from nodes with a higher id.
  // Must be called after the last Copy.
  absl::Status Finish();

 private:
  struct BackEdge {
    const Node* consumer;  // in the new graph
    int input;
    OutputTensor producer;  // in the old graph
  };

  Graph& target_;
  FlatHashMap<const Node*, const Node*> copies_;
  FlatHashMap<OutputTensor, OutputTensor> replaced_outputs_;
  FlatHashMap<const Node*, const Node*> replaced_controls_;
  std::vector<BackEdge> back_edges_;
};

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_GRAPH_COPY_H_
