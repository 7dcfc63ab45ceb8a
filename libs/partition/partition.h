// PartitionGraph cuts a placed graph into one graph for each device, connected
// by _Send and _Recv nodes.
#ifndef WEFT_LIBS_PARTITION_PARTITION_H_
#define WEFT_LIBS_PARTITION_PARTITION_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "libs/graph/graph.h"

namespace weft {

// Returns a map from each device, sorted by name, to the graph of its nodes.
// Each output that another device needs is sent to that device once, however
// many nodes consume it there; for a control edge an empty tensor is sent.
// Edges are numbered from 1. Both nodes of an edge have the number as attr
// `edge`, and the same graph always gets the same numbers.
//
// A loop may span several devices. An edge inside it then carries a value in
// each iteration, and devices that hold a part of the loop get nodes that
// iterate with it (control_loops.h). Enter, NextIteration and Exit nodes, and
// constants used in loops, may run on other devices than they were placed on
// (node_devices.h).
//
// Returns INVALID_ARGUMENT if a loop is malformed, UNIMPLEMENTED if an edge
// between devices has no value in some iterations. REQUIRES: `graph` is placed.
absl::StatusOr<std::map<std::string, std::unique_ptr<Graph>>> PartitionGraph(
    const Graph& graph);

}  // namespace weft

#endif  // WEFT_LIBS_PARTITION_PARTITION_H_
