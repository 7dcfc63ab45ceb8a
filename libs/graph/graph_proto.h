// Graph to and from TensorFlow's message GraphDef, and the definitions of its
// ops, for .cc files that hold protobuf messages; graph_def.h has the same for
// bytes. Functions without state.
#ifndef WEFT_LIBS_GRAPH_GRAPH_PROTO_H_
#define WEFT_LIBS_GRAPH_GRAPH_PROTO_H_

#include "absl/status/status.h"
#include "libs/graph/graph.h"
#include "libs/graph/graph_def.h"

namespace weft {

namespace tf {
class AttrValue;
class GraphDef;
class OpDef;
class OpList;
}  // namespace tf

// Whether an attr we do not know asks for nothing: newer ops have attrs whose
// default keeps the old behaviour, and false, zero or empty is what they have.
bool IsNeutralAttr(const tf::AttrValue& value);

// As ImportGraphDef says.
absl::Status ImportGraphProto(const tf::GraphDef& def, Graph& graph,
                              const ImportOptions& options = {});

// Nodes [first_id, num_nodes), after those that `def` has; the functions from
// number `first_function` on; and the version.
void ExportGraphProto(const Graph& graph, int first_id, bool assigned_devices,
                      tf::GraphDef* def, int first_function = 0);

// Without what is only for people.
void OpDefToProto(const OpDef& op, tf::OpDef* proto);

// The ops of the graph's nodes and of its functions', sorted by name, after
// those that `ops` has.
void ExportOps(const Graph& graph, tf::OpList* ops);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_GRAPH_PROTO_H_
