// MonitoredSession is a fault-tolerant session for training: it initializes or
// restores variables, calls hooks around each run, and recovers by itself when
// a task of the cluster is lost. It corresponds to TensorFlow's
// tf.train.MonitoredSession.
//
//   ASSIGN_OR_RETURN(auto session, train::MonitoredTrainingSession(root, {
//       .master = server->target(), .is_chief = task_index == 0,
//       .checkpoint_dir = dir, .hooks = {train::StopAtStep(2000)}}));
//   while (!session->ShouldStop()) RETURN_IF_ERROR(session->Run(train));
//   return session->Close();
//
// Creation calls Begin of all hooks, adds the last nodes to the graph, creates
// a session with initialized or restored variables, starts queue runners, and
// calls AfterCreateSession of all hooks. No node may be added to the graph from
// then on: runs return FAILED_PRECONDITION.
//
// A run that fails with UNAVAILABLE or ABORTED is retried in a new session,
// whose variables are restored from the last checkpoint. Without a checkpoint
// they are initialized again. Workers other than the chief wait for the chief,
// and use the variables as they are. This is invisible to the caller; a run
// that was counted already may run twice, as in TensorFlow. Between attempts
// the session waits, up to max_backoff. It gives up after max_recovery without
// progress. Progress is a run that succeeded in a session that has lasted for a
// minute, a session that began at a greater global step than the first one
// after the loss (so a checkpoint was saved, or others train), or a session
// that lasted for max_recovery itself.
//
// A chief whose input has ended waits as long as other programs continue to
// train, as reported by its hooks (SessionRunHook::PollOtherPrograms); Close
// may therefore take long. A stop request ends that wait. If the session is
// lost during the wait, it is replaced for those programs; unless they bring
// the global step back to its former value, Close saves and returns the error
// of the loss. If a hook of another program has rejected a step since the last
// checkpoint, Close of a chief saves no more and returns FAILED_PRECONDITION,
// for any cause of the end of training.
//
// Close retries End of a hook after UNAVAILABLE: for up to max_recovery, or for
// a second after a stop request. (Saves retry by themselves, and end with
// another error.) If the session itself is lost by then, the steps since the
// last checkpoint are lost, too: Close returns the error, and the program
// resumes from that checkpoint when it is restarted.
//
// An error of a coordinator thread (queue runners, threads of hooks) makes
// ShouldStop true, and is returned by the next Run and by Close. It ends the
// wait for other programs; End of the hooks is called, so that the work until
// then is saved.
//
// Threads: only one call at a time is allowed, except of RequestStop. All
// methods block.
#ifndef WEFT_LIBS_TRAIN_SESSIONS_MONITORED_SESSION_H_
#define WEFT_LIBS_TRAIN_SESSIONS_MONITORED_SESSION_H_

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
#include "libs/base/scheduler/scheduler.h"
#include "libs/ops/scope.h"
#include "libs/session/session.h"
#include "libs/train/sessions/defaults.h"
#include "libs/train/sessions/session_creator.h"
#include "libs/train/sessions/session_run_hook.h"

