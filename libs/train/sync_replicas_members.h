// SyncReplicasMembers: which replicas of a synchronous training have begun,
// have ended, were asked to leave or are silent. Part of SyncReplicasHook.
//
// Which of the replicas that have ended count, so that training ends when too
// few are left, depends on what was started again since:
//
//   nothing                  each, at the next look
//   the replica              not that one: its entry says that it trains
//   a parameter server       each: the chief remembers them, and replicas that
//                            have not ended write their entries again
//   a session of the chief   each, at the next look; the table is of this run
//   the chief's program      see below
//   the chief's program and  not that one, as soon as it writes its entry; of
//   the replica              replicas without numbers, whose names are others
//                            each time, one for each that there is too much
//   the chief's program and  none: nobody knows of them. The chief waits, logs
//   the parameter server     who has not begun, and gives up after
//                            max_wait_for_replicas
//
// Where the chief's program starts, the replica that the table says has ended
// may be about to start with it, or may never come back. Nothing in the cluster
// tells which. So such a replica counts once the chief has waited for
// max_wait_for_ended for the gradients of one update, and no replica has begun
// meanwhile; until then lines about long waits name it. The time begins anew
// with each update, so that a training which gets on never ends so.
//
// Threads: all methods from any thread after AddNodes. Those that take a
// session run steps in it, for a few seconds at most.
#ifndef WEFT_LIBS_TRAIN_SYNC_REPLICAS_MEMBERS_H_
#define WEFT_LIBS_TRAIN_SYNC_REPLICAS_MEMBERS_H_

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
#include "libs/train/sync_replicas_nodes.h"
#include "libs/train/training_members.h"

namespace weft::train {

class SyncReplicasMembers {
 public:
  struct Options {
    bool is_chief = false;
    // See SyncReplicasHookOptions::max_wait_for_ended_replicas.
    absl::Duration max_wait_for_ended;
    // For the names of replicas without numbers; null: the system's.
    Random* random = nullptr;
  };
  // All outlive it.
  SyncReplicasMembers(const SyncReplicasNodes& nodes, const Options& options,
                      Logger& logger)
      : nodes_(nodes), options_(options), logger_(logger) {}

  // Also forgets what an earlier training has come to.
  absl::Status AddNodes(const Scope& scope) ABSL_LOCKS_EXCLUDED(mutex_);

  // `training`: how many trainings have ended before; entries of those do not
  // count.
  absl::Status BeginSession(Session& session, int64_t training)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // This replica is there.
  void Beat(Session& session) { members_->Beat(session).IgnoreError(); }
  // It was asked to leave, and comes back.
  void SayLeft(Session& session) ABSL_LOCKS_EXCLUDED(mutex_);
  // Its chief may have ended training, and another one have begun that training
  // since.
  void JoinTraining(Session& session, int64_t training)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // It has no more gradients for that training. Returns whether enough other
  // replicas are left. May be called again after an error, in another session,
  // too.
  absl::StatusOr<bool> SayEnded(Session& session, int64_t training)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The chief's: fewer replicas are left than an update needs. False until two
  // calls have found that, so that a chief in step with the others ends by
  // itself. Logs it, once. `wait`: the number of the wait for gradients that is
  // under way; -1: none is.
  absl::StatusOr<bool> AreTooFew(Session& session, int64_t wait)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The same of a chief that gives no more gradients; at once.
  absl::StatusOr<bool> AreTooFewWithoutChief(Session& session, int64_t wait)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Reads what DoOthersTrain and Describe are about.
  absl::Status Read(Session& session) ABSL_LOCKS_EXCLUDED(mutex_);
  bool DoOthersTrain() const ABSL_LOCKS_EXCLUDED(mutex_);
  // "Missing: ... Ended: ...", with a space before it; empty: nothing is known
  // to be missing.
  std::string Describe() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Member = TrainingMembers::Member;
  using State = TrainingMembers::State;

  void Note(std::vector<Member> members, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteEnded(const Member& member, bool is_first_look)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes from ended_before_ replicas without numbers that others have taken
  // the place of.
  void DropReplaced() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of ended_before_: one without a number, of a label that was started again
  // if there is one.
  std::map<std::string, int64_t>::iterator FindReplaced()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether one trains that did not at the last look.
  bool HasOneBegun(const std::vector<Member>& members) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetTraining(int64_t training) ABSL_LOCKS_EXCLUDED(mutex_);
  void NoteWait(int64_t wait, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes entries that nobody needs any more.
  void Tidy(Session& session) ABSL_LOCKS_EXCLUDED(mutex_);
  // Replicas that have not ended and are heard of.
  int NumThere() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int NumReplicas() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int64_t training() const ABSL_LOCKS_EXCLUDED(mutex_);
  int NumLeft() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string TellTooFew() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string NotBegun() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const SyncReplicasNodes& nodes_;
  const Options options_;
  Logger& logger_;
  std::optional<TrainingMembers> members_;  // from AddNodes on
  mutable absl::Mutex mutex_;
  int64_t training_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<Member> read_ ABSL_GUARDED_BY(mutex_);  // of this training
  std::vector<std::string> obsolete_ ABSL_GUARDED_BY(mutex_);  // of others
  // Also those whose entries were lost with a parameter server.
  std::set<std::string> ended_ ABSL_GUARDED_BY(mutex_);
  // Of a chief: the entries that said so when its program began.
  std::map<std::string, int64_t> ended_before_ ABSL_GUARDED_BY(mutex_);
  // Those of them that have begun again, with other names.
  std::map<std::string, int64_t> replaced_ ABSL_GUARDED_BY(mutex_);
  bool has_looked_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t wait_ ABSL_GUARDED_BY(mutex_) = -1;
  // That wait, and no replica has begun since.
  absl::Time waits_since_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  bool has_chief_ended_ ABSL_GUARDED_BY(mutex_) = false;
  int num_too_few_ ABSL_GUARDED_BY(mutex_) = 0;  // calls that found too few
  bool is_told_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SYNC_REPLICAS_MEMBERS_H_
