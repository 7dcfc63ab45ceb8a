// CheckpointSaverHook saves checkpoints during training, like TensorFlow's hook
// of the same name. It saves when a session begins, whenever the timer is due,
// and when training ends if the step has changed since. When a session begins,
// it also writes the graph as text, graph.pbtxt, beside the checkpoints. Other
// hooks see a run first: if one of them returns an error, the run's step is not
// saved.
//
// A synchronous save runs between two runs of this session, as in TensorFlow,
// so that all variables that only this session trains are of one step. An
// asynchronous save runs concurrently with the runs, on a thread of the
// coordinator: no run waits, and variables may be some steps apart unless the
// saver has SaveConsistency::kStep. If an asynchronous save takes longer than
// the timer, the next one starts when it has ended. Training always waits for
// the saves at the beginning and at the end. All saves write their files on
// such a thread, so that a hung file system does not block the training thread
// forever.
//
// Hooks may make updates concurrently with the runs (synchronous replicas).
// These updates are delayed while a synchronous save runs, so that it contains
// no partial update. During an asynchronous save they continue, except while
// variables are marked for SaveConsistency::kStep.
//
// A failed save is logged and retried after waits of 1 s to 1 min, while
// training continues. The error ends training if no save has succeeded for
// max_failing, counting only time with a session. A save that has not ended by
// then ends training with DEADLINE_EXCEEDED; a running save is logged every ten
// minutes, or every minute while training waits for it. An error of the first
// session's save ends training at once, except UNAVAILABLE and ABORTED, which
// count as a lost session: the file server may not have started yet, and the
// next session is initialized anew. The last save is tried 20 times within
// about two minutes. Errors of other saves never count as a lost session; only
// errors of the runs around them do. The exception is a last save that is
// ABORTED six times, because no later run would report the loss.
#ifndef WEFT_LIBS_TRAIN_SESSIONS_CHECKPOINT_SAVER_HOOK_H_
#define WEFT_LIBS_TRAIN_SESSIONS_CHECKPOINT_SAVER_HOOK_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/base/monotone_clock.h"
#include "libs/fs/local_file_system.h"
#include "libs/train/saving/saver.h"
#include "libs/train/sessions/basic_session_run_hooks.h"
#include "libs/train/sessions/defaults.h"
#include "libs/train/sessions/scaffold.h"
#include "libs/train/sessions/second_or_step_timer.h"
#include "libs/train/sessions/session_run_hook.h"
#include "libs/train/sessions/session_summary_writer.h"

namespace weft::train {

// CheckpointSaverListener is notified around each checkpoint. Begin and End are
// called on the thread of the MonitoredSession; the other methods on the thread
// that saves, for one save at a time.
class CheckpointSaverListener {
 public:
  virtual ~CheckpointSaverListener() = default;
  virtual absl::Status Begin();
  virtual absl::Status BeforeSave(Session& session, int64_t global_step);
  // Called after a save. Returns true to stop training.
  virtual absl::StatusOr<bool> AfterSave(Session& session, int64_t global_step);
  virtual absl::Status End(Session& session, int64_t global_step);
};

struct CheckpointSaverOptions {
  std::string checkpoint_dir;
  // Interval between saves; set exactly one.
  std::optional<absl::Duration> save_secs;
  std::optional<int64_t> save_steps;
  // Saver to use; set exactly one. A scaffold's saver exists once the scaffold
  // is finalized.
  std::shared_ptr<Saver> saver;
  std::shared_ptr<Scaffold> scaffold;
  std::string checkpoint_basename = "model.ckpt";
  std::vector<std::shared_ptr<CheckpointSaverListener>> listeners;
  bool save_asynchronously = false;  // see the comment at the top
  // Receives the graph, also as a MetaGraphDef, and an event for each
  // checkpoint; may be null.
  std::shared_ptr<SessionSummaryWriter> writer;
  absl::Duration max_failing = absl::Hours(1);  // see the comment at the top
  // Hooks that may make updates concurrently with the runs (see
  // SaveBetweenUpdates): the hooks of SyncReplicasOptimizers.
  // MonitoredTrainingSession and Estimators pass all their hooks.
  HookList updating_hooks;
  const Clock* clock = nullptr;  // must outlive the hook; null: the machine's
  Logger* logger = nullptr;      // must outlive the hook; null: stderr
  std::string latest_filename = "checkpoint";  // see SaveOptions
  // Whether to write the graph beside checkpoints and into each MetaGraph.
  bool write_graph = true;
};

class CheckpointSaverHook : public SessionRunHook {
 public:
  explicit CheckpointSaverHook(CheckpointSaverOptions options);

