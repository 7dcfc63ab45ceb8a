// NodeAdder adds the nodes of an import to a graph, if they are not added
// directly.
#ifndef WEFT_LIBS_GRAPH_NODE_ADDER_H_
#define WEFT_LIBS_GRAPH_NODE_ADDER_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/graph/graph.h"

namespace weft {

class NodeAdder {
 public:
  virtual ~NodeAdder() = default;
  // Called before the first node, with the name of each node to come.
  virtual void Expect(absl::string_view name) = 0;
  // Adds a node with the name of the spec, whose outputs are those of the
  // spec's op, and any other nodes it needs. Producers come first.
  virtual absl::StatusOr<const Node*> Add(NodeSpec spec) = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_NODE_ADDER_H_
