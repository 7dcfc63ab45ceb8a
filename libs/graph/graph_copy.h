// GraphCopier: copies nodes from one graph into another, edge by edge, with
// some edges led elsewhere. What every rewrite is made of.
#ifndef WEFT_LIBS_GRAPH_GRAPH_COPY_H_
#define WEFT_LIBS_GRAPH_GRAPH_COPY_H_

#include <vector>

#include "absl/status/statusor.h"
#include "libs/base/hash_tables.h"
#include "libs/graph/graph.h"

namespace weft {

// Copies in order of id: an input that comes later closes a loop and is set by
// Finish. Not synchronised; `target` is not owned.
class GraphCopier {
 public:
  explicit GraphCopier(Graph& target) : target_(target) {}

  // Consumers of `from` (of the old graph), copied from now on, take `to` (of
  // the new one).
  void Replace(const OutputTensor& from, const OutputTensor& to) {
    replaced_outputs_[from] = to;
  }
  // Nodes that run after `from` now run after `to`.
  void ReplaceControl(const Node* from, const Node* to) {
    replaced_controls_[from] = to;
  }

  // The same node in the new graph: name, op, attrs and devices are kept.
  // Control inputs that are not in the new graph are dropped; a data input that
  // is not is an INTERNAL error.
  absl::StatusOr<const Node*> Copy(const Node& node);

  // Null when the node was not copied.
  const Node* Find(const Node* node) const;
  bool Has(const OutputTensor& output) const {
    return Lookup(output).node != nullptr;
  }
  // The copy of an output, or what replaces it; null node when neither.
  OutputTensor Lookup(const OutputTensor& output) const;

  // Closes the loops.
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
