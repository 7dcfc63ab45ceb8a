#include "tools/conformance/graph_ops.h"

#include "schemas/tf/graph.pb.h"

namespace weft::conformance {

absl::StatusOr<std::set<std::string>> OpsOf(absl::string_view graph_def) {
  tf::GraphDef graph;
  if (!graph.ParseFromArray(graph_def.data(),
                            static_cast<int>(graph_def.size()))) {
    return absl::InvalidArgumentError("not a GraphDef");
  }
  std::set<std::string> ops;
  for (const tf::NodeDef& node : graph.node()) ops.insert(node.op());
  return ops;
}

}  // namespace weft::conformance
