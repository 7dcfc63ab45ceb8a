// SyncReplicasNodes: what a SyncReplicasOptimizer has added to the graph, for
// its hook (see sync_replicas_optimizer.h).
#ifndef WEFT_LIBS_TRAIN_SYNC_REPLICAS_NODES_H_
#define WEFT_LIBS_TRAIN_SYNC_REPLICAS_NODES_H_

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
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
  Operation train_op;  // what a replica runs

  // Of tokens, this replica's.
  int own_queue = 0;
  // By which logs name this replica: its number, its device, or both.
  std::string own_name;
  // Whether it has a number. Others may have the same name where it has none.
  bool is_numbered = false;
  // So many replicas have to be there for an update.
  int min_replicas() const {
    return std::min(total_num_replicas, replicas_to_aggregate);
  }
  const ops::Queue& own_tokens() const { return tokens[own_queue]; }
  bool is_complete() const { return bool{chief_init_op}; }
  // How many each update gives.
  int tokens_of_update() const {
    return std::max(total_num_replicas, replicas_to_aggregate);
  }
  // The root of the graph, on the device and in the container of the global
  // step.
  Scope BesideGlobalStep(const Scope& scope) const;
  // Of a resource that all replicas share, see shared_names.h.
  std::string SharedName(absl::string_view name) const;
  // Puts as many tokens of the global step into the queues, each its share.
  Operation EnqueueTokens(const Scope& scope, int num_tokens) const;
  // The same before the first step, -1: replicas_to_aggregate.
  // INVALID_ARGUMENT where they are too few, or leave some queue with fewer.
  Operation EnqueueInitTokens(const Scope& scope, int num_tokens) const;
  // Puts one token into this replica's queue.
  Operation EnqueueOwnToken(const Scope& scope) const;
  // Done, all of them, when the next update has all its gradients. They change
  // nothing.
  std::vector<Operation> WaitForGradients(const Scope& scope) const;
  // How a chief tells the others that its training has ended.
  struct Ends {
    ops::Queue all;   // one element for each training that has
    ops::Queue last;  // some, unless a chief has begun since
  };
  Ends MakeEnds(const Scope& scope) const;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SYNC_REPLICAS_NODES_H_
