// Conversion of Graph to and from TensorFlow's GraphDef message, and export of
// its ops. Only for .cc files that include protobuf messages; graph_def.h has
// the conversion to and from bytes. Functions without state.
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

// Returns whether an attr that its op does not have has a neutral value: false,
// zero or empty. Such an attr may be ignored, because this is the default with
// which a newer version of the op keeps the old behavior.
bool IsNeutralAttr(const tf::AttrValue& value);

// Does the same as ImportGraphDef for a parsed message.
absl::Status ImportGraphProto(const tf::GraphDef& def, Graph& graph,
                              const ImportOptions& options = {});

// Appends nodes [first_id, num_nodes), the functions from index
// `first_function` on, and the version to `def`.
void ExportGraphProto(const Graph& graph, int first_id, bool assigned_devices,
                      tf::GraphDef* def, int first_function = 0);

// Converts the OpDef to a message without documentation.
void OpDefToProto(const OpDef& op, tf::OpDef* proto);

// Appends the ops of the graph's nodes and of the nodes in its functions to
// `ops`. The added ops are sorted by name.
void ExportOps(const Graph& graph, tf::OpList* ops);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_IMPORT_GRAPH_PROTO_H_
