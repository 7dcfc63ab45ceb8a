// Late reads: consumers of a variable's value that read the variable when they
// run, not when the Identity between them ran. Internal to this module.
//
// Programs with reference variables read them through an Identity ("w/read").
// In TensorFlow that Identity's output is the variable's own memory, so an
// in-place update is visible through it: SyncReplicasOptimizer fills its tokens
// from an Identity of the global step that runs before the step is incremented,
// and expects the new number (python/training/sync_replicas_optimizer.py).
// Weft's Identity copies the value, which is never torn. The following rule
// agrees with TensorFlow's wherever a graph determines the order:
//
//   a consumer that the partition's edges put after a change of the variable,
//   while its Identity is not after that change, reads the variable itself.
//
// All other consumers of an Identity see the one value that it copied.
//
// Threads: a pure function.
#ifndef WEFT_LIBS_EXECUTOR_LATE_READS_H_
#define WEFT_LIBS_EXECUTOR_LATE_READS_H_

#include <utility>

#include "libs/base/hash_tables.h"
#include "libs/graph/graph.h"

namespace weft {

// Maps an input (node id, number of the input) to the reference that the node
// reads instead. Such a node still waits for the producer of its input.
using LateReads = FlatHashMap<std::pair<int, int>, OutputTensor>;

LateReads FindLateReads(const Graph& graph);

}  // namespace weft

#endif  // WEFT_LIBS_EXECUTOR_LATE_READS_H_
