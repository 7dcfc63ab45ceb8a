// PlaceNodes: which device each node of a graph lives on.
//
// Rules and error texts are TensorFlow's (placer.cc; colocation_graph.cc):
// nodes joined by a reference or a resource, or by an attr _class "loc:@NAME",
// share a device; of the devices that fit the requests and have kernels for all
// of a group, the best type wins (GPU before CPU), then the session's own task,
// then the name. One rule is ours: a shared resource that asks for no task goes
// where a resource of its name lives already, so that a second client finds
// what the first one made (design: docs/design/placement.md).
#ifndef WEFT_LIBS_PLACEMENT_PLACER_H_
#define WEFT_LIBS_PLACEMENT_PLACER_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "libs/device/device.h"
#include "libs/graph/placement_graph.h"

namespace weft {

struct PlacementOptions {
  // When no device fits, forget the requested type and index, not the task.
  bool allow_soft_placement = false;
  // "/job:worker/replica:0/task:0": preferred where requests leave a choice.
  std::string default_task;
  // Reasons are wanted.
  bool explain = false;
};

// Whether a resource of this container, name and kind lives on the device (full
// name). An empty container means the device's default one.
using LivesOnFn = absl::FunctionRef<bool(const NamedResource& resource,
                                         const std::string& device)>;

struct Placement {
  // Full names, one for each node of the graph; of nodes that were placed
  // before the one they had.
  std::vector<std::string> devices;
  // One sentence for each node, for people, when reasons are wanted: which
  // devices fitted, and what decided.
  std::vector<std::string> reasons;
};

// All or nothing. INVALID_ARGUMENT names the node, what it asked for and what
// there is; FAILED_PRECONDITION where there are no devices at all. The result
// depends on nothing but the arguments, and not on the order of `devices`.
absl::StatusOr<Placement> PlaceNodes(const PlacementGraph& graph,
                                     absl::Span<const DeviceAttributes> devices,
                                     LivesOnFn lives_on,
                                     const PlacementOptions& options);

}  // namespace weft

#endif  // WEFT_LIBS_PLACEMENT_PLACER_H_
