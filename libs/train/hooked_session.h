// HookedSession: one session of a MonitoredSession with its coordinator and
// queue runners: runs with hooks around them, until it is lost or closed.
// What TensorFlow calls _CoordinatedSession(_HookedSession(session)).
//
// Threads: one at a time.
#ifndef WEFT_LIBS_TRAIN_HOOKED_SESSION_H_
#define WEFT_LIBS_TRAIN_HOOKED_SESSION_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler.h"
#include "libs/session/session.h"
#include "libs/train/coordinator.h"
#include "libs/train/session_run_hook.h"

namespace weft::train {

class HookedSession {
 public:
  // `scheduler` is of the coordinator; null: its own. `is_asked_to_leave`: for
  // hooks, by the coordinator and by the context of each run.
  HookedSession(std::unique_ptr<Session> session, HookList hooks,
                Scheduler* scheduler, std::function<bool()> is_asked_to_leave);
  // REQUIRES: Close or Abandon, and has_threads() is false: threads use what
  // ends here.
  ~HookedSession();

  Session& session() { return *session_; }
  Coordinator& coordinator() { return *coordinator_; }

  // BeforeRun of all hooks, one run for all, AfterRun of all hooks, of those
  // that save checkpoints last; what `args` fetches. Errors: the first of
  // those, or of the coordinator's threads, where that tells the cause.
  // `metadata`: what `args` and hooks ask to be told; may be null.
  absl::StatusOr<std::vector<Tensor>> Run(const SessionRunArgs& args,
                                          RunMetadata* metadata = nullptr);

  // A hook has asked for it, or a thread of the coordinator.
  bool ShouldStop() const { return should_stop_ || coordinator_->ShouldStop(); }
  void RequestStop() { should_stop_ = true; }
  // Of these, a hook, or the step function.
  bool is_stopped_by_hook() const { return should_stop_; }
  // Whether the AfterRun of a hook that saves nothing has failed after the last
  // run, other than by the end of the input: that step is not to be saved.
  bool is_last_step_refused() const { return is_last_step_refused_; }

  // Threads end, then the session does; the first error of a thread. Those that
  // have not ended after the grace period are named in the log, and left alone.
  // So is a session that has not ended after two minutes: it waits for what the
  // steps do on its own task, and these maybe for files that hang.
  absl::Status Close(absl::Duration stop_grace_period, Logger& logger);
  // The same for a session that was lost: it ends before threads hear of the
  // stop, for they may wait for runs that will never end, and what they do upon
  // a stop, such as to close a queue that outlives the session, is not to be
  // done. Their errors are its.
  void Abandon(absl::Duration stop_grace_period, Logger& logger);
  // Whether threads of the coordinator run, or the session is still ending.
  bool has_threads() const {
    return !coordinator_->RunningThreads().empty() ||
           (closing_ != nullptr && !closing_->done->IsSet());
  }

 private:
  struct Asked {
    SessionRunArgs all;
    std::vector<size_t> num_fetches;  // of the caller, then of each hook
  };
  absl::StatusOr<Asked> AskHooks(SessionRunContext& context);
  absl::Status TellHooks(SessionRunContext& context, const Asked& asked,
                         absl::Span<const Tensor> results,
                         const RunMetadata& metadata);
  absl::StatusOr<std::vector<Tensor>> RunOnce(const SessionRunArgs& args,
                                              RunMetadata* metadata);
  absl::Status JoinThreads(absl::Duration stop_grace_period, Logger& logger);
  // What its end says, if it comes in time.
  absl::Status CloseSession(Logger& logger);
  // The end of the session, on a thread of its scheduler's, which uses nothing
  // of this once `done` is set.
  struct Closing {
    std::unique_ptr<Event> done;
    absl::Status status;  // once done is set
  };
  void TellThatItGoes();

  const std::unique_ptr<Session> session_;
  const HookList hooks_;
  const std::function<bool()> is_asked_to_leave_;
  bool should_stop_ = false;
  bool is_last_step_refused_ = false;
  std::shared_ptr<Closing> closing_;  // null: nobody has closed it
  // Its end waits for threads, which use the session and hooks.
  const std::unique_ptr<Coordinator> coordinator_;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_HOOKED_SESSION_H_
