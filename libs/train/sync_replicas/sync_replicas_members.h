// SyncReplicasMembers tracks which replicas of a synchronous training have
// begun, have ended, were asked to stop or are silent. Part of
// SyncReplicasHook.
//
// Training ends when too few replicas are left. Which ended replicas count as
// ended depends on what has restarted since:
//
//   nothing                  all, at the next check
//   the replica              not this replica: its entry says that it trains
//   a parameter server       all: the chief remembers them, and replicas that
//                            have not ended write their entries again
//   a session of the chief   all, at the next check; the table is of this run
//   the chief's program      see below
//   the chief's program and  not this replica, as soon as it writes its entry.
//   the replica              Unnumbered replicas get a new name each time: one
//                            ended name is dropped for each surplus name
//   the chief's program and  none: their entries are lost. The chief waits,
//   the parameter server     logs the replicas that have not begun, and gives
//                            up after max_wait_for_replicas
//
// When the chief's program starts, a replica that has ended according to the
// table may be about to restart, too, or may never come back; the cluster does
// not know which. Such a replica counts as ended once the chief has waited for
// max_wait_for_ended for the gradients of one update, and no replica has begun
// meanwhile. Until then, log lines about long waits name it. The time restarts
// with each update, so that a training that makes progress never ends this way.
//
// Threads: all methods from any thread after AddNodes. Those that take a
// session run steps in it, for a few seconds at most.
#ifndef WEFT_LIBS_TRAIN_SYNC_REPLICAS_SYNC_REPLICAS_MEMBERS_H_
#define WEFT_LIBS_TRAIN_SYNC_REPLICAS_SYNC_REPLICAS_MEMBERS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/logging.h"
#include "libs/base/random.h"
#include "libs/ops/scope.h"
#include "libs/session/session.h"
#include "libs/train/sessions/training_members.h"
#include "libs/train/sync_replicas/sync_replicas_nodes.h"

namespace weft::train {

class SyncReplicasMembers {
 public:
  struct Options {
    bool is_chief = false;
    // See SyncReplicasHookOptions::max_wait_for_ended_replicas.
    absl::Duration max_wait_for_ended;
    // Names replicas that have no number; null: the system's.
    Random* random = nullptr;
  };
  // All must outlive this.
  SyncReplicasMembers(const SyncReplicasNodes& nodes, const Options& options,
                      Logger& logger)
      : nodes_(nodes), options_(options), logger_(logger) {}

  // Also resets the state of an earlier training.
  absl::Status AddNodes(const Scope& scope) ABSL_LOCKS_EXCLUDED(mutex_);

  // `training`: number of training runs that have ended before; their entries
  // are ignored.
  absl::Status BeginSession(Session& session, int64_t training)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Writes a heartbeat of this replica.
  void Beat(Session& session) { members_->Beat(session).IgnoreError(); }
  // Reports that this replica was asked to stop, and comes back.
  void ReportLeft(Session& session) ABSL_LOCKS_EXCLUDED(mutex_);
  // Moves this replica to another training: its chief may have ended training,
  // and another chief may have begun that training since.
  void JoinTraining(Session& session, int64_t training)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Reports that this replica has no more gradients for that training. Returns
  // whether enough other replicas are left. May be called again after an error,
  // also in another session.
  absl::StatusOr<bool> ReportEnded(Session& session, int64_t training)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Chief only: whether fewer replicas are left than an update needs. False
  // until two calls have found that, so that a chief in step with the others
  // ends by itself. Logs it once. `wait`: the number of the current wait for
  // gradients; -1: none.
  absl::StatusOr<bool> AreTooFew(Session& session, int64_t wait)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // As AreTooFew for a chief that gives no more gradients; takes effect at
  // once.
  absl::StatusOr<bool> AreTooFewWithoutChief(Session& session, int64_t wait)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Updates the state behind AreOthersTraining and Describe.
  absl::Status Read(Session& session) ABSL_LOCKS_EXCLUDED(mutex_);
  bool AreOthersTraining() const ABSL_LOCKS_EXCLUDED(mutex_);
  // "Missing: ... Ended: ...", preceded by a space; empty if no replica is
  // known to be missing.
  std::string Describe() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Member = TrainingMembers::Member;
  using State = TrainingMembers::State;

  void Note(std::vector<Member> members, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteEnded(const Member& member, bool is_first_look)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes unnumbered replicas from ended_before_ that others have replaced.
  void DropReplaced() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns an unnumbered replica of ended_before_, preferably one whose label
  // was restarted.
  std::map<std::string, int64_t>::iterator FindReplaced()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether a replica trains that did not at the last check.
  bool HasOneBegun(const std::vector<Member>& members) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetTraining(int64_t training) ABSL_LOCKS_EXCLUDED(mutex_);
  void NoteWait(int64_t wait, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes entries that are no longer needed.
  void Tidy(Session& session) ABSL_LOCKS_EXCLUDED(mutex_);
  // Number of replicas that have not ended and are not lost.
  int NumThere() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Number of known names beyond the number of replicas: positive if some
  // replicas have replaced others.
  int Surplus() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int NumReplicas() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int64_t training() const ABSL_LOCKS_EXCLUDED(mutex_);
  int NumLeft() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string LogTooFew() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string NotBegun() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const SyncReplicasNodes& nodes_;
  const Options options_;
  Logger& logger_;
  std::optional<TrainingMembers> members_;  // from AddNodes on
  mutable absl::Mutex mutex_;
  int64_t training_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<Member> read_ ABSL_GUARDED_BY(mutex_);  // of this training
  // Entries of other training runs.
  std::vector<std::string> obsolete_ ABSL_GUARDED_BY(mutex_);
  // Also replicas whose entries were lost with a parameter server.
  std::set<std::string> ended_ ABSL_GUARDED_BY(mutex_);
  // Chief only: entries of replicas that had ended when its program began.
  std::map<std::string, int64_t> ended_before_ ABSL_GUARDED_BY(mutex_);
  // Entries of ended_before_ whose replicas have restarted under other names.
  std::map<std::string, int64_t> replaced_ ABSL_GUARDED_BY(mutex_);
  bool has_looked_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t wait_ ABSL_GUARDED_BY(mutex_) = -1;
  // Start of that wait, or the last start of a replica since.
  absl::Time waits_since_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  bool has_chief_ended_ ABSL_GUARDED_BY(mutex_) = false;
  int num_too_few_ ABSL_GUARDED_BY(mutex_) = 0;  // calls that found too few
  bool is_notified_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SYNC_REPLICAS_SYNC_REPLICAS_MEMBERS_H_
