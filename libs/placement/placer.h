// PlaceNodes: which device each node of a graph lives on.
//
// Rules and error texts are TensorFlow's (placer.cc; colocation_graph.cc):
// nodes joined by a reference or a resource, or by an attr _class "loc:@NAME",
// share a device; of the devices that fit the requests and have kernels for all
// of a group, the best type wins (GPU before CPU), then the session's own task,
// then the name.
#ifndef WEFT_LIBS_PLACEMENT_PLACER_H_
#define WEFT_LIBS_PLACEMENT_PLACER_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "libs/device/device.h"
#include "libs/graph/graph.h"

namespace weft {

struct PlacementOptions {
  // When no device fits, forget the requested type and index, not the task.
  bool allow_soft_placement = false;
  // "/job:worker/replica:0/task:0": preferred where requests leave a choice.
  std::string default_task;
};

// The types of the devices that have a kernel for the node.
using DeviceTypesFn =
    absl::FunctionRef<std::vector<std::string>(const Node& node)>;

// Assigns a device to each node from `first_id` on; older nodes are placed and
// stay. All or nothing: on error no node has been assigned.
// INVALID_ARGUMENT names the node, what it asked for and what there is. The
// result depends on nothing but the arguments.
absl::Status PlaceNodes(Graph& graph, int first_id,
                        absl::Span<const DeviceAttributes> devices,
                        DeviceTypesFn device_types,
                        const PlacementOptions& options);

}  // namespace weft

#endif  // WEFT_LIBS_PLACEMENT_PLACER_H_