  // Adds a listener, unless the options contain it already. Must be called
  // before Begin.
  void AddListener(std::shared_ptr<CheckpointSaverListener> listener);
  // Uses `hooks`, except saver hooks, as updating_hooks if the options have
  // none. Must be called before Begin.
  void SetUpdatingHooks(const HookList& hooks);

  absl::Status Begin(const Scope& scope) override;
  absl::Status AfterCreateSession(Session& session,
                                  Coordinator& coordinator) override;
  absl::StatusOr<SessionRunArgs> BeforeRun(SessionRunContext& context) override;
  absl::Status AfterRun(SessionRunContext& context,
                        const SessionRunValues& values) override;
  // Saves if a save is due, like after a run.
  absl::StatusOr<Others> PollOtherPrograms(Session& session) override;
  absl::Status End(Session& session) override;
  void BeforeSessionDestroyed() override;
  bool SavesCheckpoints() const override { return true; }

 private:
  absl::StatusOr<Saver*> FindSaver() const;
  absl::Status WriteGraph(Session& session);
  absl::Status WriteGraphTo(FileSystem& files);
  // Outcome is the result of a save and of its listeners.
  struct Outcome {
    absl::Status saved;
    absl::Status listeners;
    // True if the save has not ended; `saved` is then the error that ends
    // training.
    bool hangs = false;
  };
  // Running is a save that runs on a thread, or has ended but has not been
  // examined yet.
  struct Running;
  Outcome Save(Session& session, int64_t step);
  Outcome SaveFirst(Session& session, int64_t step);
  // Saves and notifies listeners. `save_files` sets `step` to the step that it
  // has saved.
  Outcome SaveAndNotify(Session& session, int64_t step,
                        absl::FunctionRef<Outcome(int64_t& step)> save_files);
  std::shared_ptr<Running> NewRunning(int64_t step) const;
  Outcome SaveFilesAndWait(Session& session, int64_t& step);
  absl::Status SaveFilesBetweenUpdates(Session& session, int64_t& step);
  // Calls `save` while the hooks from index `next` on delay their updates.
  absl::Status BetweenUpdates(size_t next,
                              absl::FunctionRef<absl::Status()> save);
  absl::Status SaveFiles(Session& session, int64_t step,
                         bool is_between_updates);
  absl::Status NotifySaved(Session& session, int64_t step);
  void SaveDuringSteps(Session& session, int64_t step);
  bool IsDue(int64_t step) const;
  // Returns the error that ends training; OK if training continues.
  absl::Status HandleOutcome(const Outcome& outcome, int64_t step);
  // Does the same as HandleOutcome for a save that is still running. The time
  // without a successful save counts from `since`. Logs the running save at the
  // given interval.
  absl::Status HandleLongSave(Running& running, absl::Time since,
                              absl::Duration between_lines);
  // Waits until the save has ended. Returns an error if training must end.
  absl::Status WaitFor(Running& running);
  // Waits for the running save. Returns only an error of its listeners, because
  // a failed save is retried.
  absl::Status WaitForSave();
  // Saves the last step unless it is saved already. Returns the step.
  absl::StatusOr<int64_t> SaveLast(Session& session);
  // Returns whether to retry a last save that has failed `tries` times, first
  // at `since`.
  bool TriesAgain(int tries, absl::Time since, absl::Time now) const;
  bool IsExitRequested() const {
    return is_exit_requested_ && is_exit_requested_();
  }
  // Returns a text that names the steps that no checkpoint contains; empty if
  // this hook has not seen such steps.
  std::string DescribeLost() const;

  // Listeners and updating hooks are stored separately.
  const CheckpointSaverOptions options_;
  std::vector<std::shared_ptr<CheckpointSaverListener>> listeners_;
  HookList updating_hooks_;
  const std::string save_path_;
  MonotoneClock own_clock_;
  const Clock& clock_;
  SecondOrStepTimer timer_;
  const DefaultLogger logger_;
  LocalFileSystem local_files_;
  GlobalStepReader global_step_;
  std::optional<Scope> scope_;
  Coordinator* coordinator_ = nullptr;  // coordinator of the current session
  std::shared_ptr<Running> running_;
  // Failing is set from a failed save until the next successful save.
  struct Failing {
    absl::Time since;
    absl::Time next_try;
    absl::Duration wait;  // wait after the last failure
  };
  std::optional<Failing> failing_;
  // When the last session ended; not set while a session exists.
  std::optional<absl::Time> session_went_;
  // Whether the first session has saved.
  bool has_begun_ = false;
  int64_t seen_step_ = -1;                   // step near the last run
  std::function<bool()> is_exit_requested_;  // from a session; may be null
  std::atomic<int64_t> saved_step_{-1};      // step of the last save
  // Whether a listener requested a stop.
  std::atomic<bool> stop_requested_{false};
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SESSIONS_CHECKPOINT_SAVER_HOOK_H_
