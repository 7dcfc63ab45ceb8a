// The errors for nodes that cannot be placed, with TensorFlow's texts
// (colocation_graph.cc, placer.cc, graph_constructor.cc). All are
// INVALID_ARGUMENT.
//
// Pure functions.
#ifndef WEFT_LIBS_PLACEMENT_REFUSALS_H_
#define WEFT_LIBS_PLACEMENT_REFUSALS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "libs/cluster/device_name.h"
#include "libs/graph/placement_graph.h"
#include "libs/placement/candidates.h"

namespace weft {

// None of the existing types (`present`) has a kernel.
absl::Status NoKernel(const PlacementNode& node, const DeviceTypes& present);

absl::Status CannotColocate(const PlacementNode& a, const PlacementNode& b,
                            absl::string_view why);

// The nodes that must share a device with `a` only have kernels for the first
// types, those with `b` for the second.
absl::Status NoCommonType(const PlacementNode& a, const PlacementNode& b,
                          const DeviceTypes& first, const DeviceTypes& second);

// No device matches `requested`, the request of the node's group.
absl::Status NoDevice(const PlacementNode& node, const DeviceName& requested,
                      absl::Span<const PlacementNode* const> group,
                      const Candidates& candidates);

}  // namespace weft

#endif  // WEFT_LIBS_PLACEMENT_REFUSALS_H_