namespace weft::train {

struct RecoveryOptions {
  // If false, Run returns UNAVAILABLE and ABORTED like other errors.
  bool should_recover = true;
  // Waits between attempts grow from initial_backoff to max_backoff, with
  // jitter. REQUIRES: both values are positive.
  absl::Duration initial_backoff = absl::Milliseconds(50);
  absl::Duration max_backoff = absl::Seconds(1);
  // Maximum time without progress before the error is returned. The last
  // attempt may take longer, by the time that the cluster waits for missing
  // tasks (ServerOptions::placement_timeout).
  absl::Duration max_recovery = absl::Hours(2);
};

struct MonitoredSessionOptions {
  HookList hooks;
  // How long threads of the coordinator may take to end. Threads that take
  // longer are named in the log, and keep the objects they use alive: their
  // closed session and the hooks.
  absl::Duration stop_grace_period = absl::Minutes(2);
  RecoveryOptions recovery;
  // Returns true to end training as if a hook had requested a stop. Called
  // between runs and during the wait for a session. While a run of synchronous
  // replicas waits for others, it is called on a coordinator thread. May be
  // null.
  std::function<bool()> stop_requested;
  // Scheduler for waits and for coordinator threads, whose number is then
  // limited by its blocking pool. Must outlive the session. Null: new
  // schedulers are used.
  Scheduler* scheduler = nullptr;
  Random* random = nullptr;  // must outlive the session; null: the system's
  Logger* logger = nullptr;  // must outlive the session; null: stderr
};

// HookedSession is a session and its associated objects, until it is lost or
// closed.
class HookedSession;

class MonitoredSession {
 public:
  static absl::StatusOr<std::unique_ptr<MonitoredSession>> Create(
      const Scope& scope, std::unique_ptr<SessionCreator> creator,
      MonitoredSessionOptions options);
  // Closes the session, unless it is closed already, with the status of the
  // last run. This counts as a stop request: other programs are not notified
  // that training has ended, unless it has. Errors are logged.
  ~MonitoredSession();

  // Returns whether a hook or RequestStop has requested a stop, a coordinator
  // thread has failed, or the input has ended. If a thread's error shows that
  // the session was lost, creates a new session.
  bool ShouldStop();
  // Requests that the current run is the last. Ends a wait for a new session;
  // the run then returns the error. May be called from any thread.
  void RequestStop() { is_stop_requested_.store(true); }

  // Runs a step like Session::Run. FAILED_PRECONDITION after a stop requested
  // by a hook, or after Close. OUT_OF_RANGE is the end of the input: ShouldStop
  // is true then, and Close reports no error.
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

  // StepContext is the argument of RunStepFn's function.
  class StepContext {
   public:
    // Returns the session. Its runs bypass the hooks.
    Session& session() const;
    // Runs a step like MonitoredSession::Run, but without retries.
    absl::StatusOr<std::vector<Tensor>> RunWithHooks(
        const SessionRunArgs& args, RunMetadata* metadata = nullptr);
    // Requests a stop: ShouldStop is true afterwards.
    void RequestStop();

   private:
    friend class MonitoredSession;
    StepContext(const MonitoredSession& owner, HookedSession& live)
        : owner_(owner), live_(live) {}
    const MonitoredSession& owner_;
    HookedSession& live_;
  };
  // Runs a function that makes several related runs: if one is lost, the whole
  // function is retried. The function may use only its context: Run, RunStepFn
  // and Close of the MonitoredSession return FAILED_PRECONDITION, and
  // ShouldStop only reads the state. The same holds for hooks at any time.
  absl::Status RunStepFn(
      absl::FunctionRef<absl::Status(StepContext& context)> step_fn);

  // Calls End of all hooks, unless `status` is an error that ended training
  // (other than OUT_OF_RANGE). Then ends the coordinator threads and the
  // session. Returns `status` or, if that is OK, the first error of these
  // calls. FAILED_PRECONDITION if the session is already closed.
  absl::Status Close(absl::Status status = absl::OkStatus());

  // Returns the underlying session; null after Close, and while the session is
  // lost.
  Session* raw_session();

 private:
  MonitoredSession(const Scope& scope, std::unique_ptr<SessionCreator> creator,
                   MonitoredSessionOptions options);

