// SyncReplicas: the nodes of TensorFlow's SyncReplicasOptimizer: the gradients
// of several replicas are averaged in accumulators beside the variables, one
// update is made of each average, and a replica goes on when it gets a token
// from a queue.
//
// Errors stick to the scope. Threads: as the scope's.
#ifndef WEFT_BENCHMARKS_SYNC_REPLICAS_H_
#define WEFT_BENCHMARKS_SYNC_REPLICAS_H_

#include <string>
#include <vector>

#include "libs/api/weft.h"

namespace weft::benchmarks {

struct SyncReplicas {
  // Of the replica: its gradients go to the accumulators, and a token comes.
  Operation train;
  // Once in each replica, when the cluster's variables are initialised.
  std::vector<Operation> local_init;
  // Once in the chief, after that.
  std::vector<Operation> chief_init;
  // What the chief runs over and over beside its steps: an update, and tokens
  // for all replicas.
  Operation update;
};

// `device`: of the replica's task. As many gradients are aggregated as there
// are replicas.
SyncReplicas BuildSyncReplicas(const Scope& scope, const std::string& device,
                               const Output& loss,
                               const ops::Variable& global_step,
                               train::Optimizer& optimizer, int replicas);

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_SYNC_REPLICAS_H_
