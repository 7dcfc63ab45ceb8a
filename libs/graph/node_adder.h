// NodeAdder is the interface through which an import adds its nodes to a graph,
// if it does not add them directly.
#ifndef WEFT_LIBS_GRAPH_NODE_ADDER_H_
#define WEFT_LIBS_GRAPH_NODE_ADDER_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/graph/graph.h"

namespace weft {

class NodeAdder {
 public:
  virtual ~NodeAdder() = default;
  // Announces the name of a node that will be added later. Called for all nodes
  // before the first Add.
  virtual void Expect(absl::string_view name) = 0;
  // Adds a node with the name of `spec` and with the outputs of its op. May add
  // further nodes. Producers must be added first.
  virtual absl::StatusOr<const Node*> Add(NodeSpec spec) = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_NODE_ADDER_H_
