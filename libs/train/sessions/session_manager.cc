#include "libs/train/sessions/session_manager.h"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "libs/checkpoint/checkpoint_reader.h"
#include "libs/checkpoint/checkpoint_state.h"
#include "libs/fs/local_file_system.h"
#include "libs/ops/state/variable.h"
#include "libs/train/optimizers/global_step.h"
#include "libs/train/saving/unnamed_checkpoints.h"

namespace weft::train {
namespace {

// A query of missing variables may take this number of poll intervals.
constexpr int kLooksBound = 5;

// Length of one connection attempt, after which stop requests are checked. It
// is longer than the time after which a session logs that the server does not
// answer.
constexpr absl::Duration kDialSlice = absl::Seconds(6);

std::string NameOr(const Operation& operation) {
  return operation ? operation.name() : "none";
}

std::string NotInitialized(const Tensor& names) {
  return absl::StrCat("Variables not initialized: ",
                      absl::StrJoin(names.flat<std::string>(), ", "));
}

std::string NameOfTarget(const std::string& target) {
  return target.empty() ? "this process" : target;
}

// Returns whether the error already asks whether the servers are running.
bool HasSameHint(const absl::Status& status) {
  return absl::StrContains(status.message(), "running?") ||
         absl::StrContains(status.message(), "running, and is");
}

// Returns the error of a session that could not be created. If it does not name
// a task or the target, adds the target and a hint.
absl::Status NoSession(const std::string& target, const absl::Status& status) {
  const std::string named = NameOfTarget(target);
  const bool is_named = absl::StrContains(status.message(), named) ||
                        absl::StrContains(status.message(), "/job:");
  if (is_named && absl::IsUnavailable(status)) return status;
  if (is_named) return absl::UnavailableError(status.message());
  return absl::UnavailableError(absl::StrCat(
      "No session of ", named, ": ", status.message(),
      HasSameHint(status)
          ? ""
          : ". Are it and all tasks of its cluster running? (weft status "
            "shows them.)"));
}

// Converts a timeout of a restore to a lost session, unless the program has set
// a deadline. Files or a task do not answer for now, and the restore must be
// retried.
absl::Status LostIfSilent(const std::string& path, const absl::Status& status,
                          const SessionOptions& config) {
  if (!absl::IsDeadlineExceeded(status) ||
      config.operation_timeout != absl::InfiniteDuration()) {
    return status;
  }
  return absl::UnavailableError(
      absl::StrCat("Restoring from checkpoint ", path, " took too long. ",
                   HasSameHint(status) ? "" : "Is what holds it running? ",
                   status.message()));
}

// Returns the error of a failed restore with TensorFlow's advice, in Weft's
// terms.
absl::Status CouldNotRestore(const std::string& path,
                             const absl::Status& failure,
                             const SessionOptions& config) {
  const absl::Status status = LostIfSilent(path, failure, config);
  if (IsSessionLost(status)) return status;
  const bool may_be_of_another = absl::IsNotFound(status) ||
                                 absl::IsInvalidArgument(status) ||
                                 absl::IsFailedPrecondition(status);
  return absl::Status(
      status.code(),
      absl::StrCat("Restoring from checkpoint ", path, " failed. ",
                   may_be_of_another
                       ? "It is of another model where the graph has variables "
                         "of other names or shapes: take another directory, or "
                         "the graph that it was saved from. "
                       : "",
                   status.message()));
}

absl::Status AskedToStop(absl::string_view what, absl::string_view missing) {
  return absl::CancelledError(absl::StrCat(
      "received a stop request while waiting until ", what, missing));
}

// WaitLimits are the caller's limits for waiting for a session.
struct WaitLimits {
  const SessionManagerOptions& options;
  const DefaultScheduler& scheduler;
  const std::string& target;
  absl::Time deadline = absl::InfiniteFuture();

