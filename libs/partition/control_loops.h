// Control loops drive the iterations of a loop on devices that hold only a part
// of it. Internal to this module.
//
// A _Recv inside a loop must run once in each iteration, but has no input that
// could trigger it. So each device that receives values inside a frame gets a
// small loop of the same frame, which does nothing but iterate as often as the
// real loop:
//
//   Const -> Enter -> Merge -> Switch -> NextIteration -> back to Merge
//                               ^ the frame's LoopCond, received if need be
//
// The Merge triggers the device's _Recv nodes of that frame, also in the last
// iteration, in which dead values arrive. In nested loops, the Enter of an
// inner frame's control loop follows the Merge of the outer frame's control
// loop. So the inner frame is entered in each iteration of the outer frame, as
// it is on the sending devices. In the outer frame's last iteration, or on a
// branch not taken, a dead LoopCond ends the inner frame. The idea is
// TensorFlow's (core/graph/graph_partition.cc).
//
// A device that only sends needs a control loop, too, if no other node carries
// its part of the frame to the next iteration.
#ifndef WEFT_LIBS_PARTITION_CONTROL_LOOPS_H_
#define WEFT_LIBS_PARTITION_CONTROL_LOOPS_H_

#include <set>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "libs/graph/graph.h"
#include "libs/partition/loop_structure.h"
#include "libs/partition/node_devices.h"

namespace weft {

// The frame and device of each control loop; outer frames come before inner
// ones.
using ControlLoops = std::set<std::pair<int, std::string>>;

// Returns the control loops that are needed to partition the graph. Returns
// UNIMPLEMENTED, with the edge, if the source of an edge between devices does
// not run in each iteration of a loop: it is then unknown when to receive its
// value. Returns INVALID_ARGUMENT, with the loop, if a loop does not have
// exactly one LoopCond.
absl::StatusOr<ControlLoops> FindControlLoops(const Graph& graph,
                                              const LoopStructure& loops,
                                              const NodeDevices& devices);

// Adds the first nodes of the control loop of `frame`, and returns the last of
// them, the Merge. `outer` is the Merge of the enclosing frame's control loop
// on the same device; null if the enclosing frame is frame 0.
absl::StatusOr<const Node*> BeginControlLoop(const LoopStructure& loops,
                                             int frame, const Node* outer,
                                             const std::string& device,
                                             Graph& part);
// Adds the remaining nodes of a control loop. `condition` is the LoopCond's
// value in `part`.
absl::Status EndControlLoop(int frame, const Node* merge,
                            const OutputTensor& condition, Graph& part);

}  // namespace weft

#endif  // WEFT_LIBS_PARTITION_CONTROL_LOOPS_H_
