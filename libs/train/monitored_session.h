// MonitoredSession: a session for training that runs without its author: it
// initialises or restores, calls hooks around each run, and goes on by itself
// when a task of the cluster was lost; TensorFlow's tf.train.MonitoredSession.
//
//   ASSIGN_OR_RETURN(auto session, train::MonitoredTrainingSession(root, {
//       .master = server->target(), .is_chief = task_index == 0,
//       .checkpoint_dir = dir, .hooks = {train::StopAtStep(2000)}}));
//   while (!session->ShouldStop()) RETURN_IF_ERROR(session->Run(train));
//   return session->Close();
//
// When it is made: Begin of all hooks, the graph gets its last nodes, a session
// with initialised or restored variables, queue runners, AfterCreateSession of
// all hooks. No node may be added to the graph from then on: runs are
// FAILED_PRECONDITION.
//
// A run that fails with UNAVAILABLE or ABORTED is made again in a new session,
// whose variables are those of the last checkpoint (or as new, without one;
// other workers wait for the chief, and find them as they are). The caller does
// not see it, and a run that was counted already may be made twice, as with
// TensorFlow. Between attempts it waits, up to max_backoff; it gives up when
// for max_recovery there was no progress: no run that succeeded in a session
// that has lasted for a minute, no session that began at a greater global step
// than the first after the loss (so a checkpoint was saved, or others train),
// and no session that lasted so long itself.
//
// A chief whose input has ended stays as long as other programs train on, as
// its hooks say (SessionRunHook::WhileOthersTrain); so Close may take long. A
// stop that is asked for ends that wait. A session that is lost meanwhile is
// replaced for those others; where they do not bring the global step back to
// where it was, Close saves and returns the error of the loss. Where a hook of
// another program has refused a step since the last checkpoint, Close of a
// chief saves no more and returns FAILED_PRECONDITION, whatever has ended its
// training.
//
// Close calls End of a hook again after UNAVAILABLE: for up to max_recovery, or
// for a second where the program was asked to leave. (Saves try again by
// themselves, and end with another error.) Where the session itself is lost by
// then, so are the steps since the last checkpoint: Close returns the error,
// and the program goes on from that checkpoint when it is started again.
//
// An error of a thread of the coordinator (queue runners, hooks' own) makes
// ShouldStop true, and comes out of the next Run and of Close. It ends the wait
// for other programs; hooks' End is called, so that what was done is saved.
//
// Threads: one at a time, but for RequestStop. All block.
#ifndef WEFT_LIBS_TRAIN_MONITORED_SESSION_H_
#define WEFT_LIBS_TRAIN_MONITORED_SESSION_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/base/random.h"
#include "libs/base/scheduler.h"
#include "libs/ops/scope.h"
#include "libs/session/session.h"
#include "libs/train/defaults.h"
#include "libs/train/session_creator.h"
#include "libs/train/session_run_hook.h"

namespace weft::train {

struct RecoveryOptions {
  // False: UNAVAILABLE and ABORTED come out of Run as other errors do.
  bool should_recover = true;
  // Waits between attempts grow from the first to the last, with jitter.
  // REQUIRES: both more than none.
  absl::Duration initial_backoff = absl::Milliseconds(50);
  absl::Duration max_backoff = absl::Seconds(1);
  // For so long it tries without progress; then the error comes out. The last
  // attempt may take longer, by what the cluster waits for missing tasks
  // (ServerOptions::patience).
  absl::Duration max_recovery = absl::Hours(2);
};

struct MonitoredSessionOptions {
  HookList hooks;
  // How long threads of the coordinator may take to end. Those that take longer
  // are named in the log, and keep what they use: their session, closed, and
  // the hooks.
  absl::Duration stop_grace_period = absl::Minutes(2);
  RecoveryOptions recovery;
  // True: training is to end as if a hook had asked for it; looked at between
  // runs, while it waits for a session and, on a thread of the coordinator,
  // while a run of synchronous replicas waits for others. May be null.
  std::function<bool()> stop_requested;
  // To wait with, and for threads of coordinators, which then are as many as
  // its blocking pool has. Outlives the session. Null: of their own.
  Scheduler* scheduler = nullptr;
  Random* random = nullptr;  // outlives it; null: the system's
  Logger* logger = nullptr;  // outlives it; null: lines on stderr
};

// One session and what belongs to it, until it is lost or closed.
class HookedSession;

class MonitoredSession {
 public:
  static absl::StatusOr<std::unique_ptr<MonitoredSession>> Create(
      const Scope& scope, std::unique_ptr<SessionCreator> creator,
      MonitoredSessionOptions options);
  // Closes, if that was not done, with what the last run came to, as if the
  // program had been asked to leave: others are not told that training has
  // ended, unless it has. Errors are logged.
  ~MonitoredSession();

