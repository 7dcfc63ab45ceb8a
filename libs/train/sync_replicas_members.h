// SyncReplicasMembers tracks which replicas of a synchronous training have
// begun, have ended, were asked to stop or are silent. Part of
// SyncReplicasHook.
//
// Threads: all methods from any thread after AddNodes. Those that take a
// session run steps in it, for a few seconds at most.
#ifndef WEFT_LIBS_TRAIN_SYNC_REPLICAS_MEMBERS_H_
#define WEFT_LIBS_TRAIN_SYNC_REPLICAS_MEMBERS_H_

#include <cstdint>
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
  // All must outlive this. `random` may be null: the system's.
  SyncReplicasMembers(const SyncReplicasNodes& nodes, Random* random,
                      Logger& logger)
      : nodes_(nodes), random_(random), logger_(logger) {}

  absl::Status AddNodes(const Scope& scope);

  // `training`: number of trainings that have ended before; entries of those
  // are ignored.
  absl::Status BeginSession(Session& session, int64_t training)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Writes a heartbeat of this replica.
  void Beat(Session& session) { members_->Beat(session).IgnoreError(); }
  // Reports that this replica was asked to stop, and comes back.
  void ReportLeft(Session& session) ABSL_LOCKS_EXCLUDED(mutex_);
  // Reports that this replica has no more gradients. Returns whether enough
  // other replicas are left. May be called again after an error.
  absl::StatusOr<bool> ReportEnded(Session& session)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Chief only: whether fewer replicas are left than an update needs. False
  // until two calls have found that, so that a chief in step with the others
  // ends by itself. Logs it once.
  absl::StatusOr<bool> AreTooFew(Session& session) ABSL_LOCKS_EXCLUDED(mutex_);
  // As AreTooFew for a chief that gives no more gradients; takes effect at
  // once.
  absl::StatusOr<bool> AreTooFewWithoutChief(Session& session)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Updates the state behind DoOthersTrain and Describe.
  absl::Status Read(Session& session) ABSL_LOCKS_EXCLUDED(mutex_);
  bool DoOthersTrain() const ABSL_LOCKS_EXCLUDED(mutex_);
  // "Missing: ... Ended: ...", preceded by a space; empty if no replica is
  // known to be missing.
  std::string Describe() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Member = TrainingMembers::Member;
  using State = TrainingMembers::State;

  void Note(std::vector<Member> members, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int NumReplicas() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int64_t training() const ABSL_LOCKS_EXCLUDED(mutex_);
  int NumLeft() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string LogTooFew() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string NotBegun() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const SyncReplicasNodes& nodes_;
  Random* const random_;
  Logger& logger_;
  std::optional<TrainingMembers> members_;  // from AddNodes on
  mutable absl::Mutex mutex_;
  int64_t training_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<Member> read_ ABSL_GUARDED_BY(mutex_);  // of this training
  // Also replicas whose entries were lost with a parameter server.
  std::set<std::string> ended_ ABSL_GUARDED_BY(mutex_);
  // Replicas that had ended when the session began. They may be about to
  // restart, as this program was, and count as ended only if they do not.
  std::set<std::string> ended_before_ ABSL_GUARDED_BY(mutex_);
  absl::Time began_ ABSL_GUARDED_BY(mutex_);
  bool has_chief_ended_ ABSL_GUARDED_BY(mutex_) = false;
  int num_too_few_ ABSL_GUARDED_BY(mutex_) = 0;  // calls that found too few
  bool is_told_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SYNC_REPLICAS_MEMBERS_H_
