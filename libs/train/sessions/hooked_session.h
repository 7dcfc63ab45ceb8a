// HookedSession is one session of a MonitoredSession with its coordinator and
// queue runners. It calls hooks around runs, until the session is lost or
// closed. It corresponds to TensorFlow's
// _CoordinatedSession(_HookedSession(session)).
//
// Threads: only one call at a time is allowed.
#ifndef WEFT_LIBS_TRAIN_SESSIONS_HOOKED_SESSION_H_
#define WEFT_LIBS_TRAIN_SESSIONS_HOOKED_SESSION_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/session/session.h"
#include "libs/train/sessions/coordinator.h"
#include "libs/train/sessions/session_run_hook.h"

namespace weft::train {

class HookedSession {
 public:
  // `scheduler` is used by the coordinator; null: the coordinator has its own.
  // `is_exit_requested` is passed to hooks, by the coordinator and by the
  // context of each run.
  HookedSession(std::unique_ptr<Session> session, HookList hooks,
                Scheduler* scheduler, std::function<bool()> is_exit_requested);
  // REQUIRES: Close or Abandon was called, and has_threads() is false, because
  // threads use members of this object.
  ~HookedSession();

  Session& session() { return *session_; }
  Coordinator& coordinator() { return *coordinator_; }

  // Calls BeforeRun of all hooks, runs all requested fetches in one run, and
  // calls AfterRun of all hooks, last of the hooks that save checkpoints.
  // Returns the fetches of `args`. Errors: the first of these calls, or the
  // error of a coordinator thread if that is the cause. `metadata`: as
  // requested by `args` and hooks; may be null.
  absl::StatusOr<std::vector<Tensor>> Run(const SessionRunArgs& args,
                                          RunMetadata* metadata = nullptr);

  // Returns whether a hook or a thread of the coordinator has requested a stop.
  bool ShouldStop() const { return should_stop_ || coordinator_->ShouldStop(); }
  void RequestStop() { should_stop_ = true; }
  // Returns whether a hook or the step function has requested the stop.
  bool is_stopped_by_hook() const { return should_stop_; }
  // Returns whether, after the last run, AfterRun of a hook that saves nothing
  // has failed, other than by the end of the input. The values of that step
  // must not be saved.
  bool is_last_step_rejected() const { return is_last_step_rejected_; }

  // Ends the threads, then the session. Returns the first error of a thread.
  // Threads that have not ended after the grace period are named in the log and
  // abandoned. A session that has not ended after two minutes is abandoned,
  // too: it waits for steps on its own task, which may wait for a hung file
  // system.
  absl::Status Close(absl::Duration stop_grace_period, Logger& logger);
  // Closes a lost session. The session ends before the threads are stopped,
  // because they may wait for runs that never end. What they do on a stop, such
  // as closing a queue that outlives the session, must not happen either. Their
  // errors are ignored as consequences of the loss.
  void Abandon(absl::Duration stop_grace_period, Logger& logger);
  // Returns whether coordinator threads still run, or the session is still
  // closing.
  bool has_threads() const {
    return !coordinator_->RunningThreads().empty() ||
           (closing_ != nullptr && !closing_->done->IsSet());
  }

 private:
  struct Asked {
    SessionRunArgs all;
    // Number for the caller, then for each hook.
    std::vector<size_t> num_fetches;
  };
  absl::StatusOr<Asked> AskHooks(SessionRunContext& context);
  absl::Status CallAfterRun(SessionRunContext& context, const Asked& asked,
                            absl::Span<const Tensor> results,
                            const RunMetadata& metadata);
  absl::StatusOr<std::vector<Tensor>> RunOnce(const SessionRunArgs& args,
                                              RunMetadata* metadata);
  absl::Status JoinThreads(absl::Duration stop_grace_period, Logger& logger);
  // Closes the session. Returns its status if that arrives in time.
  absl::Status CloseSession(Logger& logger);
  // Closing is the closing of the session on a thread of its scheduler. The
  // thread does not use members of HookedSession after `done` is set.
  struct Closing {
    std::unique_ptr<Event> done;
    absl::Status status;  // valid once `done` is set
  };
  void NotifySessionDestroyed();

  const std::unique_ptr<Session> session_;
  const HookList hooks_;
  const std::function<bool()> is_exit_requested_;
  bool should_stop_ = false;
  bool is_last_step_rejected_ = false;
  std::shared_ptr<Closing> closing_;  // null: not closed yet
  // The destructor of the coordinator waits for threads that use the session
  // and hooks.
  const std::unique_ptr<Coordinator> coordinator_;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SESSIONS_HOOKED_SESSION_H_
