// SessionRunHook: what is to happen around each run of a MonitoredSession,
// TensorFlow's tf.train.SessionRunHook. A hook of one's own is a class that
// overrides what it needs of these methods:
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
// Order of calls, each for all hooks in the order of the list, but AfterRun and
// End of hooks that save checkpoints (SavesCheckpoints) come after those of all
// others:
//
//   Begin               once; the last moment to add nodes to the graph
//   AfterCreateSession  once for each session: after variables are initialised
//                       or restored and queue runners started, also when a lost
//                       session was replaced
//   BeforeRun           before each run, also before one that is tried again
//   AfterRun            after each run that succeeded
//   WhileOthersTrain    when the input has ended here, again and again as long
//                       as a hook says that other programs train on
//   LastStepWasRefused  once, when the program closes after a step that the
//                       AfterRun of a hook has refused
//   End                 once, when training ends without an error
//   TrainingHasEnded    once, after that, unless somebody outside asked to stop
//   BeforeSessionGoes   for each session, lost or closed
//
// Threads: one after the other, on the threads that call the MonitoredSession.
// An error of a hook is that of the call it was made in; UNAVAILABLE and
// ABORTED, so of a run that it made in the session, count as a lost session.
#ifndef WEFT_LIBS_TRAIN_SESSION_RUN_HOOK_H_
#define WEFT_LIBS_TRAIN_SESSION_RUN_HOOK_H_

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
#include "libs/train/coordinator.h"

namespace weft::train {

// What is run: by the caller of Run, or beside it for a hook.
struct SessionRunArgs {
  std::vector<Output> fetches;
  std::vector<Operation> targets;
  // INVALID_ARGUMENT for a tensor that others feed too.
  FeedList feeds;
  // Of several the longest timeout that somebody gave counts, the most that
  // somebody wants traced, and partition graphs where somebody wants them.
  RunOptions options;
};

class SessionRunContext {
 public:
  // Both outlive it. `is_asked_to_leave` may be null: nobody asks.
  SessionRunContext(const SessionRunArgs& original_args, Session& session,
                    std::function<bool()> is_asked_to_leave = nullptr)
      : original_args_(original_args),
        session_(session),
        is_asked_to_leave_(std::move(is_asked_to_leave)) {}

  // What the caller of Run asked for, without what hooks add.
  const SessionRunArgs& original_args() const { return original_args_; }
  // The session underneath: what runs in it passes no hooks.
  Session& session() const { return session_; }
  // This run is the last one: ShouldStop() is true after it.
  void RequestStop() { stop_requested_ = true; }
  bool stop_requested() const { return stop_requested_; }
  // Somebody outside asks the program to end its training (stop_requested,
  // RequestStop of the MonitoredSession): a hook that waits for others looks
  // at it every now and then, and ends its wait with CANCELLED.
  bool IsAskedToLeave() const {
    return is_asked_to_leave_ && is_asked_to_leave_();
  }
  // The same for a thread of the hook's own, which may ask until
  // BeforeSessionGoes of this session has returned. May be null.
  const std::function<bool()>& is_asked_to_leave() const {
    return is_asked_to_leave_;
  }

 private:
  const SessionRunArgs& original_args_;
  Session& session_;
  const std::function<bool()> is_asked_to_leave_;
  bool stop_requested_ = false;
};

// What a run gave to one hook.
struct SessionRunValues {
  // Values of the fetches that its BeforeRun asked for, in their order.
  absl::Span<const Tensor> results;
  // With which the run was made.
  RunOptions options;
  // What they asked to be told, all of it.
  const RunMetadata& run_metadata;
};

class SessionRunHook {
 public:
  virtual ~SessionRunHook() = default;

  // `scope` is the root of the graph.
  virtual absl::Status Begin(const Scope& scope);
  // `coordinator` is this session's: threads that it starts are asked to stop
  // with it, and may use the session until they have ended. Their first error
  // is that of the next run. Its is_asked_to_leave() may be called until
  // BeforeSessionGoes of this session has returned.
  virtual absl::Status AfterCreateSession(Session& session,
                                          Coordinator& coordinator);
  virtual absl::StatusOr<SessionRunArgs> BeforeRun(SessionRunContext& context);
  virtual absl::Status AfterRun(SessionRunContext& context,
                                const SessionRunValues& values);
  // The input of this program has ended, and others may train on: whether they
  // do, as far as this hook knows. kTrainOn: the program stays, and asks again
  // soon. kAreDone of any hook: it does not. Meanwhile a hook does what has to
  // be done without runs, such as to save.
  enum class Others { kUnknown, kTrainOn, kAreDone };
  virtual absl::StatusOr<Others> WhileOthersTrain(Session& session);
  // The AfterRun of a hook that saves no checkpoints has returned an error for
  // the last step, which was not the end of the input and lost no session. The
  // step is not to be saved, by other programs neither. Comes before End, or
  // instead of it.
  virtual void LastStepWasRefused(Session& session);
  virtual absl::Status End(Session& session);
  // Of a program that is asked to leave, before End: whether training has come
  // to where this hook ends it, which others may have brought it to. Then it is
  // over, and no other program goes on with it.
  virtual bool HasComeToTheEnd(Session& session);
  // Training is over: a hook asked for its end, or the input has ended, or the
  // program closed the session. Not for a program that was asked to leave
  // (stop_requested, RequestStop) before its training had come to its end:
  // another one goes on with it. UNAVAILABLE, ABORTED and DEADLINE_EXCEEDED are
  // tried again for a minute, which all hooks share; then, as any other at
  // once, the error is logged. After ABORTED, and after any error in a session
  // that was lost since End, the next try is in another session.
  virtual absl::Status TrainingHasEnded(Session& session);
  // Threads of the coordinator have ended, but for those that ignore that they
  // are to stop, and the session is closed, though a step of it may hang: what
  // was made of its scheduler or its files has to go now.
  virtual void BeforeSessionGoes();

  // Whether AfterRun and End save checkpoints. Where another hook returns an
  // error (NanTensorHook, say), these are not called, so that no checkpoint
  // holds a step that a hook has refused.
  virtual bool SavesCheckpoints() const { return false; }

  // For who saves variables: calls `save` when none of those updates is under
  // way that this hook makes beside the runs, and makes none until it has
  // returned. Returns what it returns, or, without calling it, an error where
  // variables may have half an update in them. Any thread, but not from within
  // a `save`; as long as the session.
  virtual absl::Status SaveBetweenUpdates(
      absl::FunctionRef<absl::Status()> save);

  // Of the hook of a SyncReplicasOptimizer: the operation that replicas run,
  // which would wait forever without this hook. Of others: null.
  virtual Operation ServedTrainOp() const;
};

// Shared, so that a program can ask a hook afterwards what it has seen.
using HookList = std::vector<std::shared_ptr<SessionRunHook>>;

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SESSION_RUN_HOOK_H_
