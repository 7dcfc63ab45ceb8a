// SyncReplicasWaits: looks after what synchronous replicas wait for: an update
// of the chief for gradients, another replica for its token. What takes long is
// told to the log, and a replica whose chief has ended training gets a token,
// with which it ends. Part of SyncReplicasHook.
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

struct SyncReplicasWaitsOptions {
  // A line comes when a wait has taken so long, and again each time it has
  // taken twice as long. So often a replica also asks whether training has
  // ended.
  absl::Duration log_after;
  // How long a replica waits for a next chief that has begun when training had
  // ended.
  absl::Duration max_wait_for_chief;
  // How long another replica than the chief's waits for one token.
  absl::Duration max_wait;
};

class SyncReplicasWaits {
 public:
  // `nodes` and `logger` outlive it.
  SyncReplicasWaits(const SyncReplicasNodes& nodes, bool is_chief,
                    const SyncReplicasWaitsOptions& options, Logger& logger)
      : nodes_(nodes),
        is_chief_(is_chief),
        options_(options),
        logger_(logger) {}

  // Adds what it asks the cluster for to the graph, once.
  absl::Status AddNodes(const Scope& scope,
                        const SyncReplicasNodes::Ends& ends);

  absl::Status BeginSession(Session& session) ABSL_LOCKS_EXCLUDED(mutex_);

  // Any thread: what was waited for has come. `is_waiting`: for the next one.
  void Advance(bool is_waiting) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether the chief's training has ended, so that this replica's is to.
  bool has_ended() const ABSL_LOCKS_EXCLUDED(mutex_);

  // On a thread of `coordinator`: watches until that stops.
  void Watch(Session& session, Coordinator& coordinator)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // How often Advance was called; -1 where nothing is waited for.
  int64_t Waiting() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends the run that waits, and training, with an error.
  void GiveUp(Session& session, Coordinator& coordinator,
              absl::Duration waited) const;
  // At what is waited for since then.
  void Look(Session& session, absl::Duration waited, bool is_to_log)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // What was asked for.
  struct Counts {
    std::vector<int> gradients;  // by accumulator
    int tokens = 0;
    int ends = 0;       // of trainings
    int last_ends = 0;  // none: a chief has begun since
  };
  static Counts CountsOf(absl::Span<const Tensor> answers);
  bool IsToEnd(const Counts& counts, absl::Duration waited)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Log(const Counts& counts, absl::Duration waited) const;
  std::string WhatIsMissing(const Counts& counts) const;

  const SyncReplicasNodes& nodes_;
  const bool is_chief_;
  const SyncReplicasWaitsOptions options_;
  Logger& logger_;
  std::vector<Output> asked_;  // the counts, in their order
  Operation own_token_op_;     // gives this replica a token
  mutable absl::Mutex mutex_;
  bool is_waiting_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t advances_ ABSL_GUARDED_BY(mutex_) = 0;
  int ends_before_ ABSL_GUARDED_BY(mutex_) = 0;  // when this session began
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SYNC_REPLICAS_WAITS_H_
