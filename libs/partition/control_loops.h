// Control loops drive the iterations of a loop on devices that hold only a part
// of it. Internal to this module.
//
// A _Recv inside a loop must run once in each iteration, but has no input that
// would trigger it. So each device that receives values inside a frame gets a
// small loop of the same frame that only iterates as often as the real one:
//
//   Const -> Enter -> Merge -> Switch -> NextIteration -> back to Merge
//                               ^ the frame's LoopCond, received if need be
//
// and the Merge triggers the device's _Recv nodes of that frame, also in the
// last iteration, where dead values arrive. The Enter of an inner frame's
// control loop follows the Merge of the outer one's, so that the inner frame is
// entered in each iteration of the outer frame, as its senders are; in the last
// one, or on a branch not taken, a dead LoopCond ends it. The idea is
// TensorFlow's (core/graph/graph_partition.cc).
//
// A device that only sends needs one, too, if nothing else carries its part of
// the frame to the next iteration.
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

// Frame and device; outer frames come before inner ones.
using ControlLoops = std::set<std::pair<int, std::string>>;

// The control loops needed to partition the graph. UNIMPLEMENTED names an edge
// between devices whose source does not run in each iteration of a loop, so
// that it is unknown when to receive it; INVALID_ARGUMENT names a loop without
// a LoopCond, or with two.
absl::StatusOr<ControlLoops> FindControlLoops(const Graph& graph,
                                              const LoopStructure& loops,
                                              const NodeDevices& devices);

// Adds the control loop of `frame` up to its Merge, which is returned. `outer`
// is the Merge of the enclosing frame's control loop on the same device; null
// in frame 0.
absl::StatusOr<const Node*> BeginControlLoop(const LoopStructure& loops,
                                             int frame, const Node* outer,
                                             const std::string& device,
                                             Graph& part);
// Adds the rest; `condition` is the LoopCond's value in `part`.
absl::Status EndControlLoop(int frame, const Node* merge,
                            const OutputTensor& condition, Graph& part);

}  // namespace weft

#endif  // WEFT_LIBS_PARTITION_CONTROL_LOOPS_H_
