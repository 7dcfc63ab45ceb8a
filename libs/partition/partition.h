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
//
// A loop may lie on several devices: an edge inside it carries a value for each
// iteration, and devices that hold a part of it get nodes that go around with
// it (control_loops.h). Enter, NextIteration and Exit nodes, and constants used
// in loops, may run elsewhere than placed (node_devices.h).
//
// REQUIRES: `graph` is placed. INVALID_ARGUMENT where a loop is malformed;
// UNIMPLEMENTED where an edge between devices has no value in some iterations.
absl::StatusOr<std::map<std::string, std::unique_ptr<Graph>>> PartitionGraph(
    const Graph& graph);

}  // namespace weft

#endif  // WEFT_LIBS_PARTITION_PARTITION_H_
