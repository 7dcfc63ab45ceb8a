// SyncReplicasNodes: what a SyncReplicasOptimizer has added to the graph, for
// its hook (see sync_replicas_optimizer.h).
#ifndef WEFT_LIBS_TRAIN_SYNC_REPLICAS_NODES_H_
#define WEFT_LIBS_TRAIN_SYNC_REPLICAS_NODES_H_

#include <vector>

#include "libs/ops/resource/queue.h"
#include "libs/ops/scope.h"
#include "libs/ops/state/variable.h"

namespace weft::train {

// What a SyncReplicasOptimizer has added to the graph, and its hooks use; null
// until then.
struct SyncReplicasNodes {
  struct Accumulator {
    ops::Variable variable;  // whose gradients they are
    Output handle;
    bool is_sparse = false;
  };
  int replicas_to_aggregate = 0;
  int total_num_replicas = 0;
  ops::Variable global_step, local_step;
  std::vector<Accumulator> accumulators;
  // One for all replicas; of numbered ones one for each, in their order.
  std::vector<ops::Queue> tokens;
  Output ready_for_local_init_op;
  Operation chief_init_op, local_step_init_op, sync_op;

  // Of tokens, this replica's.
  int own_queue = 0;
  const ops::Queue& own_tokens() const { return tokens[own_queue]; }
  bool is_complete() const { return bool{chief_init_op}; }
  // The root of the graph, on the device of the global step.
  Scope BesideGlobalStep(const Scope& scope) const;
  // Puts as many tokens of the global step into the queues, each its share.
  Operation EnqueueTokens(const Scope& scope, int num_tokens) const;
  // The same before the first step; see SyncReplicasHookOptions::num_tokens.
  // INVALID_ARGUMENT where they are too few, or leave some queue with fewer.
  Operation EnqueueInitTokens(const Scope& scope, int num_tokens) const;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SYNC_REPLICAS_NODES_H_
