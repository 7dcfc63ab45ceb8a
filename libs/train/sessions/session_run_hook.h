// SessionRunHook is the interface of code that a MonitoredSession calls around
// each run; TensorFlow's tf.train.SessionRunHook. A custom hook overrides the
// methods that it needs:
//
//   class LogLoss : public train::SessionRunHook {
//     absl::StatusOr<SessionRunArgs> BeforeRun(SessionRunContext&) override {
//       return SessionRunArgs{.fetches = {loss_}};
//     }
//     absl::Status AfterRun(SessionRunContext& context,
//                           const SessionRunValues& values) override {
//       if (values.results[0].scalar<float>() < 0.1f) context.RequestStop();
//       return absl::OkStatus();
//     }
//     ...
//   };
//
// Order of calls, each for all hooks in the order of the list, except that
// AfterRun and End of hooks that save checkpoints (SavesCheckpoints) are called
// after those of all others:
//
//   Begin               once; the last chance to add nodes to the graph
//   AfterCreateSession  once for each session: after variables are initialised
//                       or restored and queue runners started, also when a lost
//                       session was replaced
//   BeforeRun           before each run, also before one that is tried again
//   AfterRun            after each run that succeeded
//   PollOtherPrograms    when the input has ended here, again and again as long
//                       as a hook says that other programs train on
//   OnLastStepRejected  once, when the program closes after a step that the
//                       AfterRun of a hook has refused
//   End                 once, when training ends without an error
//   TrainingHasEnded    once, after that, unless somebody outside asked to stop
//   BeforeSessionDestroyed   for each session, lost or closed
//
// Threads: one after the other, on the threads that call the MonitoredSession.
// An error of a hook is returned by the call in which it occurs; UNAVAILABLE
// and ABORTED, for example from a run that it made in the session, count as a
// lost session.
#ifndef WEFT_LIBS_TRAIN_SESSIONS_SESSION_RUN_HOOK_H_
#define WEFT_LIBS_TRAIN_SESSIONS_SESSION_RUN_HOOK_H_

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "libs/ops/scope.h"
#include "libs/session/session.h"
#include "libs/tensor/tensor.h"
#include "libs/train/sessions/coordinator.h"

namespace weft::train {

// SessionRunArgs holds the fetches, targets and feeds of a run, which the
// caller of Run or a hook requests.
struct SessionRunArgs {
  std::vector<Output> fetches;
  std::vector<Operation> targets;
  // Feeding a tensor that another requester feeds, too, is INVALID_ARGUMENT.
  FeedList feeds;
  // Options of several requesters are combined: the longest given timeout, the
  // highest trace level, and partition graphs if any requests them.
  RunOptions options;
};

class SessionRunContext {
 public:
  // Both references must outlive the context. A null `is_exit_requested` means
  // that no exit is ever requested.
  SessionRunContext(const SessionRunArgs& original_args, Session& session,
                    std::function<bool()> is_exit_requested = nullptr)
      : original_args_(original_args),
        session_(session),
        is_exit_requested_(std::move(is_exit_requested)) {}

  // Returns the request of the caller of Run, without additions of hooks.
  const SessionRunArgs& original_args() const { return original_args_; }
  // Returns the underlying session, whose runs bypass the hooks.
  Session& session() const { return session_; }
  // Makes this run the last one: ShouldStop() is true after it.
  void RequestStop() { stop_requested_ = true; }
  bool stop_requested() const { return stop_requested_; }
  // Returns whether the program was asked from outside to end its training
  // (stop_requested, RequestStop of the MonitoredSession). A hook that waits
  // for others must check this regularly, and end its wait with CANCELLED.
  bool IsExitRequested() const {
    return is_exit_requested_ && is_exit_requested_();
  }
  // Returns the function behind IsExitRequested, for a thread of the hook. The
  // thread may call the function until BeforeSessionDestroyed of this session
  // has returned. May be null.
  const std::function<bool()>& is_exit_requested() const {
    return is_exit_requested_;
  }