  // Whether a hook or RequestStop has asked to stop, a thread of the
  // coordinator failed, or the input has ended. Goes on with a new session
  // where that showed that this one was lost.
  bool ShouldStop();
  // Any thread: the run that is under way is the last one. Ends a wait for a
  // new session, upon which the run returns the error.
  void RequestStop() { is_stop_requested_.store(true); }

  // As Session's. FAILED_PRECONDITION after a stop that a hook has asked for,
  // or after Close. OUT_OF_RANGE is the end of the input: ShouldStop is true
  // then, and Close reports no error.
  absl::StatusOr<Tensor> Run(const Output& fetch) { return Run({}, fetch); }
  absl::StatusOr<Tensor> Run(const FeedList& feeds, const Output& fetch,
                             const RunOptions& options = {},
                             RunMetadata* metadata = nullptr);
  absl::Status Run(const Operation& target) { return Run({}, target); }
  absl::Status Run(const FeedList& feeds, const Operation& target,
                   const RunOptions& options = {},
                   RunMetadata* metadata = nullptr);
  absl::StatusOr<std::vector<Tensor>> Run(
      const FeedList& feeds, const std::vector<Output>& fetches,
      const std::vector<Operation>& targets = {},
      const RunOptions& options = {}, RunMetadata* metadata = nullptr);

  // What RunStepFn gives to its function.
  class StepContext {
   public:
    // What runs in it passes no hooks.
    Session& session() const;
    // As MonitoredSession::Run, within the attempt.
    absl::StatusOr<std::vector<Tensor>> RunWithHooks(
        const SessionRunArgs& args, RunMetadata* metadata = nullptr);
    // ShouldStop is true afterwards.
    void RequestStop();

   private:
    friend class MonitoredSession;
    StepContext(const MonitoredSession& owner, HookedSession& live)
        : owner_(owner), live_(live) {}
    const MonitoredSession& owner_;
    HookedSession& live_;
  };
  // Several runs that belong together: where one is lost, all are made again.
  // While the function runs, what it may use is its context: Run, RunStepFn and
  // Close of the MonitoredSession are FAILED_PRECONDITION, and ShouldStop only
  // looks. So it is for hooks at any time.
  absl::Status RunStepFn(
      absl::FunctionRef<absl::Status(StepContext& context)> step_fn);

  // End of all hooks, unless `status` is an error that ended training (other
  // than OUT_OF_RANGE); then threads of the coordinator end, and the session.
  // Returns `status`, or else the first error on the way. FAILED_PRECONDITION
  // when it is closed already.
  absl::Status Close(absl::Status status = absl::OkStatus());

  // The session underneath; null after Close, and while it is lost.
  Session* raw_session();

 private:
  MonitoredSession(const Scope& scope, std::unique_ptr<SessionCreator> creator,
                   MonitoredSessionOptions options);

