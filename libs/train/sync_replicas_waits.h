// SyncReplicasWaits: looks after what synchronous replicas wait for: an update
// of the chief for gradients, another replica for its token. What takes long is
// told to the log, and a replica whose chief has ended training gets a token,
// with which it ends. So does a replica, the chief too, whose program is asked
// to leave while its run waits. Part of SyncReplicasHook.
#ifndef WEFT_LIBS_TRAIN_SYNC_REPLICAS_WAITS_H_
#define WEFT_LIBS_TRAIN_SYNC_REPLICAS_WAITS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/logging.h"
#include "libs/ops/scope.h"
#include "libs/session/session.h"
#include "libs/tensor/tensor.h"
#include "libs/train/coordinator.h"
#include "libs/train/session_run_hook.h"
#include "libs/train/sync_replicas_members.h"
#include "libs/train/sync_replicas_nodes.h"

namespace weft::train {

struct SyncReplicasWaitsOptions {
  // A line comes when a wait has taken so long, and again each time it has
  // taken twice as long, but after ten minutes at the latest. No deadline
  // depends on it. A replica asks every five seconds, or so often where that is
  // shorter, whether training has ended.
  absl::Duration log_after;
  // How long a replica waits for a next chief that has begun when training had
  // ended.
  absl::Duration max_wait_for_chief;
  // How long another replica than the chief's waits for one token.
  absl::Duration max_wait;
  // How long the chief waits for the gradients of one update.
  absl::Duration max_wait_for_replicas;
  // Those of them that had ended before the chief's program began.
  absl::Duration max_wait_for_ended_replicas;
  // For the name of a replica without a number. Null: the system's.
  Random* random = nullptr;
};

class SyncReplicasWaits {
 public:
  // `nodes` and `logger` outlive it.
  SyncReplicasWaits(const SyncReplicasNodes& nodes, bool is_chief,
                    const SyncReplicasWaitsOptions& options, Logger& logger)
      : nodes_(nodes),
        is_chief_(is_chief),
        options_(options),
        logger_(logger),
        members_(
            nodes,
            {is_chief, options.max_wait_for_ended_replicas, options.random},
            logger) {}

  // Adds what it asks the cluster for to the graph, once.
  absl::Status AddNodes(const Scope& scope,
                        const SyncReplicasNodes::Ends& ends);

  // `is_asked_to_leave` may be null; asked until EndSession.
  absl::Status BeginSession(Session& session,
                            const std::function<bool()>& is_asked_to_leave)
      ABSL_LOCKS_EXCLUDED(mutex_, leave_mutex_);

  // Any thread: what was waited for has come. `is_waiting`: for the next one.
  void Advance(bool is_waiting) ABSL_LOCKS_EXCLUDED(mutex_);
  // Around a run of this replica. The second is left out for one that fails.
  void BeginRun() ABSL_LOCKS_EXCLUDED(mutex_);
  void EndRun() ABSL_LOCKS_EXCLUDED(mutex_);
  // Nobody is asked any more whether the program is to leave.
  void EndSession() ABSL_LOCKS_EXCLUDED(leave_mutex_);
  // Whether the chief's training has ended, so that this replica's is to.
  bool has_ended() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Tell the others why this replica gives no more gradients. The second gives
  // its token back where enough of them are left.
  void SayThatItLeaves(Session& session) ABSL_LOCKS_EXCLUDED(leave_mutex_);
  // May be called again after an error.
  absl::Status SayThatItHasEnded(Session& session) ABSL_LOCKS_EXCLUDED(mutex_);
  // Of a chief whose input has ended, which goes on with updates: whether
  // others give gradients.
  absl::StatusOr<SessionRunHook::Others> LookWithoutOwnRuns(Session& session)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // On a thread of `coordinator`: watches until that stops.
  void Watch(Session& session, Coordinator& coordinator)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // One wait, as Watch sees it.
  struct Wait {
    int64_t number = -1;
    absl::Time began, next_look, next_line;
  };

  struct Leaving {
    int64_t run = -1;  // in which the program was asked to
    bool is_told = false;
  };

  // When Watch does next what it does every now and then.
  struct Next {
    absl::Time beat, look_at_replicas;
  };

  // How often Advance was called; -1 where nothing is waited for.
  int64_t Waiting() const ABSL_LOCKS_EXCLUDED(mutex_);
  // The number of the run that is under way; -1: none.
  int64_t RunUnderWay() const ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Duration Bound() const {
    return is_chief_ ? options_.max_wait_for_replicas : options_.max_wait;
  }
  // Between two looks at the cluster, and at whether the program is to leave.
  absl::Duration LookEvery() const;
  absl::Duration WakeEvery() const;
  Wait NewWait(int64_t number, absl::Time now) const;
  // False: it has taken too long.
  bool GoOn(Session& session, const Clock& clock, Wait& wait);
  // Tells that this replica is there; of a chief, looks who has ended.
  void TendMembers(Session& session, absl::Time now, Next& next)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void SetEnded() ABSL_LOCKS_EXCLUDED(mutex_);
  // Gives this replica's run its token where the program is to leave, or
  // training has ended, and the run has been under way at the last call, too:
  // one that is not held up ends by itself.
  void LetLeave(Session& session, Leaving& leaving)
      ABSL_LOCKS_EXCLUDED(mutex_, leave_mutex_);
  bool IsAskedToLeave() ABSL_LOCKS_EXCLUDED(leave_mutex_);
  bool HasNoToken(Session& session) const;
  absl::Status GiveOwnToken(Session& session) const;
  // Ends the run that waits, and training, with an error.
  void GiveUp(Session& session, Coordinator& coordinator,
              absl::Duration waited) const;
  std::string WhyItGivesUp(absl::Duration waited) const;
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
  // The number of the training that this replica ends in.
  absl::StatusOr<int64_t> TrainingThatEnds(Session& session)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Log(const Counts& counts, absl::Duration waited) const;
  std::string WhatIsMissing(const Counts& counts) const;

  const SyncReplicasNodes& nodes_;
  const bool is_chief_;
  const SyncReplicasWaitsOptions options_;
  Logger& logger_;
  SyncReplicasMembers members_;
  std::vector<Output> asked_;  // the counts, in their order
  Operation own_token_op_;     // gives this replica a token
  mutable absl::Mutex mutex_;
  bool is_waiting_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t advances_ ABSL_GUARDED_BY(mutex_) = 0;
  int ends_before_ ABSL_GUARDED_BY(mutex_) = 0;  // when this session began
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_in_run_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t runs_ ABSL_GUARDED_BY(mutex_) = 0;
  // Held while it is asked, so that nobody asks after EndSession.
  absl::Mutex leave_mutex_;
  std::function<bool()> is_asked_to_leave_ ABSL_GUARDED_BY(leave_mutex_);
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SYNC_REPLICAS_WAITS_H_
