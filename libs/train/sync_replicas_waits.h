// SyncReplicasWaits: tells the log what synchronous replicas wait for, when it
// takes long: an update of the chief for gradients, another replica for its
// token. Part of SyncReplicasHook.
#ifndef WEFT_LIBS_TRAIN_SYNC_REPLICAS_WAITS_H_
#define WEFT_LIBS_TRAIN_SYNC_REPLICAS_WAITS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/logging.h"
#include "libs/ops/scope.h"
#include "libs/session/session.h"
#include "libs/tensor/tensor.h"
#include "libs/train/coordinator.h"
#include "libs/train/sync_replicas_nodes.h"

namespace weft::train {

class SyncReplicasWaits {
 public:
  // A line comes when a wait has taken `log_after`, and again each time it has
  // taken twice as long. `nodes` and `logger` outlive it.
  SyncReplicasWaits(const SyncReplicasNodes& nodes, bool is_chief,
                    absl::Duration log_after, Logger& logger)
      : nodes_(nodes),
        is_chief_(is_chief),
        log_after_(log_after),
        logger_(logger) {}

  // Adds what it asks the cluster for to the graph, once.
  absl::Status AddNodes(const Scope& scope);

  // Any thread: what was waited for has come. `is_waiting`: for the next one.
  void Advance(bool is_waiting) ABSL_LOCKS_EXCLUDED(mutex_);

  // On a thread of `coordinator`: watches until that stops.
  void Watch(Session& session, Coordinator& coordinator)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // How often Advance was called; -1 where nothing is waited for.
  int64_t Waiting() const ABSL_LOCKS_EXCLUDED(mutex_);
  void Log(Session& session, absl::Duration waited) const;
  // Of counts by accumulator.
  std::string WhatIsMissing(absl::Span<const Tensor> counts) const;

  const SyncReplicasNodes& nodes_;
  const bool is_chief_;
  const absl::Duration log_after_;
  Logger& logger_;
  // Numbers of gradients by accumulator, then of tokens for this replica.
  std::vector<Output> asked_;
  mutable absl::Mutex mutex_;
  bool is_waiting_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t advances_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SYNC_REPLICAS_WAITS_H_
