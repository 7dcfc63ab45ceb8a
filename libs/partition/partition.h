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

// Returns device -> its nodes, devices sorted by name. Each output that another
// device needs is sent once to that device, however many nodes consume it
// there; a control edge sends an empty tensor. Edges are numbered from 1 by
// attr `edge`, in both of their nodes, identically in each call for the same
// graph.
//
// A loop may span several devices: an edge inside it carries a value for each
// iteration, and devices that hold a part of it get nodes that iterate with it
// (control_loops.h). Enter, NextIteration and Exit nodes, and constants used in
// loops, may run elsewhere than placed (node_devices.h).
//
// REQUIRES: `graph` is placed. INVALID_ARGUMENT if a loop is malformed;
// UNIMPLEMENTED if an edge between devices has no value in some iterations.
absl::StatusOr<std::map<std::string, std::unique_ptr<Graph>>> PartitionGraph(
    const Graph& graph);

}  // namespace weft

#endif  // WEFT_LIBS_PARTITION_PARTITION_H_
