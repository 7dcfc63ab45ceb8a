// CheckpointSaverHook saves checkpoints during training; TensorFlow's hook of
// the same name. It saves when a session begins, whenever the timer is due, and
// when training ends if the step has changed since. When a session begins, it
// also writes the graph as text, graph.pbtxt, beside the checkpoints. Other
// hooks see a run first: if one of them returns an error, the run's step is not
// saved.
//
// A synchronous save runs between two runs of this session, as in TensorFlow,
// so that all variables that only this session trains are of one step. An
// asynchronous save runs concurrently with the runs, on a thread of the
// coordinator: no run waits, and variables may be some steps apart unless the
// saver has SaveConsistency::kStep. If an asynchronous save takes longer than
// the timer, the next one starts when it has ended. The saves at the beginning
// and at the end are always waited for. All saves write their files on such a
// thread, so that a hung file system does not block the training thread
// forever.
//
// Updates that hooks make concurrently with the runs (synchronous replicas) are
// held while a synchronous save runs, so that it contains no partial update.
// During an asynchronous save they continue; with SaveConsistency::kStep they
// are held there, too, while variables are marked.
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
  // Returns true to stop training.
  virtual absl::StatusOr<bool> AfterSave(Session& session, int64_t global_step);
  virtual absl::Status End(Session& session, int64_t global_step);
};

struct CheckpointSaverOptions {
  std::string checkpoint_dir;
  // Exactly one of the two.
  std::optional<absl::Duration> save_secs;
  std::optional<int64_t> save_steps;
  // Exactly one of the two. The scaffold's saver exists once the scaffold is
  // finalized.
  std::shared_ptr<Saver> saver;
  std::shared_ptr<Scaffold> scaffold;
  std::string checkpoint_basename = "model.ckpt";
  std::vector<std::shared_ptr<CheckpointSaverListener>> listeners;
  bool save_asynchronously = false;  // see above
  // Receives the graph, also as a MetaGraphDef, and an event for each
  // checkpoint; may be null.
  std::shared_ptr<SessionSummaryWriter> writer;
  absl::Duration max_failing = absl::Hours(1);  // see above
  // Hooks that may make updates concurrently with the runs (see
  // SaveBetweenUpdates): the hooks of SyncReplicasOptimizers.
  // MonitoredTrainingSession and Estimators pass all their hooks.
  HookList updating_hooks;
  const Clock* clock = nullptr;  // outlives it; null: the machine's
  Logger* logger = nullptr;      // outlives it; null: lines on stderr
  std::string latest_filename = "checkpoint";  // as SaveOptions'
  // Whether to write the graph beside checkpoints and into each MetaGraph.
  bool write_graph = true;
};

class CheckpointSaverHook : public SessionRunHook {
 public:
  explicit CheckpointSaverHook(CheckpointSaverOptions options);

  // Adds a listener to those of the options, unless it is there already. Must
  // be called before Begin.
  void AddListener(std::shared_ptr<CheckpointSaverListener> listener);
  // Uses `hooks`, except savers, as updating_hooks if the options name none.
  // Must be called before Begin.
  void SetUpdatingHooks(const HookList& hooks);

  absl::Status Begin(const Scope& scope) override;
  absl::Status AfterCreateSession(Session& session,
                                  Coordinator& coordinator) override;
  absl::StatusOr<SessionRunArgs> BeforeRun(SessionRunContext& context) override;
  absl::Status AfterRun(SessionRunContext& context,
                        const SessionRunValues& values) override;
  // Saves when due, as after a run.
  absl::StatusOr<Others> PollOtherPrograms(Session& session) override;
  absl::Status End(Session& session) override;
  void BeforeSessionDestroyed() override;
  bool SavesCheckpoints() const override { return true; }

 private:
  absl::StatusOr<Saver*> FindSaver() const;
  absl::Status WriteGraph(Session& session);
  absl::Status WriteGraphTo(FileSystem& files);
  // The result of a save and of its listeners.
  struct Outcome {
    absl::Status saved;
    absl::Status listeners;
    // True if the save has not ended; `saved` is then the error that ends
    // training.
    bool hangs = false;
  };
  // A save that runs on a thread, or has ended without being examined yet.
  struct Running;
  Outcome Save(Session& session, int64_t step);
  Outcome SaveFirst(Session& session, int64_t step);
  // Saves and notifies listeners. `save_files` sets the step to the one that it
  // has saved.
  Outcome SaveAndNotify(Session& session, int64_t step,
                        absl::FunctionRef<Outcome(int64_t& step)> save_files);
  std::shared_ptr<Running> NewRunning(int64_t step) const;
  Outcome SaveFilesAndWait(Session& session, int64_t& step);
  absl::Status SaveFilesBetweenUpdates(Session& session, int64_t& step);
  // Calls `save` while the hooks from number `next` on hold their updates.
  absl::Status BetweenUpdates(size_t next,
                              absl::FunctionRef<absl::Status()> save);
  absl::Status SaveFiles(Session& session, int64_t step,
                         bool is_between_updates);
  absl::Status NotifySaved(Session& session, int64_t step);
  void SaveDuringSteps(Session& session, int64_t step);
  bool IsDue(int64_t step) const;
  // Returns the error that ends training, if one does.
  absl::Status HandleOutcome(const Outcome& outcome, int64_t step);
  // HandleOutcome for a save that is still running, if none has succeeded since
  // `since`; logs at the given interval.
  absl::Status HandleLongSave(Running& running, absl::Time since,
                              absl::Duration between_lines);
  // Waits until the save has ended, or ends training.
  absl::Status WaitFor(Running& running);
  // Waits for the running save. Returns the error of its listeners only,
  // because a failed save is retried.
  absl::Status WaitForSave();
  // Saves unless this step is saved already; returns the step.
  absl::StatusOr<int64_t> SaveLast(Session& session);
  // Whether a last save that has failed `tries` times, first at `since`, is
  // retried.
  bool TriesAgain(int tries, absl::Time since, absl::Time now) const;
  bool IsExitRequested() const {
    return is_exit_requested_ && is_exit_requested_();
  }
  // Names the steps that no checkpoint contains; empty if this hook has seen
  // none.
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
  Coordinator* coordinator_ = nullptr;  // of the session that is there
  std::shared_ptr<Running> running_;
  // Set from a failed save until the next success.
  struct Failing {
    absl::Time since;
    absl::Time next_try;
    absl::Duration wait;  // after that
  };
  std::optional<Failing> failing_;
  // When the last session ended; unset while there is one.
  std::optional<absl::Time> session_went_;
  bool has_begun_ = false;                   // the first session has saved
  int64_t seen_step_ = -1;                   // about the last one that has run
  std::function<bool()> is_exit_requested_;  // of a session; may be null
  std::atomic<int64_t> saved_step_{-1};      // the last one
  std::atomic<bool> stop_requested_{false};  // by a listener
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SESSIONS_CHECKPOINT_SAVER_HOOK_H_
