// SessionManager: sessions whose variables have values: the chief restores or
// initialises them, the others wait until it has; TensorFlow's
// tf.train.SessionManager.
//
// A wait for variables is one step, which ends when the last of them has a
// value. Meanwhile it is asked every recovery_wait what is missing, for a log
// line now and then, and for the error of whoever would wait for ever: a
// parameter server refuses a wait for a variable that the chief, whose session
// it has seen initialise others and become ready, has not got; and where others
// train while a variable has no value, the chief's graph has not got it either.
// Only where the program has a ready_for_local_init_op or ready_op of its own
// are these run until they say that nothing is missing, every recovery_wait.
//
// Threads: one at a time; all methods but the constructor block.
#ifndef WEFT_LIBS_TRAIN_SESSION_MANAGER_H_
#define WEFT_LIBS_TRAIN_SESSION_MANAGER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/base/scheduler.h"
#include "libs/ops/scope.h"
#include "libs/ops/state/variable.h"
#include "libs/session/session.h"
#include "libs/train/defaults.h"
#include "libs/train/saver.h"

namespace weft::train {

// How a session is made: Session::Connect, or what a test puts in its place.
using SessionFactory = std::function<absl::StatusOr<std::unique_ptr<Session>>(
    const std::string& target, const Scope& scope,
    const SessionOptions& options)>;

// UNAVAILABLE and ABORTED: a task is gone, or has forgotten the session. A new
// session can go on; TensorFlow's preemption errors.
bool IsSessionLost(const absl::Status& status);

struct SessionManagerOptions {
  // Null operations and outputs: there is nothing to run, or to be ready for.
  Operation local_init_op;
  Output ready_op;
  Output ready_for_local_init_op;
  // Done when what ready_for_local_init_op asks for is there. Null: that is
  // asked again and again.
  Operation wait_op;
  // Tells that others train; null where the graph has none.
  ops::Variable global_step;
  SessionFactory session_factory = Session::Connect;
  // How long it waits before it looks again, or connects again.
  absl::Duration recovery_wait = absl::Seconds(1);
  // How often a wait says what for; it does at once, too.
  absl::Duration log_interval = absl::Seconds(30);
  // True: a wait is over (CANCELLED). Asked every recovery_wait. May be null.
  std::function<bool()> stop_requested;
  Scheduler* scheduler = nullptr;  // to wait with; null: one of its own
  Logger* logger = nullptr;        // null: lines on stderr
};

class SessionManager {
 public:
  // `scope` is of the graph that sessions get.
  SessionManager(const Scope& scope, SessionManagerOptions options);

  struct Checkpoint {
    Saver* saver = nullptr;  // null: nothing is restored
    // The newest one of this directory, or this one; both empty: none.
    std::string directory;
    std::string filename_with_path;
  };
  struct Initialization {
    Operation init_op;
    FeedList init_feeds;
    std::function<absl::Status(Session&)> init_fn;
  };

  // For the chief: variables get the values of the checkpoint or, without one,
  // those of init_op and init_fn. FAILED_PRECONDITION, naming variables, where
  // some have none afterwards; also where the directory has no state file, but
  // checkpoints that would be overwritten (unnamed_checkpoints.h).
  absl::StatusOr<std::unique_ptr<Session>> PrepareSession(
      const std::string& target, const SessionOptions& config,
      const Checkpoint& checkpoint, const Initialization& initialization);

  // A session in which the model is ready without a restore; null where it is
  // not.
  absl::StatusOr<std::unique_ptr<Session>> ConnectIfReady(
      const std::string& target, const SessionOptions& config);

  struct Recovered {
    std::unique_ptr<Session> session;
    // Whether there was a checkpoint, with which it is ready. Without one it is
    // false even where variables have values, as in TensorFlow: they may be of
    // an earlier program.
    bool is_initialized = false;
  };
  // The same for whoever initialises by himself what no checkpoint holds.
  absl::StatusOr<Recovered> RecoverSession(const std::string& target,
                                           const SessionOptions& config,
                                           const Checkpoint& checkpoint);

  // For the others: a session once the chief has made the model ready. Lost
  // sessions are made again. DEADLINE_EXCEEDED, naming what is missing, after
  // max_wait; FAILED_PRECONDITION, naming variables, where the chief is ready
  // or others train, and these have no values.
  absl::StatusOr<std::unique_ptr<Session>> WaitForSession(
      const std::string& target, const SessionOptions& config,
      absl::Duration max_wait);

 private:
  struct Readiness {
    bool is_ready = true;
    std::string message;  // why not
  };
  // One whose graph is placed; UNAVAILABLE where tasks that it needs are not
  // there.
  absl::StatusOr<std::unique_ptr<Session>> Connect(
      const std::string& target, const SessionOptions& config) const;
  // What variables were restored from; the iterators are when local
  // initialisation has made them.
  struct Restored {
    Saver* saver = nullptr;  // null: from nothing
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
  // Local initialisation, what has to come after it of `restored`, and whether
  // the model is ready then.
  absl::StatusOr<Readiness> MakeReady(Session& session,
                                      const Restored& restored,
                                      const SessionOptions& config) const;
  // A try of WaitForSession: null when the model is not ready.
  absl::StatusOr<std::unique_ptr<Session>> TryToWait(
      const std::string& target, const SessionOptions& config,
      absl::Time deadline, Readiness& readiness) const;
  absl::Status AwaitVariables(Session& session, absl::Time deadline) const;
  // FAILED_PRECONDITION where a wait would be refused now: see above.
  absl::Status AskServersAgain(Session& session, absl::Time deadline) const;
  // What those who wait see when they look.
  struct Look {
    Tensor missing;               // names
    bool is_part = false;         // of all variables
    std::optional<int64_t> step;  // none: it has no value
  };
  // None where asking fails, which the wait tells better.
  std::optional<Look> LookAt(Session& session) const;
  void LogMissing(const Look& look) const;
  // FAILED_PRECONDITION where others have trained in between.
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

#endif  // WEFT_LIBS_TRAIN_SESSION_MANAGER_H_
