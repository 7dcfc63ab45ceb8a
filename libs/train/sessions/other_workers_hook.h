// OtherWorkersHook tracks the other programs of a training. A chief whose own
// input has ended waits as long as others train, so that their work is saved.
// However its training ends, the chief saves no last checkpoint if a hook of
// another program (for example NanTensorHook) has rejected that program's last
// step, whose values may be in the variables. A worker whose chief is gone logs
// that nothing is saved.
//
// Each program has one hook, which writes a heartbeat every five seconds. A
// program without a heartbeat for twenty-five seconds counts as lost.
//
// Threads: as a hook's, except BeforeSave and AfterSave, which any thread may
// call; a thread of the session's coordinator writes and reads heartbeats.
#ifndef WEFT_LIBS_TRAIN_SESSIONS_OTHER_WORKERS_HOOK_H_
#define WEFT_LIBS_TRAIN_SESSIONS_OTHER_WORKERS_HOOK_H_

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/logging.h"
#include "libs/base/random.h"
#include "libs/train/sessions/checkpoint_saver_hook.h"
#include "libs/train/sessions/defaults.h"
#include "libs/train/sessions/session_run_hook.h"
#include "libs/train/sessions/training_members.h"

namespace weft::train {

struct OtherWorkersOptions {
  bool is_chief = false;
  // The target of the session, which names this program in logs.
  std::string target;
  Random* random = nullptr;  // used by the constructor; null: the system's
  Logger* logger = nullptr;  // outlives the hook; null: lines on stderr
  absl::Duration beat = absl::Seconds(5);
  // A program without a heartbeat for this long is lost. REQUIRES: several
  // heartbeat intervals.
  absl::Duration lost_after = absl::Seconds(25);
  absl::Duration log_every = absl::Seconds(30);
  // How long a chief whose input has ended waits for slower workers to begin.
  absl::Duration wait_for_others = absl::Seconds(5);
  // Other workers may be configured to begin this much later than the chief:
  // the chief waits for them at least until then, plus wait_for_others.
  absl::Duration delay_of_others = absl::ZeroDuration();
};

class OtherWorkersHook : public SessionRunHook {
 public:
  explicit OtherWorkersHook(OtherWorkersOptions options);

  // The hook does nothing if the graph has no global step.
  absl::Status Begin(const Scope& scope) override;
  absl::Status AfterCreateSession(Session& session,
                                  Coordinator& coordinator) override;
  // FAILED_PRECONDITION, naming the worker, if one has failed since the last
  // checkpoint of this session was begun, or else since the session began.
  absl::StatusOr<Others> PollOtherPrograms(Session& session) override;
  void OnLastStepRejected(Session& session) override;
  // Chief only: returns the same error as PollOtherPrograms.
  absl::Status End(Session& session) override;
  void BeforeSessionDestroyed() override;

  // Chief only: called around each of its saves. After a call of
  // PollOtherPrograms, BeforeSave returns the error that it would return now,
  // so that nothing is saved.
  absl::Status BeforeSave(Session& session) ABSL_LOCKS_EXCLUDED(mutex_);
  void AfterSave() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Watch(Session& session, Coordinator& coordinator);
  // Chief only: records silent workers, so that a worker lost during training
  // is known when the input has ended; removes workers that have ended.
  void CheckWorkers(Session& session);
  // Removes entries of other programs for which `is_gone` holds.
  void RemoveGone(
      Session& session, const std::vector<TrainingMembers::Member>& members,
      absl::FunctionRef<bool(const TrainingMembers::Member&)> is_gone);
  // Worker only: warns if the chief is gone.
  void CheckChief(Session& session, absl::Time now);
  // Chief only: entries of workers that have failed.
  std::set<std::string> FailedOf(
      const std::vector<TrainingMembers::Member>& members) const;
  // As CheckThatNoneFailed, for a chief that ends without waiting for others.
  absl::Status CheckForFailures(Session& session);
  // Returns an error for workers that have failed since then (see
  // PollOtherPrograms).
  absl::Status CheckThatNoneFailed(
      const std::vector<TrainingMembers::Member>& members)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Chief only: names of workers that still train; logs lost ones.
  std::vector<std::string> Training(
      const std::vector<TrainingMembers::Member>& members);
  void LogWait(const std::vector<std::string>& others, absl::Time now);

  const OtherWorkersOptions options_;
  const DefaultLogger logger_;
  TrainingMembers members_;
  bool is_used_ = false;
  bool has_failed_ = false;
  std::function<bool()> is_exit_requested_;  // of a session; may be null
  // Chief only: workers with a configured start delay have begun by then.
  absl::Time others_begin_until_ = absl::InfinitePast();
  // Chief only, after a lost session was replaced: the table may be new, and
  // other workers write their entries when they have sessions again.
  absl::Time rejoin_until_ = absl::InfinitePast();
  bool has_had_session_ = false;
  absl::Time next_beat_ = absl::InfinitePast();
  absl::Time next_line_ = absl::InfinitePast();
  std::set<std::string> lost_;
  absl::Mutex mutex_;
  // When a chief whose input has ended began to wait; savers check it.
  std::optional<absl::Time> wait_began_ ABSL_GUARDED_BY(mutex_);
  // Workers that had failed when the last checkpoint was begun, or else before
  // this session restored or initialized the variables. Unset: not read yet.
  std::optional<std::set<std::string>> failed_before_ ABSL_GUARDED_BY(mutex_);
  // Workers that had failed when the running save was begun.
  std::optional<std::set<std::string>> failed_at_save_ ABSL_GUARDED_BY(mutex_);
  // Worker only; used by the watching thread, one at a time.
  absl::Time next_warning_ = absl::InfinitePast();
};

// Inserts the hook of this program before all `hooks`. The savers among them
// call its BeforeSave and AfterSave.
void AddOtherWorkersHook(OtherWorkersOptions options, HookList& hooks);

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SESSIONS_OTHER_WORKERS_HOOK_H_
