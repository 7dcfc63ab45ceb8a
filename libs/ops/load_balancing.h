// Strategies: which ps task a ReplicaDeviceSetter puts a variable on. Those of
// TensorFlow: tf.train's round robin, tf.contrib.training's
// GreedyLoadBalancingStrategy and RandomStrategy.
//
//   weft::ReplicaDeviceSetter({.cluster = cluster,
//                              .strategy = weft::GreedyLoadBalancing(2)})
//
// A strategy is asked once for each variable, in the order of the program. All
// but RandomByName go by that order, so replicas must make their variables in
// the same one. Copies of a strategy share its state.
//
// Threads: as the scope's. Errors (no tasks, a load that is none) are
// INVALID_ARGUMENT when a strategy is asked, and stick to the scope.
#ifndef WEFT_LIBS_OPS_LOAD_BALANCING_H_
#define WEFT_LIBS_OPS_LOAD_BALANCING_H_

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "libs/graph/graph.h"

namespace weft {

// The index of the task for this node, from 0.
using PsStrategy = std::function<absl::StatusOr<int>(const NodeSpec& node)>;

// What a node costs the task that holds it, in any unit; not negative.
using LoadFunction =
    std::function<absl::StatusOr<double>(const NodeSpec& node)>;

// TensorFlow's byte_size_load_fn: the bytes of a variable's value, by its attrs
// `shape` and `dtype`; a string counts 1, and so does a node without a shape,
// such as a table. INVALID_ARGUMENT for a shape that is not fully defined.
// (TensorFlow counts the handle of a resource variable as one byte; here it
// counts as its value.)
absl::StatusOr<double> ByteSizeLoad(const NodeSpec& node);

// 0, 1, ..., num_tasks - 1, 0, ...
PsStrategy RoundRobin(int num_tasks);

// The task with the least load so far, the lowest of several.
PsStrategy GreedyLoadBalancing(int num_tasks, LoadFunction load = ByteSizeLoad);

// By a hash of the node's name and `seed`: the same for every replica, in
// whatever order it makes its variables.
PsStrategy RandomByName(int num_tasks, int64_t seed = 0);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_LOAD_BALANCING_H_
