// CheckpointSaverHook: saves as training goes on; TensorFlow's hook of that
// name. A checkpoint is saved when a session begins, whenever the timer says
// so, and when training ends, if the step has changed since. Beside them lies
// the graph as text, graph.pbtxt, written when a session begins. Other hooks
// see a run first: if one of them returns an error, the run's step is not
// saved.
//
// A save is made between two runs of this session, as TensorFlow does, so that
// all variables that it alone trains are of one step. It may also be made
// beside the runs, on a thread of the coordinator: no run waits, and variables
// may be some steps apart unless the saver has SaveConsistency::kStep. Where
// such a save takes longer than the timer, the next one comes when it has
// ended. Those at the beginning and at the end are waited for. The files of any
// are written on such a thread, so that those that hang keep nobody for ever.
//
// Updates that hooks make beside the runs, of synchronous replicas, are held
// off while a save that is waited for is made: no update is half in it. With
// one beside the runs they go on; with SaveConsistency::kStep they are held off
// there, too, while variables are marked.
//
// A save that fails is logged and made again, after waits of 1 s to 1 min,
// while training goes on; the error ends training when none has succeeded for
// max_failing of the time in which there was a session, and so does a save that
// has not ended by then, with DEADLINE_EXCEEDED: it is told every ten minutes,
// every minute where training waits for it. That of the first session ends it
// at once, but for UNAVAILABLE and ABORTED, which count as a lost session: what
// holds the files may not have begun yet, and the next session is initialised
// anew. The last one is tried 20 times within about two minutes. No error of
// another save counts as a lost session, only those of the runs around it do;
// but for a last one that is ABORTED six times, for no run comes after it that
// would tell.
#ifndef WEFT_LIBS_TRAIN_CHECKPOINT_SAVER_HOOK_H_
#define WEFT_LIBS_TRAIN_CHECKPOINT_SAVER_HOOK_H_

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
#include "libs/train/basic_session_run_hooks.h"
#include "libs/train/defaults.h"
#include "libs/train/saver.h"
#include "libs/train/scaffold.h"
#include "libs/train/second_or_step_timer.h"
#include "libs/train/session_run_hook.h"
#include "libs/train/session_summary_writer.h"

namespace weft::train {

// What is to happen around each checkpoint. Begin and End on the thread of the
// MonitoredSession; the others on whichever saves, one save at a time.
class CheckpointSaverListener {
 public:
  virtual ~CheckpointSaverListener() = default;
  virtual absl::Status Begin();
  virtual absl::Status BeforeSave(Session& session, int64_t global_step);
  // True: training is to stop.
  virtual absl::StatusOr<bool> AfterSave(Session& session, int64_t global_step);
  virtual absl::Status End(Session& session, int64_t global_step);
};

struct CheckpointSaverOptions {
  std::string checkpoint_dir;
  // Exactly one of the two.
  std::optional<absl::Duration> save_secs;
  std::optional<int64_t> save_steps;
  // Of exactly one of the two; the scaffold's is there once that is finalized.
  std::shared_ptr<Saver> saver;
  std::shared_ptr<Scaffold> scaffold;
  std::string checkpoint_basename = "model.ckpt";
  std::vector<std::shared_ptr<CheckpointSaverListener>> listeners;
  bool save_asynchronously = false;  // see above
  // Gets the graph, also with what belongs to it (MetaGraphDef), and an event
  // for each checkpoint; may be null.
  std::shared_ptr<SessionSummaryWriter> writer;
  absl::Duration max_failing = absl::Hours(1);  // see above
  // Hooks that may make updates beside the runs (see SaveBetweenUpdates): those
  // of SyncReplicasOptimizers. MonitoredTrainingSession and Estimators give
  // savers all hooks that there are.
  HookList updating_hooks;
  const Clock* clock = nullptr;  // outlives it; null: the machine's
  Logger* logger = nullptr;      // outlives it; null: lines on stderr
  std::string latest_filename = "checkpoint";  // as SaveOptions'
  // Whether the graph is written beside checkpoints, and into each.
  bool write_graph = true;
};

class CheckpointSaverHook : public SessionRunHook {
 public:
  explicit CheckpointSaverHook(CheckpointSaverOptions options);