  absl::Status Begin(const Scope& scope);
  absl::StatusOr<std::unique_ptr<HookedSession>> NewSession();
  // Ensures that live_ has a session, retrying as needed.
  absl::Status EnsureSession();
  // Calls `use`, again with a new session each time the session is lost.
  absl::Status WithSession(
      absl::FunctionRef<absl::Status(HookedSession& live)> use);
  // Waits before the next attempt, longer each time.
  void Pause();
  // Waits like Pause, but returns `why` if no attempt remains.
  absl::Status BackOff(const absl::Status& why);
  void RunHasSucceeded();
  // Returns the global step; null if the graph has no global step, or it could
  // not be read.
  std::optional<int64_t> ReadStep();
  // Checks whether the new session starts at a greater step than the first one
  // after the loss.
  void CheckRecoveredStep();
  // Checks whether the lost session has lasted as long as recovery may.
  void CheckRecoveryTime();
  // Resets recovery: the next loss counts as the first.
  void NoteProgress();
  // Returns FAILED_PRECONDITION within a step function, a hook, or session
  // creation: the session in use would be destroyed if it is lost, or creation
  // would recurse.
  absl::Status CheckNotInUse() const;
  // Marks the session as used by a public call, for the lifetime of the result.
  auto MarkInUse() {
    is_in_use_ = true;
    return absl::MakeCleanup([this] { is_in_use_ = false; });
  }
  // Returns FAILED_PRECONDITION if nodes were added since Begin: each run would
  // send them to the tasks, and a concurrent save reads the graph.
  absl::Status CheckThatGraphIsFinal() const;
  void DropSession(const absl::Status& why);
  // Releases a session that was closed or abandoned.
  void Release(std::unique_ptr<HookedSession> session);
  bool IsStopRequested() const;
  absl::Status SessionToEnd();
  // Waits until no hook reports that others train, or a stop is requested.
  // Calls the hooks at least once if the input has ended.
  absl::Status AwaitOthers();
  // Records how far other programs have trained, to compare with after a loss.
  void NoteStep();
  // Returns an error if the session was lost after the end of the input, unless
  // another program has trained the lost steps again.
  absl::Status CheckThatNoStepIsMissing();
  // Returns whether other programs still train; false ends the wait.
  absl::StatusOr<bool> PollOthers();
  bool HasThreadFailed() const;
  void NotifyLastStepRejected();
  absl::Status EndHooks();
  absl::Status EndHook(SessionRunHook& hook);
  bool HasTrainingEnded();
  void NotifyTrainingEnded();
  absl::Status NotifyTrainingEnded(SessionRunHook& hook);
  // Calls the hook once. `needs_session` is input and output: whether the hook
  // needs a new session because the previous session is lost.
  absl::Status TryNotify(SessionRunHook& hook, bool& needs_session);
  absl::Status CreateNotifySession();
  // Returns whether a new session may replace a session lost by such an error.
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
  std::unique_ptr<HookedSession> live_;  // null: the session is lost or closed
  // Sessions with threads that did not end in time.
  std::vector<std::unique_ptr<HookedSession>> left_behind_;
  bool is_closed_ = false;
  bool is_in_use_ = false;  // see MarkInUse
  bool input_has_ended_ = false;
  // Whether a stop was requested while other programs train, which continue the
  // training.
  bool leaves_others_ = false;
  // Session for reporting the end of training to other programs, if live_ was
  // lost after the end of the hooks.
  std::unique_ptr<Session> notify_session_;
  absl::Time notify_until_ = absl::InfiniteFuture();
  // Error of a session lost after the end of the input.
  absl::Status loss_at_the_end_;
  // Greatest global step read after the end of the input.
  std::optional<int64_t> furthest_step_;
  absl::Status last_run_;
  absl::Status loss_;      // error of the last session that was lost
  absl::Status given_up_;  // error after which ShouldStop gave up
  int num_nodes_ = 0;      // number of nodes of the final graph
  // Train ops of SyncReplicasOptimizers without a hook. No run may need these
  // ops.
  std::vector<Operation> train_ops_without_hook_;
  Output global_step_;  // null if the graph has no global step
  // Time of the first loss since the last progress.
  std::optional<absl::Time> first_loss_;
  // Global step of the first session after the first loss.
  std::optional<int64_t> first_step_;
  absl::Duration backoff_;
  absl::Time live_since_;
};

// Returns a monitored session that does not recover, like TensorFlow's
// SingularMonitoredSession. The session acts as the chief, in this process or
// at `master`.
absl::StatusOr<std::unique_ptr<MonitoredSession>> SingularMonitoredSession(
    const Scope& scope, SessionCreatorOptions creator = {},
    MonitoredSessionOptions options = {});

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SESSIONS_MONITORED_SESSION_H_
