// PlaceNodes assigns a device to each node of a graph.
//
// Rules and error texts are TensorFlow's (placer.cc; colocation_graph.cc):
// nodes connected by a reference or a resource, or by an attr _class
// "loc:@NAME", share a device; of the devices that match the requests and have
// kernels for all of a group, the best type wins (GPU before CPU), then the
// session's own task, then the name. One rule is Weft's: a shared resource
// without a requested task is placed where a resource of the same name already
// exists, so that a second client finds the first one's resource (design:
// docs/design/placement.md).
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
  // If no device fits, drop the requested type and index, not the task.
  bool allow_soft_placement = false;
  // "/job:worker/replica:0/task:0": preferred if requests leave a choice.
  std::string default_task;
  // Return reasons.
  bool explain = false;
};

// Whether a resource of this container, name and kind exists on the device
// (full name). An empty container means the device's default one.
using LivesOnFn = absl::FunctionRef<bool(const NamedResource& resource,
                                         const std::string& device)>;

struct Placement {
  // Full names, one for each node of the graph; nodes that were placed before
  // keep theirs.
  std::vector<std::string> devices;
  // One human-readable sentence for each node, if reasons are requested: which
  // devices fit, and what decided.
  std::vector<std::string> reasons;
};

// All or nothing. INVALID_ARGUMENT names the node, its request and the
// available devices; FAILED_PRECONDITION if there are no devices at all. The
// result depends only on the arguments, and not on the order of `devices`.
absl::StatusOr<Placement> PlaceNodes(const PlacementGraph& graph,
                                     absl::Span<const DeviceAttributes> devices,
                                     LivesOnFn lives_on,
                                     const PlacementOptions& options);

}  // namespace weft

#endif  // WEFT_LIBS_PLACEMENT_PLACER_H_
