// Strategies that choose the ps task of a variable for ReplicaDeviceSetter.
// They are TensorFlow's: tf.train's round robin, and
// GreedyLoadBalancingStrategy and RandomStrategy of tf.contrib.training.
//
//   weft::ReplicaDeviceSetter({.cluster = cluster,
//                              .strategy = weft::GreedyLoadBalancing(2)})
//
// A strategy is called once for each variable, in program order. All except
// RandomByName depend on that order, so replicas must create their variables in
// the same order. Copies of a strategy share its state.
//
// Threads: as for the scope. Errors (no tasks, an invalid load) are
// INVALID_ARGUMENT when a strategy is called, and stick to the scope.
#ifndef WEFT_LIBS_OPS_LOAD_BALANCING_H_
#define WEFT_LIBS_OPS_LOAD_BALANCING_H_

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "libs/graph/graph.h"

namespace weft {

// Returns the index of the task for this node, from 0.
using PsStrategy = std::function<absl::StatusOr<int>(const NodeSpec& node)>;

// The load of a node on its task, in any unit; not negative.
using LoadFunction =
    std::function<absl::StatusOr<double>(const NodeSpec& node)>;

// TensorFlow's byte_size_load_fn: the bytes of a variable's value, by its attrs
// `shape` and `dtype`; a string counts 1, and so does a node without a shape,
// such as a table. INVALID_ARGUMENT for a shape that is not fully defined.
// (TensorFlow counts the handle of a resource variable as one byte; here it
// counts as its value.)
absl::StatusOr<double> ByteSizeLoad(const NodeSpec& node);

// Chooses tasks 0, 1, ..., num_tasks - 1, 0, ...
PsStrategy RoundRobin(int num_tasks);

// Chooses the task with the least load so far, and the lowest index of several.
PsStrategy GreedyLoadBalancing(int num_tasks, LoadFunction load = ByteSizeLoad);

// Chooses by a hash of the node's name and `seed`: the same task in every
// replica, in whatever order it creates its variables.
PsStrategy RandomByName(int num_tasks, int64_t seed = 0);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_LOAD_BALANCING_H_