  // To those of the options, unless it is there already. Before Begin.
  void AddListener(std::shared_ptr<CheckpointSaverListener> listener);
  // Takes `hooks`, but for savers, as its updating_hooks where the options name
  // none. Before Begin.
  void SetUpdatingHooks(const HookList& hooks);

  absl::Status Begin(const Scope& scope) override;
  absl::Status AfterCreateSession(Session& session,
                                  Coordinator& coordinator) override;
  absl::StatusOr<SessionRunArgs> BeforeRun(SessionRunContext& context) override;
  absl::Status AfterRun(SessionRunContext& context,
                        const SessionRunValues& values) override;
  // Saves when it is due, as after a run.
  absl::StatusOr<Others> WhileOthersTrain(Session& session) override;
  absl::Status End(Session& session) override;
  void BeforeSessionGoes() override;
  bool SavesCheckpoints() const override { return true; }

 private:
  absl::StatusOr<Saver*> FindSaver() const;
  absl::Status WriteGraph(Session& session);
  absl::Status WriteGraphTo(FileSystem& files);
  // What became of a save, and what listeners said.
  struct Outcome {
    absl::Status saved;
    absl::Status listeners;
    // It has not ended: `saved` is with what training ends.
    bool hangs = false;
  };
  // A save that runs on a thread, or has ended and was not looked at.
  struct Running;
  Outcome Save(Session& session, int64_t step);
  Outcome SaveFirst(Session& session, int64_t step);
  // `save_files` sets the step to the one that it has saved.
  Outcome SaveAndTell(Session& session, int64_t step,
                      absl::FunctionRef<Outcome(int64_t& step)> save_files);
  std::shared_ptr<Running> NewRunning(int64_t step) const;
  Outcome SaveFilesAndWait(Session& session, int64_t& step);
  absl::Status SaveFilesBetweenUpdates(Session& session, int64_t& step);
  // `save` between the updates of those hooks from number `next` on.
  absl::Status BetweenUpdates(size_t next,
                              absl::FunctionRef<absl::Status()> save);
  absl::Status SaveFiles(Session& session, int64_t step,
                         bool is_between_updates);
  absl::Status TellSaved(Session& session, int64_t step);
  void SaveBesideSteps(Session& session, int64_t step);
  bool IsDue(int64_t step) const;
  // The error that ends training, if one does.
  absl::Status Heed(const Outcome& outcome, int64_t step);
  // The same, of one that has not ended, where none has succeeded since then;
  // it is told so often.
  absl::Status HeedLong(Running& running, absl::Time since,
                        absl::Duration between_lines);
  // Until it has ended, or ends training.
  absl::Status WaitFor(Running& running);
  // Of listeners: what was not saved is saved again.
  absl::Status WaitForSave();
  // Unless it is saved already; the step.
  absl::StatusOr<int64_t> SaveLast(Session& session);
  // Whether a last save that has failed so often, first at `since`, is tried
  // again.
  bool TriesAgain(int tries, absl::Time since, absl::Time now) const;
  bool IsAskedToLeave() const {
    return is_asked_to_leave_ && is_asked_to_leave_();
  }
  // Which steps no checkpoint has; empty: none that this hook has seen.
  std::string DescribeLost() const;

  // But for their listeners and updating hooks.
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
  // Since a save has failed, until one succeeds.
  struct Failing {
    absl::Time since;
    absl::Time next_try;
    absl::Duration wait;  // after that
  };
  std::optional<Failing> failing_;
  // Since there was none; unset while there is one.
  std::optional<absl::Time> session_went_;
  bool has_begun_ = false;                   // the first session has saved
  int64_t seen_step_ = -1;                   // about the last one that has run
  std::function<bool()> is_asked_to_leave_;  // of a session; may be null
  std::atomic<int64_t> saved_step_{-1};      // the last one
  std::atomic<bool> stop_requested_{false};  // by a listener
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_CHECKPOINT_SAVER_HOOK_H_