  // Returns the reason to stop waiting; OK to continue. `what` describes the
  // event for which the caller waits.
  absl::Status End(absl::string_view what) const {
    if (options.stop_requested && options.stop_requested()) {
      return AskedToStop(
          what, absl::StrCat(" in the session of ", NameOfTarget(target),
                             " (weft status shows which tasks are missing)"));
    }
    if (scheduler.Now() < deadline) return absl::OkStatus();
    return NoSession(target, absl::DeadlineExceededError(absl::StrCat(
                                 "timed out while waiting until ", what)));
  }
};

// Returns the result of `call`, which uses `session`. It may wait for missing
// tasks as long as the cluster's timeout, so it runs on another thread while
// this one checks for stop requests; closing the session ends it.
template <typename Call>
std::invoke_result_t<Call> RunUnlessStopped(Session& session,
                                            const WaitLimits& limits,
                                            absl::string_view what, Call call) {
  Scheduler& scheduler = session.scheduler();
  const std::unique_ptr<Event> done = scheduler.NewEvent();
  std::optional<std::invoke_result_t<Call>> result;
  scheduler.Schedule(Pool::kBlocking, [&] {
    result.emplace(call());
    done->Set();
  });
  while (!done->WaitUntil(scheduler.clock().Now() +
                          limits.options.recovery_wait)) {
    const absl::Status why = limits.End(what);
    if (why.ok()) continue;
    session.Close().IgnoreError();
    done->Wait();
    return why;
  }
  return *std::move(result);
}

// Creates a callable of wait_op once all tasks have it, because a task may
// reject wait_op.
auto MakeWait(Session& session, const SessionManagerOptions& options,
              const DefaultScheduler& scheduler, absl::Time deadline) {
  const std::string cluster = "the cluster";
  return RunUnlessStopped(
      session, {options, scheduler, cluster, deadline},
      "all tasks had answered",
      [&] { return session.MakeCallable({}, {}, {options.wait_op}); });
}

// Waits for the server as long as `config` allows, and checks for stop requests
// in between.
absl::StatusOr<std::unique_ptr<Session>> Dial(const Scope& scope,
                                              SessionOptions config,
                                              const WaitLimits& limits) {
  const absl::Time deadline = limits.scheduler.Now() + config.connect_timeout;
  while (true) {
    const absl::Time begin = limits.scheduler.Now();
    config.connect_timeout = std::min(kDialSlice, deadline - begin);
    auto made = limits.options.session_factory(limits.target, scope, config);
    const absl::Time now = limits.scheduler.Now();
    if (!absl::IsUnavailable(made.status()) || now >= deadline ||
        now - begin < config.connect_timeout) {
      return made;
    }
    RETURN_IF_ERROR(limits.End("its server answered"));
    // If the server does not answer, that is logged.
    config.log_waits_after =
        std::max(config.log_waits_after, kDialSlice + absl::Seconds(1));
  }
}

// Implements SessionManager::Connect with the given limits.
absl::StatusOr<std::unique_ptr<Session>> ConnectTo(const Scope& scope,
                                                   const SessionOptions& config,
                                                   const WaitLimits& limits) {
  const std::string& target = limits.target;
  auto made = Dial(scope, config, limits);
  if (absl::IsUnavailable(made.status())) {
    return NoSession(target, made.status());
  }
  ASSIGN_OR_RETURN(auto session, std::move(made));
  const absl::Status status =
      RunUnlessStopped(*session, limits, "all tasks had answered",
                       [&] { return session->Extend(); });
  // DEADLINE_EXCEEDED means that tasks were missing for too long; a lost
  // session, that a task has left.
  if (IsSessionLost(status) || absl::IsDeadlineExceeded(status)) {
    return NoSession(target, status);
  }
  RETURN_IF_ERROR(status);
  return session;
}

}  // namespace

bool IsSessionLost(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsAborted(status);
}

SessionManager::SessionManager(const Scope& scope,
                               SessionManagerOptions options)
    : scope_(scope),
      options_(std::move(options)),
      logger_(options_.logger),
      scheduler_(options_.scheduler) {}

absl::StatusOr<std::unique_ptr<Session>> SessionManager::Connect(
    const std::string& target, const SessionOptions& config) const {
  return ConnectTo(scope_, config, {options_, scheduler_, target});
}

absl::StatusOr<SessionManager::Restored> SessionManager::Restore(
    Session& session, const Checkpoint& checkpoint,
    const SessionOptions& config) const {
  if (checkpoint.saver == nullptr) return Restored();
  if (!checkpoint.filename_with_path.empty()) {
    RETURN_IF_ERROR(RestoreFrom(session, *checkpoint.saver,
                                checkpoint.filename_with_path, config));
    return Restored{checkpoint.saver, checkpoint.filename_with_path};
  }
  if (checkpoint.directory.empty()) return Restored();
  LocalFileSystem local;
  FileSystem* const files = session.file_system();
  FileSystem& used = files != nullptr ? *files : local;
  const auto state =
      checkpoint::ReadCheckpointState(used, checkpoint.directory);
  if (absl::IsNotFound(state.status())) {
    RETURN_IF_ERROR(LostIfSilent(
        checkpoint.directory,
        CheckThatNoneIsUnnamed(used, checkpoint.directory), config));
    return Restored();
  }
  RETURN_IF_ERROR(LostIfSilent(checkpoint.directory, state.status(), config));
  const std::string& newest = state->model_checkpoint_path;
  const absl::Status restored =
      RestoreFrom(session, *checkpoint.saver, newest, config);
  if (absl::IsNotFound(restored) &&
      !checkpoint::CheckpointExists(used, newest).value_or(true)) {
    return checkpoint::CheckpointIsGone(checkpoint.directory, newest);
  }
  RETURN_IF_ERROR(restored);
  RETURN_IF_ERROR(LostIfSilent(checkpoint.directory,
                               checkpoint.saver->RecoverLastCheckpoints(
                                   session, state->all_model_checkpoint_paths,
                                   state->all_model_checkpoint_timestamps),
                               config));
  return Restored{checkpoint.saver, state->model_checkpoint_path};
}

absl::Status SessionManager::RestoreFrom(Session& session, Saver& saver,
                                         const std::string& path,
                                         const SessionOptions& config) const {
  logger_->Info(absl::StrCat("Restoring parameters from ", path));
  const absl::Status status = saver.RestoreVariables(session, path);
  return status.ok() ? status : CouldNotRestore(path, status, config);
}

absl::Status SessionManager::RestoreIterators(
    Session& session, const Restored& restored,
    const SessionOptions& config) const {
  if (restored.saver == nullptr) return absl::OkStatus();
  const absl::Status status =
      restored.saver->RestoreIterators(session, restored.path);
  return status.ok() ? status : CouldNotRestore(restored.path, status, config);
}

absl::StatusOr<SessionManager::Readiness> SessionManager::Ask(
    Session& session, const Output& op) const {
  if (!op) return Readiness();
  absl::StatusOr<Tensor> missing = session.Run(op);
  if (absl::IsFailedPrecondition(missing.status()) &&
      absl::StrContains(missing.status().message(), "uninitialized")) {
    return Readiness{false, std::string(missing.status().message())};
  }
  RETURN_IF_ERROR(missing.status());
  if (missing->num_elements() == 0) return Readiness();
  if (missing->dtype() != DT_STRING) {
    return absl::InvalidArgumentError(absl::StrCat(
        "The readiness op of the model, ", op.name(),
        ", must return the names of missing variables, of type string, but is ",
        DataTypeName(missing->dtype())));
  }
  return Readiness{false, NotInitialized(*missing)};
}

absl::StatusOr<SessionManager::Readiness> SessionManager::MakeReady(
    Session& session, const Restored& restored,
    const SessionOptions& config) const {
  ASSIGN_OR_RETURN(Readiness readiness,
                   Ask(session, options_.ready_for_local_init_op));
  if (!readiness.is_ready) {
    readiness.message = absl::StrCat(
        "Ready_for_local_init_op: ", readiness.message, ", ready: None");
    if (restored.saver != nullptr && restored.saver->HasIterators()) {
      logger_->Warning(absl::StrCat(
          "Iterators of ", restored.path,
          " are not restored, because the model is not ready for "
          "local_init_op, "
          "which initializes them. Once initialized they start at the "
          "first element"));
    }
    return readiness;
  }
  if (options_.local_init_op) {
    logger_->Info("Running local_init_op.");
    RETURN_IF_ERROR(session.Run(options_.local_init_op));
    logger_->Info("Done running local_init_op.");
  }
  RETURN_IF_ERROR(RestoreIterators(session, restored, config));
  ASSIGN_OR_RETURN(readiness, Ask(session, options_.ready_op));
  if (!readiness.is_ready) {
    readiness.message = absl::StrCat("Ready_for_local_init_op: None, ready: ",
                                     readiness.message);
  }
  return readiness;
}

absl::StatusOr<std::unique_ptr<Session>> SessionManager::ConnectIfReady(
    const std::string& target, const SessionOptions& config) {
  // Without these ops, readiness is unknown.
  if (!options_.ready_op && !options_.ready_for_local_init_op) return nullptr;
  ASSIGN_OR_RETURN(auto session, Connect(target, config));
  ASSIGN_OR_RETURN(const Readiness readiness,
                   MakeReady(*session, Restored(), config));
  if (readiness.is_ready) return session;
  return nullptr;
}

absl::StatusOr<std::unique_ptr<Session>> SessionManager::PrepareSession(
    const std::string& target, const SessionOptions& config,
    const Checkpoint& checkpoint, const Initialization& initialization) {
  ASSIGN_OR_RETURN(auto session, Connect(target, config));
  const WaitLimits limits{options_, scheduler_, target};
  ASSIGN_OR_RETURN(
      const Restored restored,
      RunUnlessStopped(*session, limits, "variables were restored",
                       [&] { return Restore(*session, checkpoint, config); }));
  if (restored.saver == nullptr) {
    if (initialization.init_op) {
      RETURN_IF_ERROR(
          RunUnlessStopped(*session, limits, "variables were initialized", [&] {
            return session->Run(initialization.init_feeds,
                                initialization.init_op);
          }));
    }
    if (initialization.init_fn) {
      RETURN_IF_ERROR(initialization.init_fn(*session));
    }
  }
  ASSIGN_OR_RETURN(
      const Readiness readiness,
      RunUnlessStopped(*session, limits, "the model was ready",
                       [&] { return MakeReady(*session, restored, config); }));
  if (readiness.is_ready) return session;
  return absl::FailedPreconditionError(
      absl::StrCat("Init operations did not make model ready. Init op: ",
                   NameOr(initialization.init_op),
                   ", init fn: ", initialization.init_fn ? "given" : "none",
                   ", local_init_op: ", NameOr(options_.local_init_op),
                   ", error: ", readiness.message));
}

absl::StatusOr<SessionManager::Recovered> SessionManager::RecoverSession(
    const std::string& target, const SessionOptions& config,
    const Checkpoint& checkpoint) {
  ASSIGN_OR_RETURN(auto session, Connect(target, config));
  const WaitLimits limits{options_, scheduler_, target};
  ASSIGN_OR_RETURN(
      const Restored restored,
      RunUnlessStopped(*session, limits, "variables were restored",
                       [&] { return Restore(*session, checkpoint, config); }));
  ASSIGN_OR_RETURN(
      const Readiness readiness,
      RunUnlessStopped(*session, limits, "the model was ready",
                       [&] { return MakeReady(*session, restored, config); }));
  const bool is_restored = restored.saver != nullptr;
  if (is_restored && !readiness.is_ready) {
    logger_->Info(absl::StrCat("Restoring did not make model ready: ",
                               readiness.message));
  }
  return Recovered{std::move(session), is_restored && readiness.is_ready};
}

absl::StatusOr<std::unique_ptr<Session>> SessionManager::WaitForSession(
    const std::string& target, const SessionOptions& config,
    absl::Duration max_wait) {
  const absl::Time deadline = scheduler_.Now() + max_wait;
  std::string told;  // last logged text; a new text is logged at once
  absl::Time next_line;
  while (true) {
    Readiness readiness;
    auto session = TryToWait(target, config, deadline, readiness);
    if (session.ok() && *session != nullptr) return session;
    if (!session.ok()) {
      if (!IsSessionLost(session.status())) return session.status();
      readiness.message = std::string(session.status().message());
    }
    if (IsStopRequested()) {
      return AskedToStop("the model was ready: ", readiness.message);
    }
    if (scheduler_.Now() >= deadline) {
      return absl::DeadlineExceededError(absl::StrCat(
          "Session was not ready after waiting ",
          absl::ToDoubleSeconds(max_wait), " secs. ", readiness.message,
          ". The chief makes it ready: is it running, with the same graph?"));
    }
    if (readiness.message != told || scheduler_.Now() >= next_line) {
      logger_->Info(
          absl::StrCat("Waiting for model to be ready.  ", readiness.message));
      told = readiness.message;
      next_line = scheduler_.Now() + options_.log_interval;
    }
    scheduler_.Sleep(options_.recovery_wait);
  }
}

absl::StatusOr<std::unique_ptr<Session>> SessionManager::TryToWait(
    const std::string& target, const SessionOptions& config,
    absl::Time deadline, Readiness& readiness) const {
  const WaitLimits limits{options_, scheduler_, target, deadline};
  ASSIGN_OR_RETURN(auto session, ConnectTo(scope_, config, limits));
  const absl::Status there = AwaitVariables(*session, deadline);
  // After a timeout, missing variables are queried once more, for the error.
  if (!there.ok() && !absl::IsDeadlineExceeded(there)) return there;
  ASSIGN_OR_RETURN(
      readiness, RunUnlessStopped(*session, limits, "the model was ready", [&] {
        return MakeReady(*session, Restored(), config);
      }));
  if (readiness.is_ready) return session;
  return std::unique_ptr<Session>();
}

// Waits for variables in one run, which continues while missing variables are
// queried.
absl::Status SessionManager::AwaitVariables(Session& session,
                                            absl::Time deadline) const {
  if (!options_.wait_op) return absl::OkStatus();
  ASSIGN_OR_RETURN(auto wait,
                   MakeWait(session, options_, scheduler_, deadline));
  Scheduler& scheduler = session.scheduler();
  const std::unique_ptr<Event> done = scheduler.NewEvent();
  absl::Status result;
  RunOptions options;
  options.timeout = std::max(absl::ZeroDuration(), deadline - scheduler_.Now());
  wait->RunAsync(
      {},
      [&](const absl::StatusOr<std::vector<Tensor>>& values) {
        result = values.status();
        done->Set();
      },
      options);
  const auto give_up = [&](const absl::Status& why) {
    session.Close().IgnoreError();  // closing the session ends the run
    done->Wait();
    return why;
  };
  absl::Time next_line = scheduler.clock().Now();
  std::optional<Look> before;
  while (!done->WaitUntil(scheduler.clock().Now() + options_.recovery_wait)) {
    if (IsStopRequested()) {
      return give_up(AskedToStop(
          "the chief had initialized the variables",
          before.has_value() ? ". " + NotInitialized(before->missing) : ""));
    }
    const auto now = LookAt(session);
    if (!now.has_value()) continue;
    absl::Status foreign = CheckThatChiefHasThem(before, *now);
    if (foreign.ok() && now->is_part) {
      foreign = AskServersAgain(session, deadline);
    }
    if (!foreign.ok()) return give_up(foreign);
    before = now;
    if (scheduler.clock().Now() < next_line) continue;
    LogMissing(*now);
    next_line = scheduler.clock().Now() + options_.log_interval;
  }
  return result;
}

// Starts a new wait for a short time, because the chief may have become ready
// since the running wait began. Errors of other kinds are reported better by
// the running wait.
absl::Status SessionManager::AskServersAgain(Session& session,
                                             absl::Time deadline) const {
  const auto again = MakeWait(session, options_, scheduler_, deadline);
  const bool is_told = absl::IsFailedPrecondition(again.status()) ||
                       IsStopRequested() || scheduler_.Now() >= deadline;
  return is_told ? again.status() : absl::OkStatus();
}

std::optional<SessionManager::Look> SessionManager::LookAt(
    Session& session) const {
  const RunOptions bounded{.timeout = kLooksBound * options_.recovery_wait};
  const auto missing =
      session.Run({}, options_.ready_for_local_init_op, bounded);
  if (!missing.ok() || missing->num_elements() == 0) return std::nullopt;
  Look look{*missing, /*is_part=*/false, std::nullopt};
  // The chief initializes all of its variables in one step.
  look.is_part = static_cast<size_t>(missing->num_elements()) <
                 ops::GlobalVariables(scope_).size();
  if (!look.is_part || !options_.global_step) return look;
  const auto step = session.Run({}, options_.global_step, bounded);
  if (step.ok()) look.step = GlobalStepValue(*step);
  return look;
}

absl::Status SessionManager::CheckThatChiefHasThem(
    const std::optional<Look>& before, const Look& now) {
  const bool have_trained = before.has_value() && before->step.has_value() &&
                            now.step.has_value() && *before->step < *now.step;
  if (!have_trained ||
      before->missing.flat<std::string>() != now.missing.flat<std::string>()) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      NotInitialized(now.missing),
      ". Others train meanwhile (the global step went from ", *before->step,
      " to ", *now.step,
      "), so the chief's graph has no variables of these names. All programs "
      "of a training have to make the same variables."));
}

void SessionManager::LogMissing(const Look& look) const {
  logger_->Log(
      look.is_part ? Severity::kWarning : Severity::kInfo,
      absl::StrCat("Waiting for model to be ready. ",
                   NotInitialized(look.missing),
                   look.is_part ? ". All other variables have values: unless "
                                  "the chief is just giving them, its graph "
                                  "has no variables of these names"
                                : ""));
}

}  // namespace weft::train