 private:
  const SessionRunArgs& original_args_;
  Session& session_;
  const std::function<bool()> is_exit_requested_;
  bool stop_requested_ = false;
};

// SessionRunValues holds the results of a run for one hook.
struct SessionRunValues {
  // Values of the fetches that the hook's BeforeRun requested, in the same
  // order.
  absl::Span<const Tensor> results;
  // The combined options of the run.
  RunOptions options;
  // Metadata of the run, as requested by the combined options.
  const RunMetadata& run_metadata;
};

class SessionRunHook {
 public:
  virtual ~SessionRunHook() = default;

  // Called once, before the graph is final. `scope` is the root of the graph.
  virtual absl::Status Begin(const Scope& scope);
  // `coordinator` belongs to this session: threads started on it are asked to
  // stop with it, and may use the session until they have ended. Their first
  // error is returned by the next run. Its is_exit_requested() may be called
  // until BeforeSessionDestroyed of this session has returned.
  virtual absl::Status AfterCreateSession(Session& session,
                                          Coordinator& coordinator);
  virtual absl::StatusOr<SessionRunArgs> BeforeRun(SessionRunContext& context);
  virtual absl::Status AfterRun(SessionRunContext& context,
                                const SessionRunValues& values);
  // Called when the input of this program has ended. Returns whether other
  // programs still train, as far as this hook knows. With kTrainOn, the program
  // waits and calls again soon. If any hook returns kAreDone, the program does
  // not wait. A hook may also work without runs here, for example save.
  enum class Others { kUnknown, kTrainOn, kAreDone };
  virtual absl::StatusOr<Others> PollOtherPrograms(Session& session);
  // Called if AfterRun of a hook that saves no checkpoints has returned an
  // error for the last step, other than the end of the input or a lost session.
  // Neither this program nor another may save that step. Called before End, or
  // instead of it.
  virtual void OnLastStepRejected(Session& session);
  virtual absl::Status End(Session& session);
  // Called before End after a stop request. Returns whether training has
  // reached the end that this hook defines, possibly by steps of other
  // programs. Then training is over, and no other program continues it.
  virtual bool HasReachedEnd(Session& session);
  // Training is over: a hook requested its end, the input has ended, or the
  // program closed the session. Not called if a stop was requested
  // (stop_requested, RequestStop) before training had reached its end: another
  // program continues it. UNAVAILABLE, ABORTED and DEADLINE_EXCEEDED are
  // retried for a minute, which all hooks share; then, as any other error at
  // once, the error is logged. After ABORTED, and after any error in a session
  // that was lost since End, the next attempt uses a new session.
  virtual absl::Status TrainingHasEnded(Session& session);
  // Threads of the coordinator have ended, except those that ignore the stop,
  // and the session is closed, though a step of it may hang: objects that use
  // its scheduler or its files must be destroyed now.
  virtual void BeforeSessionDestroyed();

  // Whether AfterRun and End save checkpoints. If another hook returns an error
  // (for example NanTensorHook), these are not called, so that no checkpoint
  // contains a step that a hook has rejected.
  virtual bool SavesCheckpoints() const { return false; }

  // For callers that save variables: calls `save` while none of the updates
  // that this hook makes concurrently with the runs is in progress, and makes
  // none until it has returned. Returns the result of `save`; or, without
  // calling it, an error if variables may contain a partial update. May be
  // called from any thread, except within a `save`, during the session.
  virtual absl::Status SaveBetweenUpdates(
      absl::FunctionRef<absl::Status()> save);

  // Returns the operation that replicas run, for the hook of a
  // SyncReplicasOptimizer. Without the hook the operation would wait forever.
  // Other hooks return null.
  virtual Operation ServedTrainOp() const;
};

// A list of hooks. They are shared, so that a program can query a hook
// afterwards.
using HookList = std::vector<std::shared_ptr<SessionRunHook>>;

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SESSIONS_SESSION_RUN_HOOK_H_