  absl::Status Begin(const Scope& scope);
  absl::StatusOr<std::unique_ptr<HookedSession>> NewSession();
  // Has a session in live_, however often it takes.
  absl::Status EnsureSession();
  // Calls `use` until it does not lose the session.
  absl::Status WithSession(
      absl::FunctionRef<absl::Status(HookedSession& live)> use);
  // Waits before the next attempt, each time longer.
  void Pause();
  // The same; `why` where there is none.
  absl::Status BackOff(const absl::Status& why);
  void RunHasSucceeded();
  // Not given: the graph has none, or it could not be read.
  std::optional<int64_t> ReadStep();
  // Looks whether the new session goes on from a greater step than the first
  // one after the loss.
  void CompareItsStep();
  // Of a session that is lost: whether it has lasted as long as recovery may.
  void CompareItsLife();
  // The next loss is a first one again.
  void HasProgressed();
  // FAILED_PRECONDITION within a step function, a hook, or what makes a
  // session: the session that it uses would go under its feet where it is lost,
  // or another one be made for it without end.
  absl::Status CheckThatNobodyUsesIt() const;
  // Of what is called from outside, as long as the result lives.
  auto UseIt() {
    is_in_use_ = true;
    return absl::MakeCleanup([this] { is_in_use_ = false; });
  }
  // FAILED_PRECONDITION where nodes were added since Begin: each run would ship
  // them, and a save beside the runs reads the graph.
  absl::Status CheckThatGraphIsFinal() const;
  void DropSession(const absl::Status& why);
  // Of a session that was closed or abandoned.
  void LetGo(std::unique_ptr<HookedSession> session);
  bool IsStopRequested() const;
  absl::Status SessionToEnd();
  // Until no hook says that others train on, or a stop is asked for. Asks the
  // hooks at least once where the input has ended.
  absl::Status AwaitOthers();
  // Notes how far others have trained, to compare with after a loss.
  void NoteStep();
  // An error where the session was lost after the end of the input, and nobody
  // has trained again what was lost.
  absl::Status CheckThatNoStepIsMissing();
  // Whether they do; false ends the wait.
  absl::StatusOr<bool> AskWhetherOthersTrain();
  bool HasThreadFailed() const;
  void TellThatLastStepWasRefused();
  absl::Status EndHooks();
  absl::Status EndHook(SessionRunHook& hook);
  bool HasTrainingEnded();
  void TellThatTrainingHasEnded();
  absl::Status TellThatTrainingHasEnded(SessionRunHook& hook);
  // `needs_session`: the one before was lost to the hook. Also returned.
  absl::Status TryToTell(SessionRunHook& hook, bool& needs_session);
  absl::Status MakeSessionToTell();
  // Whether a new session may take the place of one that such an error has
  // lost.
  bool MayRecover(const absl::Status& status) const {
    return options_.recovery.should_recover && IsSessionLost(status);
  }

  const Scope scope_;
  const std::unique_ptr<SessionCreator> creator_;
  const MonitoredSessionOptions options_;
  const DefaultLogger logger_;
  const DefaultScheduler scheduler_;
  const std::unique_ptr<Random> own_random_;
  Random& random_;
  std::atomic<bool> is_stop_requested_{false};
  std::unique_ptr<HookedSession> live_;  // null: lost or closed
  // What threads still use that have not ended when they were to.
  std::vector<std::unique_ptr<HookedSession>> left_behind_;
  bool is_closed_ = false;
  bool is_in_use_ = false;  // see UseIt
  bool input_has_ended_ = false;
  // Asked to stop while others train: they go on with the training.
  bool leaves_others_ = false;
  // In which others hear that training has ended, where live_ was lost after
  // the end of the hooks.
  std::unique_ptr<Session> session_to_tell_;
  absl::Time tells_until_ = absl::InfiniteFuture();
  // Of a session that was lost after the end of the input.
  absl::Status loss_at_the_end_;
  // Of those that were read after the end of the input.
  std::optional<int64_t> furthest_step_;
  absl::Status last_run_;
  absl::Status loss_;      // of the last session that was lost
  absl::Status given_up_;  // by ShouldStop
  int num_nodes_ = 0;      // of the final graph
  // Of SyncReplicasOptimizers: no run may need them.
  std::vector<Operation> train_ops_without_hook_;
  Output global_step_;  // null: the graph has none
  // Since the last progress.
  std::optional<absl::Time> first_loss_;
  // That of the first session after the first loss.
  std::optional<int64_t> first_step_;
  absl::Duration backoff_;
  absl::Time live_since_;
};

// A monitored session that does not recover; TensorFlow's
// SingularMonitoredSession. The chief's, in this process or at `master`.
absl::StatusOr<std::unique_ptr<MonitoredSession>> SingularMonitoredSession(
    const Scope& scope, SessionCreatorOptions creator = {},
    MonitoredSessionOptions options = {});

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_MONITORED_SESSION_H_
