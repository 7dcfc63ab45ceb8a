// SessionManager creates sessions with initialized variables: the chief
// restores or initializes them, other workers wait until the chief has done so.
// It corresponds to TensorFlow's tf.train.SessionManager.
//
// A wait for variables is one step, which ends when the last variable has a
// value. Meanwhile, missing variables are queried every recovery_wait, for log
// lines and to detect waits that cannot succeed: a parameter server rejects a
// wait for a variable that the chief's graph lacks, once it has seen the
// chief's session initialize others and become ready; and if others train while
// a variable has no value, the chief's graph lacks it, too. A
// ready_for_local_init_op or ready_op of the program is instead polled every
// recovery_wait until it reports nothing missing.
//
// Threads: only one call at a time is allowed; all methods except the
// constructor block.
#ifndef WEFT_LIBS_TRAIN_SESSIONS_SESSION_MANAGER_H_
#define WEFT_LIBS_TRAIN_SESSIONS_SESSION_MANAGER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/ops/scope.h"
#include "libs/ops/state/variable.h"
#include "libs/session/session.h"
#include "libs/train/saving/saver.h"
#include "libs/train/sessions/defaults.h"

namespace weft::train {

// SessionFactory creates a session: it is Session::Connect, or a replacement in
// tests.
using SessionFactory = std::function<absl::StatusOr<std::unique_ptr<Session>>(
    const std::string& target, const Scope& scope,
    const SessionOptions& options)>;

// Returns whether the error is UNAVAILABLE or ABORTED: a task is lost, or has
// lost the session. A new session can continue. In TensorFlow these are
// preemption errors.
bool IsSessionLost(const absl::Status& status);

struct SessionManagerOptions {
  // If an operation or output is null, there is nothing to run or to check.
  Operation local_init_op;
  Output ready_op;
  Output ready_for_local_init_op;
  // Operation that completes when the requirements of ready_for_local_init_op
  // hold. Null: ready_for_local_init_op is polled.
  Operation wait_op;
  // Its value shows whether other programs train; null if the graph has no
  // global step.
  ops::Variable global_step;
  SessionFactory session_factory = Session::Connect;
  // Poll interval of waits and of connection attempts.
  absl::Duration recovery_wait = absl::Seconds(1);
  // Interval of log lines during a wait. The first line is logged at once.
  absl::Duration log_interval = absl::Seconds(30);
  // Returns true to end waits (CANCELLED). Called every recovery_wait. May be
  // null.
  std::function<bool()> stop_requested;
  Scheduler* scheduler = nullptr;  // for waits; null: a new scheduler
  Logger* logger = nullptr;        // null: stderr
};

class SessionManager {
 public:
  // `scope` is a scope of the graph of the sessions.
  SessionManager(const Scope& scope, SessionManagerOptions options);

  struct Checkpoint {
    Saver* saver = nullptr;  // null: nothing is restored
    // Restores the newest checkpoint of `directory`, or the checkpoint with
    // this path. If both are empty, nothing is restored.
    std::string directory;
    std::string filename_with_path;
  };
  struct Initialization {
    Operation init_op;
    FeedList init_feeds;
    std::function<absl::Status(Session&)> init_fn;
  };

  // Returns a session for the chief: variables are initialized from the
  // checkpoint or, if there is none, by init_op and init_fn.
  // FAILED_PRECONDITION, which names variables, if some have no value
  // afterwards. It is also FAILED_PRECONDITION if the directory has no state
  // file, but has checkpoints that would be overwritten
  // (unnamed_checkpoints.h).
  absl::StatusOr<std::unique_ptr<Session>> PrepareSession(
      const std::string& target, const SessionOptions& config,
      const Checkpoint& checkpoint, const Initialization& initialization);

  // Returns a session in which the model is ready without a restore; null if it
  // is not ready.
  absl::StatusOr<std::unique_ptr<Session>> ConnectIfReady(
      const std::string& target, const SessionOptions& config);

  struct Recovered {
    std::unique_ptr<Session> session;
    // Whether a checkpoint was restored and the model is ready. As in
    // TensorFlow, it is false without a checkpoint even if variables have
    // values, because these may be from an earlier program.
    bool is_initialized = false;
  };
  // Restores like PrepareSession, for callers that initialize variables
  // themselves if there is no checkpoint.
  absl::StatusOr<Recovered> RecoverSession(const std::string& target,
                                           const SessionOptions& config,
                                           const Checkpoint& checkpoint);

  // Returns a session for other workers once the chief has made the model
  // ready. Lost sessions are replaced. DEADLINE_EXCEEDED after max_wait, naming
  // what is missing. FAILED_PRECONDITION, naming variables, if these have no
  // values although the chief is ready or others train.
  absl::StatusOr<std::unique_ptr<Session>> WaitForSession(
      const std::string& target, const SessionOptions& config,
      absl::Duration max_wait);

 private:
  struct Readiness {
    bool is_ready = true;
    std::string message;  // why the model is not ready
  };
  // Returns a session whose graph is placed; UNAVAILABLE if required tasks are
  // missing.
  absl::StatusOr<std::unique_ptr<Session>> Connect(
      const std::string& target, const SessionOptions& config) const;
  // Restored is the source of restored variables. Iterators are restored after
  // local initialization has created them.
  struct Restored {
    Saver* saver = nullptr;  // null: nothing was restored
    std::string path;
  };
  absl::StatusOr<Restored> Restore(Session& session,
                                   const Checkpoint& checkpoint,
                                   const SessionOptions& config) const;
  absl::Status RestoreFrom(Session& session, Saver& saver,
                           const std::string& path,
                           const SessionOptions& config) const;
  absl::Status RestoreIterators(Session& session, const Restored& restored,
                                const SessionOptions& config) const;
  absl::StatusOr<Readiness> Ask(Session& session, const Output& op) const;
  // Runs local initialization and the parts of `restored` that must follow it;
  // returns whether the model is ready.
  absl::StatusOr<Readiness> MakeReady(Session& session,
                                      const Restored& restored,
                                      const SessionOptions& config) const;
  // Makes one attempt of WaitForSession. Returns null if the model is not
  // ready.
  absl::StatusOr<std::unique_ptr<Session>> TryToWait(
      const std::string& target, const SessionOptions& config,
      absl::Time deadline, Readiness& readiness) const;
  absl::Status AwaitVariables(Session& session, absl::Time deadline) const;
  // Returns FAILED_PRECONDITION if a parameter server would reject a new wait
  // (see the comment at the top).
  absl::Status AskServersAgain(Session& session, absl::Time deadline) const;
  // Look is the state of the model as seen during a wait.
  struct Look {
    Tensor missing;               // names of variables without values
    bool is_part = false;         // whether other variables have values
    std::optional<int64_t> step;  // null: the step has no value
  };
  // Returns the current state; null if the query fails, because the wait
  // reports such errors better.
  std::optional<Look> LookAt(Session& session) const;
  void LogMissing(const Look& look) const;
  // Returns FAILED_PRECONDITION if others have trained between `before` and
  // `now`.
  static absl::Status CheckThatChiefHasThem(const std::optional<Look>& before,
                                            const Look& now);
  bool IsStopRequested() const {
    return options_.stop_requested && options_.stop_requested();
  }

  const Scope scope_;
  const SessionManagerOptions options_;
  const DefaultLogger logger_;
  const DefaultScheduler scheduler_;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SESSIONS_SESSION_MANAGER_H_
