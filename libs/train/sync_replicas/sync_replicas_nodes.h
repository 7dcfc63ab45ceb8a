// SyncReplicasNodes lists the nodes that a SyncReplicasOptimizer has added to
// the graph, for its hook (see sync_replicas_optimizer.h).
#ifndef WEFT_LIBS_TRAIN_SYNC_REPLICAS_SYNC_REPLICAS_NODES_H_
#define WEFT_LIBS_TRAIN_SYNC_REPLICAS_SYNC_REPLICAS_NODES_H_

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "libs/ops/resource/queue.h"
#include "libs/ops/scope.h"
#include "libs/ops/state/variable.h"

namespace weft::train {

// SyncReplicasNodes lists the nodes that a SyncReplicasOptimizer has added to
// the graph, for its hooks; null until then.
struct SyncReplicasNodes {
  struct Accumulator {
    ops::Variable variable;  // the variable of these gradients
    Output handle;
    bool is_sparse = false;
  };
  int replicas_to_aggregate = 0;
  int total_num_replicas = 0;
  ops::Variable global_step, local_step;
  std::vector<Accumulator> accumulators;
  // One queue for all replicas; with numbered replicas one for each, in their
  // order.
  std::vector<ops::Queue> tokens;
  Output ready_for_local_init_op;
  Operation chief_init_op, local_step_init_op, sync_op;
  Operation train_op;  // the operation that a replica runs

  // Index of this replica's queue in `tokens`.
  int own_queue = 0;
  // Name of this replica in logs: its number, its device, or both.
  std::string own_name;
  // Whether this replica has a number. Without one, other replicas may have the
  // same name.
  bool is_numbered = false;
  // Number of replicas that an update needs.
  int min_replicas() const {
    return std::min(total_num_replicas, replicas_to_aggregate);
  }
  const ops::Queue& own_tokens() const { return tokens[own_queue]; }
  bool is_complete() const { return bool{chief_init_op}; }
  // Number of tokens that each update gives.
  int tokens_of_update() const {
    return std::max(total_num_replicas, replicas_to_aggregate);
  }
  // Returns the root scope of the graph, on the device and in the container of
  // the global step.
  Scope BesideGlobalStep(const Scope& scope) const;
  // Shared name of a resource of all replicas; see shared_names.h.
  std::string SharedName(absl::string_view name) const;
  // Enqueues that many tokens of the global step, divided among the queues.
  Operation EnqueueTokens(const Scope& scope, int num_tokens) const;
  // As EnqueueTokens before the first step; -1: replicas_to_aggregate.
  // INVALID_ARGUMENT if there are too few, or some queue gets fewer than
  // others.
  Operation EnqueueInitTokens(const Scope& scope, int num_tokens) const;
  // Enqueues one token into this replica's queue.
  Operation EnqueueOwnToken(const Scope& scope) const;
  // Operations that complete when the next update has all its gradients. They
  // change nothing.
  std::vector<Operation> WaitForGradients(const Scope& scope) const;
  // Nodes by which a chief reports the end of its training.
  struct Ends {
    ops::Queue all;   // one element for each training that has
    ops::Queue last;  // some, unless a chief has begun since
  };
  Ends MakeEnds(const Scope& scope) const;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SYNC_REPLICAS_SYNC_REPLICAS_NODES_H_
