// OtherWorkersHook: lets the programs of one training know of each other. A
// chief whose own input has ended stays as long as others train, so that what
// they do is saved. However its training ends, it saves no last checkpoint
// where a hook of another one has refused that one's last step (NanTensorHook,
// say), whose values may be in the variables. A worker whose chief is gone logs
// that nothing is saved.
//
// Each program has one. Each writes a heartbeat every five seconds; one that
// has given none for twenty-five seconds counts as lost.
//
// Threads: as a hook's, but for BeforeSave and AfterSave, which any may call;
// one of the session's coordinator writes and looks.
#ifndef WEFT_LIBS_TRAIN_OTHER_WORKERS_HOOK_H_
#define WEFT_LIBS_TRAIN_OTHER_WORKERS_HOOK_H_

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
#include "libs/train/checkpoint_saver_hook.h"
#include "libs/train/defaults.h"
#include "libs/train/session_run_hook.h"
#include "libs/train/training_members.h"

namespace weft::train {

struct OtherWorkersOptions {
  bool is_chief = false;
  // The target of the session, by which logs name this program.
  std::string target;
  Random* random = nullptr;  // used by the constructor; null: the system's
  Logger* logger = nullptr;  // outlives the hook; null: lines on stderr
  absl::Duration beat = absl::Seconds(5);
  // A program that has been silent for so long is lost. REQUIRES: some beats.
  absl::Duration lost_after = absl::Seconds(25);
  absl::Duration log_every = absl::Seconds(30);
  // A chief whose input has ended looks for so long whether others begin, which
  // are slower to start.
  absl::Duration wait_for_others = absl::Seconds(5);
  // Others may be told to begin so much later than the chief: it looks at least
  // until then, and for wait_for_others more.
  absl::Duration delay_of_others = absl::ZeroDuration();
};

class OtherWorkersHook : public SessionRunHook {
 public:
  explicit OtherWorkersHook(OtherWorkersOptions options);

  // Does nothing, ever, where the graph has no global step.
  absl::Status Begin(const Scope& scope) override;
  absl::Status AfterCreateSession(Session& session,
                                  Coordinator& coordinator) override;
  // FAILED_PRECONDITION, naming the worker, where one has failed since the last
  // checkpoint of this session was begun, or else since the session began.
  absl::StatusOr<Others> WhileOthersTrain(Session& session) override;
  void LastStepWasRefused(Session& session) override;
  // Of a chief: the same error.
  absl::Status End(Session& session) override;
  void BeforeSessionGoes() override;

  // Of a chief, around each of its saves. The error that WhileOthersTrain would
  // return by now, where that was called before: nothing is to be saved.
  absl::Status BeforeSave(Session& session) ABSL_LOCKS_EXCLUDED(mutex_);
  void AfterSave() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Watch(Session& session, Coordinator& coordinator);
  // Of a chief: notes who is silent, so that a worker that was lost during
  // training is known to be when the input has ended; removes who has ended.
  void LookAtWorkers(Session& session);
  // Removes entries other than this program's that `is_gone` holds for.
  void RemoveGone(
      Session& session, const std::vector<TrainingMembers::Member>& members,
      absl::FunctionRef<bool(const TrainingMembers::Member&)> is_gone);
  // Of a worker: warns where the chief is gone.
  void LookForChief(Session& session, absl::Time now);
  // Of a chief: entries of workers that have failed.
  std::set<std::string> FailedOf(
      const std::vector<TrainingMembers::Member>& members) const;
  // The same for a chief that ends without a wait for others.
  absl::Status LookForFailures(Session& session);
  // An error for those that had not by then (see WhileOthersTrain).
  absl::Status CheckThatNoneFailed(
      const std::vector<TrainingMembers::Member>& members)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Of a chief: who trains on; logs who was lost.
  std::vector<std::string> Training(
      const std::vector<TrainingMembers::Member>& members);
  void LogWait(const std::vector<std::string>& others, absl::Time now);

  const OtherWorkersOptions options_;
  const DefaultLogger logger_;
  TrainingMembers members_;
  bool is_used_ = false;
  bool has_failed_ = false;
  std::function<bool()> is_asked_to_leave_;  // of a session; may be null
  // Of a chief whose input has ended.
  std::optional<absl::Time> wait_began_;
  // Of a chief: those that are told to begin later have begun by then.
  absl::Time others_begin_until_ = absl::InfinitePast();
  // Of a chief whose session has replaced a lost one: the table may be new, and
  // other workers write their entries when they have sessions again.
  absl::Time rejoin_until_ = absl::InfinitePast();
  bool has_had_session_ = false;
  absl::Time next_beat_ = absl::InfinitePast();
  absl::Time next_line_ = absl::InfinitePast();
  std::set<std::string> lost_;
  absl::Mutex mutex_;
  // The same as wait_began_, for savers.
  bool is_waiting_ ABSL_GUARDED_BY(mutex_) = false;
  // Workers that had failed when the last checkpoint was begun, or when this
  // session was, with the values of a checkpoint or anew. Not given: they could
  // not be read yet.
  std::optional<std::set<std::string>> failed_before_ ABSL_GUARDED_BY(mutex_);
  // When the save that is under way was begun.
  std::optional<std::set<std::string>> failed_at_save_ ABSL_GUARDED_BY(mutex_);
  // Of a worker; used by the thread that watches, one at a time.
  absl::Time next_warning_ = absl::InfinitePast();
};

// Puts the hook of this program before all `hooks`. The savers among them call
// its BeforeSave and AfterSave.
void AddOtherWorkersHook(OtherWorkersOptions options, HookList& hooks);

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_OTHER_WORKERS_HOOK_H_
