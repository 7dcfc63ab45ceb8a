// SyncReplicasWaits watches the waits of synchronous replicas: of the chief's
// update for gradients, and of other replicas for their token. Long waits are
// logged, and a replica whose chief has ended training gets a token, with which
// it ends. So does a replica, also the chief, whose program gets a stop request
// while its run waits. Part of SyncReplicasHook.
#ifndef WEFT_LIBS_TRAIN_SYNC_REPLICAS_SYNC_REPLICAS_WAITS_H_
#define WEFT_LIBS_TRAIN_SYNC_REPLICAS_SYNC_REPLICAS_WAITS_H_

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
#include "libs/train/sessions/coordinator.h"
#include "libs/train/sessions/session_run_hook.h"
#include "libs/train/sync_replicas/sync_replicas_members.h"
#include "libs/train/sync_replicas/sync_replicas_nodes.h"

namespace weft::train {

struct SyncReplicasWaitsOptions {
  // A wait is logged when it has taken this long, and again each time it has
  // doubled, at least every ten minutes. No deadline depends on it. A replica
  // checks every five seconds, or at this interval if shorter, whether training
  // has ended.
  absl::Duration log_after;
  // How long a replica that has begun after the end of training waits for the
  // next chief.
  absl::Duration max_wait_for_chief;
  // How long a replica other than the chief's waits for one token.
  absl::Duration max_wait;
  // How long the chief waits for the gradients of one update.
  absl::Duration max_wait_for_replicas;
  // Like max_wait_for_replicas, for replicas that had ended before the program
  // of the chief began.
  absl::Duration max_wait_for_ended_replicas;
  // Names a replica that has no number. Null: the system's.
  Random* random = nullptr;
};

class SyncReplicasWaits {
 public:
  // `nodes` and `logger` must outlive this.
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

  // Adds the nodes of its queries to the graph, once.
  absl::Status AddNodes(const Scope& scope,
                        const SyncReplicasNodes::Ends& ends);

  // `is_exit_requested` may be null; it is called until EndSession.
  absl::Status BeginSession(Session& session,
                            const std::function<bool()>& is_exit_requested)
      ABSL_LOCKS_EXCLUDED(mutex_, leave_mutex_);

  // Any thread: a wait has ended. `is_waiting`: the next one begins.
  void Advance(bool is_waiting) ABSL_LOCKS_EXCLUDED(mutex_);
  // Called around a run of this replica; EndRun is not called for a run that
  // fails.
  void BeginRun() ABSL_LOCKS_EXCLUDED(mutex_);
  void EndRun() ABSL_LOCKS_EXCLUDED(mutex_);
  // After this, is_exit_requested is not called any more.
  void EndSession() ABSL_LOCKS_EXCLUDED(leave_mutex_);
  // Whether the chief's training has ended, so that this replica's must end.
  bool has_ended() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Report to the others why this replica gives no more gradients. The second
  // returns its token if enough of them are left.
  void ReportLeaving(Session& session) ABSL_LOCKS_EXCLUDED(leave_mutex_);
  // May be called again after an error.
  absl::Status ReportHasEnded(Session& session) ABSL_LOCKS_EXCLUDED(mutex_);
  // For a chief whose input has ended, which continues to run updates: whether
  // others give gradients.
  absl::StatusOr<SessionRunHook::Others> CheckWithoutOwnRuns(Session& session)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Runs on a thread of `coordinator`: watches until that stops.
  void Watch(Session& session, Coordinator& coordinator)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // One wait, as seen by Watch.
  struct Wait {
    int64_t number = -1;
    absl::Time began, next_look, next_line;
  };

  struct Leaving {
    int64_t run = -1;  // in which the program was asked to
    bool is_notified = false;
  };

  // Next times of the periodic tasks of Watch.
  struct Next {
    absl::Time beat, look_at_replicas;
  };

  // Number of calls of Advance; -1 if there is no wait.
  int64_t Waiting() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Number of the current run; -1: none.
  int64_t RunUnderWay() const ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Duration Bound() const {
    return is_chief_ ? options_.max_wait_for_replicas : options_.max_wait;
  }
  // Interval between checks of the cluster and of stop requests.
  absl::Duration PollInterval() const;
  absl::Duration WakeEvery() const;
  Wait NewWait(int64_t number, absl::Time now) const;
  // Returns false if the wait has taken too long.
  bool ContinueWait(Session& session, const Clock& clock, Wait& wait);
  // Writes this replica's heartbeat; on the chief, also checks which replicas
  // have ended.
  void UpdateMembers(Session& session, absl::Time now, Next& next)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void SetEnded() ABSL_LOCKS_EXCLUDED(mutex_);
  // Gives this replica's run its token if a stop is requested or training has
  // ended, and the run was in progress at the last call, too: a run that is not
  // blocked ends by itself.
  void EndRunIfStopping(Session& session, Leaving& leaving)
      ABSL_LOCKS_EXCLUDED(mutex_, leave_mutex_);
  bool IsExitRequested() ABSL_LOCKS_EXCLUDED(leave_mutex_);
  bool HasNoToken(Session& session) const;
  absl::Status GiveOwnToken(Session& session) const;
  // Ends the waiting run, and training, with an error.
  void FailRun(Session& session, Coordinator& coordinator,
               absl::Duration waited) const;
  std::string TimeoutError(absl::Duration waited) const;
  // Checks the cause of a wait of this duration.
  void Look(Session& session, absl::Duration waited, bool is_to_log)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Queried counts.
  struct Counts {
    std::vector<int> gradients;  // by accumulator
    int tokens = 0;
    int ends = 0;       // of training runs
    int last_ends = 0;  // none: a chief has begun since
  };
  static Counts CountsOf(absl::Span<const Tensor> answers);
  bool IsToEnd(const Counts& counts, absl::Duration waited)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns the number of the training in which this replica ends.
  absl::StatusOr<int64_t> TrainingThatEnds(Session& session)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Log(const Counts& counts, absl::Duration waited) const;
  std::string DescribeMissing(const Counts& counts) const;

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
  // Held during a call of is_exit_requested, so that none is made after
  // EndSession.
  absl::Mutex leave_mutex_;
  std::function<bool()> is_exit_requested_ ABSL_GUARDED_BY(leave_mutex_);
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SYNC_REPLICAS_SYNC_REPLICAS_WAITS_H_
