// PartitionGraph: cuts a placed graph into one graph for each device, and joins
// them again with _Send and _Recv nodes.
#ifndef WEFT_LIBS_PARTITION_PARTITION_H_
#define WEFT_LIBS_PARTITION_PARTITION_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "libs/graph/graph.h"

namespace weft {

// Device -> its nodes, devices in order of name. Each output that another
// device needs is sent once to that device, however many nodes take it there;
// an edge that only orders (a control edge) sends an empty tensor. Edges are
// numbered from 1 by attr `edge`, in both of their nodes, the same in each call
// for the same graph.
// REQUIRES: `graph` is placed. UNIMPLEMENTED where an edge inside a loop would
// cross devices.
absl::StatusOr<std::map<std::string, std::unique_ptr<Graph>>> PartitionGraph(
    const Graph& graph);

}  // namespace weft

#endif  // WEFT_LIBS_PARTITION_PARTITION_H_
