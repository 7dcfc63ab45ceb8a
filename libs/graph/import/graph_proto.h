// Graph to and from TensorFlow's message GraphDef, and the definitions of its
// ops, for .cc files with protobuf messages; graph_def.h has the same for
// bytes. Functions without state.
#ifndef WEFT_LIBS_GRAPH_IMPORT_GRAPH_PROTO_H_
#define WEFT_LIBS_GRAPH_IMPORT_GRAPH_PROTO_H_

#include "absl/status/status.h"
#include "libs/graph/graph.h"
#include "libs/graph/import/graph_def.h"

namespace weft {

namespace tf {
class AttrValue;
class GraphDef;
class OpDef;
class OpList;
}  // namespace tf

// Whether an unknown attr has a neutral value: newer ops have attrs whose
// default keeps the old behavior, and the default is false, zero or empty.
bool IsNeutralAttr(const tf::AttrValue& value);

// As ImportGraphDef.
absl::Status ImportGraphProto(const tf::GraphDef& def, Graph& graph,
                              const ImportOptions& options = {});

// Appends nodes [first_id, num_nodes) to those in `def`; the functions from
// number `first_function` on; and the version.
void ExportGraphProto(const Graph& graph, int first_id, bool assigned_devices,
                      tf::GraphDef* def, int first_function = 0);

// Without documentation.
void OpDefToProto(const OpDef& op, tf::OpDef* proto);

// Appends the ops of the graph's nodes and of its functions', sorted by name,
// to those in `ops`.
void ExportOps(const Graph& graph, tf::OpList* ops);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_IMPORT_GRAPH_PROTO_H_
