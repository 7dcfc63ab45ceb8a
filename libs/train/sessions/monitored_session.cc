#include "libs/train/sessions/monitored_session.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/train/optimizers/global_step.h"
#include "libs/train/sessions/hooked_session.h"
#include "libs/train/sessions/queue_runner.h"
#include "libs/train/sessions/sync_replicas_check.h"

namespace weft::train {
namespace {

// Time limit, for all hooks together, for reporting the end of training to
// other programs, which may have ended.
constexpr absl::Duration kMaxNotifyTime = absl::Minutes(1);

// Time limit for retrying End of the hooks after a stop request. It is short,
// because the tasks may have been asked to stop, too. A connection that is lost
// briefly is back by then.
constexpr absl::Duration kLongestLeaving = absl::Seconds(1);

// Interval of checks whether other programs still train.
constexpr absl::Duration kBetweenLooksAtOthers = absl::Milliseconds(250);

// Timeout for reading the global step where the value is not essential.
constexpr absl::Duration kStepReadTimeout = absl::Seconds(5);

// If a session lasts this long, its own actions are not the cause of its loss.
constexpr absl::Duration kStableTime = absl::Minutes(1);

// Returns a random number between 0.5 and 1.
double Jitter(Random& random) {
  constexpr int kBits = 53;
  const auto part = static_cast<double>(random.Next() >> (64 - kBits));
  return 0.5 + part / static_cast<double>(uint64_t{1} << (kBits + 1));
}

absl::Status LostAtTheEnd(const absl::Status& loss) {
  return absl::Status(
      loss.code(),
      absl::StrCat("The session was lost when training had ended, and with it "
                   "all changes that were not saved: start the program again "
                   "to continue from the last checkpoint. ",
                   loss.message()));
}

absl::Status CheckOptions(const RecoveryOptions& options) {
  if (options.initial_backoff > absl::ZeroDuration() &&
      options.max_backoff > absl::ZeroDuration() &&
      options.max_recovery >= absl::ZeroDuration()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "RecoveryOptions need positive waits between attempts, and a "
      "max_recovery that is not negative, but initial_backoff is ",
      absl::FormatDuration(options.initial_backoff), ", max_backoff ",
      absl::FormatDuration(options.max_backoff), " and max_recovery ",
      absl::FormatDuration(options.max_recovery)));
}

}  // namespace

MonitoredSession::MonitoredSession(const Scope& scope,
                                   std::unique_ptr<SessionCreator> creator,
                                   MonitoredSessionOptions options)
    : scope_(scope),
      creator_(std::move(creator)),
      options_(std::move(options)),
      logger_(options_.logger),
      scheduler_(options_.scheduler),
      own_random_(options_.random == nullptr ? NewSystemRandom() : nullptr),
      random_(own_random_ != nullptr ? *own_random_ : *options_.random),
      backoff_(options_.recovery.initial_backoff) {}

absl::StatusOr<std::unique_ptr<MonitoredSession>> MonitoredSession::Create(
    const Scope& scope, std::unique_ptr<SessionCreator> creator,
    MonitoredSessionOptions options) {
  std::unique_ptr<MonitoredSession> session(
      new MonitoredSession(scope, std::move(creator), std::move(options)));
  absl::Status status = session->Begin(scope);
  if (status.ok()) status = session->EnsureSession();
  if (status.ok()) return session;
  session->is_closed_ = true;  // there is nothing to end
  return status;
}

MonitoredSession::~MonitoredSession() {
  // The program may leave the scope for its own reasons, so this counts as a
  // stop request.
  if (!is_closed_) RequestStop();
  const absl::Status status = is_closed_ ? last_run_ : Close(last_run_);
  if (!status.ok() && status != last_run_) {
    logger_->Error(absl::StrCat(
        "The monitored session was closed with an error: ", status.ToString()));
  }
  Release(nullptr);
  // Objects that are used by a thread that never ends are never freed.
  for (auto& session : left_behind_) static_cast<void>(session.release());
}

void MonitoredSession::Release(std::unique_ptr<HookedSession> session) {
  if (session != nullptr) left_behind_.push_back(std::move(session));
  std::erase_if(left_behind_,
                [](const auto& one) { return !one->has_threads(); });
}

absl::Status MonitoredSession::Begin(const Scope& scope) {
  RETURN_IF_ERROR(CheckOptions(options_.recovery));
  for (const auto& hook : options_.hooks) {
    RETURN_IF_ERROR(hook->Begin(scope.ReenterScope("")));
    RETURN_IF_ERROR(scope.status());
  }
  creator_->set_stop_requested([this] {
    return IsStopRequested() || scheduler_.Now() >= notify_until_;
  });
  RETURN_IF_ERROR(creator_->FinalizeGraph(scope));
  if (const ops::Variable step = FindGlobalStep(scope)) {
    global_step_ = step.value();
  }
  num_nodes_ = scope_.graph().num_nodes();
  train_ops_without_hook_ = TrainOpsWithoutHook(scope_, options_.hooks);
  logger_->Info("Graph was finalized.");
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<HookedSession>> MonitoredSession::NewSession() {
  ASSIGN_OR_RETURN(auto session, creator_->CreateSession());
  auto live = std::make_unique<HookedSession>(
      std::move(session), options_.hooks, options_.scheduler,
      [this] { return IsStopRequested(); });
  const auto begin = [&] {
    RETURN_IF_ERROR(
        StartQueueRunners(scope_, live->session(), live->coordinator()));
    for (const auto& hook : options_.hooks) {
      RETURN_IF_ERROR(
          hook->AfterCreateSession(live->session(), live->coordinator()));
    }
    return absl::OkStatus();
  };
  const absl::Status status = begin();
  if (status.ok()) return live;
  live->Abandon(options_.stop_grace_period, *logger_);
  Release(std::move(live));
  return status;
}

absl::Status MonitoredSession::EnsureSession() {
  while (live_ == nullptr) {
    auto made = NewSession();
    if (made.ok()) {
      live_ = *std::move(made);
      live_since_ = scheduler_.Now();
      CheckRecoveredStep();
      return absl::OkStatus();
    }
    if (!MayRecover(made.status())) {
      return made.status();
    }
    logger_->Warning(absl::StrCat(
        "An error was raised while a session was being created. This may be "
        "due to a preemption of a connected worker or parameter server. A new "
        "session will be created. Error: ",
        made.status().ToString()));
    RETURN_IF_ERROR(BackOff(made.status()));
  }
  return absl::OkStatus();
}

absl::Status MonitoredSession::WithSession(
    absl::FunctionRef<absl::Status(HookedSession& live)> use) {
  if (is_closed_) {
    return absl::FailedPreconditionError("Attempted to use a closed session.");
  }
  RETURN_IF_ERROR(CheckThatGraphIsFinal());
  const auto in_use = MarkInUse();
  while (true) {
    RETURN_IF_ERROR(EnsureSession());
    absl::Status status = use(*live_);
    if (status.ok()) RunHasSucceeded();
    if (!MayRecover(status)) {
      return status;
    }
    DropSession(status);
    RETURN_IF_ERROR(BackOff(status));
  }
}

absl::Status MonitoredSession::CheckNotInUse() const {
  if (!is_in_use_) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "A run, a step function or a hook of this MonitoredSession is active. "
      "Within it use only its arguments: the session of a hook, "
      "or session() and RunWithHooks of a step function's context.");
}

absl::Status MonitoredSession::CheckThatGraphIsFinal() const {
  if (scope_.graph().num_nodes() <= num_nodes_) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "Graph is finalized and cannot be modified: node ",
      scope_.graph().node(num_nodes_)->name(),
      " was added after the MonitoredSession was made. Make all nodes before, "
      "and none for each step."));
}

void MonitoredSession::DropSession(const absl::Status& why) {
  loss_ = why;
  CheckRecoveryTime();
  logger_->Warning(absl::StrCat(
      "An error was raised. This may be due to a preemption in a connected "
      "worker or parameter server. The current session will be closed and a "
      "new session will be created. Error: ",
      why.ToString()));
  live_->Abandon(options_.stop_grace_period, *logger_);
  Release(std::exchange(live_, nullptr));
}

// Resets recovery only if the session has lasted long enough. Otherwise, one
// run could succeed in each session and the next run lose it, forever.
void MonitoredSession::RunHasSucceeded() {
  if (!first_loss_.has_value()) return;
  if (scheduler_.Now() - live_since_ >= kStableTime) NoteProgress();
}

// Returns the global step. If it cannot be read, returns null, because runs
// will report the cause.
std::optional<int64_t> MonitoredSession::ReadStep() {
  if (!global_step_) return std::nullopt;
  const auto fetched = live_->session().Run(
      {}, global_step_, RunOptions{.timeout = kStepReadTimeout});
  if (!fetched.ok()) return std::nullopt;
  return GlobalStepValue(*fetched);
}

void MonitoredSession::CheckRecoveredStep() {
  if (!first_loss_.has_value()) return;
  const std::optional<int64_t> step = ReadStep();
  if (!step.has_value()) return;
  if (!first_step_.has_value()) {
    first_step_ = step;
  } else if (*step > *first_step_) {
    NoteProgress();
  }
}

// Resets recovery if the session lasted as long as recovery may take, because
// all that time may have been one run that waited for others.
void MonitoredSession::CheckRecoveryTime() {
  const absl::Duration life = scheduler_.Now() - live_since_;
  if (life >= std::max(kStableTime, options_.recovery.max_recovery)) {
    NoteProgress();
  }
}

void MonitoredSession::NoteProgress() {
  first_loss_.reset();
  first_step_.reset();
  backoff_ = options_.recovery.initial_backoff;
}

absl::Status MonitoredSession::BackOff(const absl::Status& why) {
  const absl::Time now = scheduler_.Now();
  if (!first_loss_.has_value()) first_loss_ = now;
  if (now - *first_loss_ >= options_.recovery.max_recovery) {
    return absl::Status(
        why.code(),
        absl::StrCat(
            "Sessions were lost for ",
            absl::FormatDuration(options_.recovery.max_recovery),
            " without progress, so training is given up: ", why.message()));
  }
  if (IsStopRequested()) return why;
  Pause();
  return absl::OkStatus();
}

void MonitoredSession::Pause() {
  scheduler_.Sleep(backoff_ * Jitter(random_));
  backoff_ = std::min(2 * backoff_, options_.recovery.max_backoff);
}

bool MonitoredSession::IsStopRequested() const {
  return is_stop_requested_.load() ||
         (options_.stop_requested && options_.stop_requested());
}

bool MonitoredSession::ShouldStop() {
  // A step function keeps its session, and a hook may be called while there is
  // no session. So only the state is read.
  if (is_in_use_) {
    return input_has_ended_ || IsStopRequested() ||
           (live_ != nullptr && live_->ShouldStop());
  }
  if (is_closed_ || input_has_ended_ || IsStopRequested()) return true;
  if (live_ == nullptr) return !last_run_.ok() || !given_up_.ok();
  const absl::Status error = live_->coordinator().requested_error();
  if (!MayRecover(error)) {
    return live_->ShouldStop();
  }
  const auto in_use = MarkInUse();
  DropSession(error);
  given_up_ = BackOff(error);  // this thread error may recur in each session
  return !given_up_.ok();
}

absl::StatusOr<std::vector<Tensor>> MonitoredSession::Run(
    const FeedList& feeds, const std::vector<Output>& fetches,
    const std::vector<Operation>& targets, const RunOptions& options,
    RunMetadata* metadata) {
  RETURN_IF_ERROR(CheckNotInUse());
  const SessionRunArgs args{fetches, targets, feeds, options};
  RETURN_IF_ERROR(CheckSyncReplicasRun(train_ops_without_hook_, args));
  std::vector<Tensor> results;
  last_run_ = WithSession([&](HookedSession& live) {
    ASSIGN_OR_RETURN(results, live.Run(args, metadata));
    return absl::OkStatus();
  });
  input_has_ended_ = input_has_ended_ || absl::IsOutOfRange(last_run_);
  RETURN_IF_ERROR(last_run_);
  return results;
}

absl::StatusOr<Tensor> MonitoredSession::Run(const FeedList& feeds,
                                             const Output& fetch,
                                             const RunOptions& options,
                                             RunMetadata* metadata) {
  ASSIGN_OR_RETURN(
      std::vector<Tensor> results,
      Run(feeds, std::vector<Output>{fetch}, {}, options, metadata));
  return std::move(results[0]);
}

absl::Status MonitoredSession::Run(const FeedList& feeds,
                                   const Operation& target,
                                   const RunOptions& options,
                                   RunMetadata* metadata) {
  return Run(feeds, std::vector<Output>(), {target}, options, metadata)
      .status();
}

Session& MonitoredSession::StepContext::session() const {
  return live_.session();
}

absl::StatusOr<std::vector<Tensor>> MonitoredSession::StepContext::RunWithHooks(
    const SessionRunArgs& args, RunMetadata* metadata) {
  RETURN_IF_ERROR(CheckSyncReplicasRun(owner_.train_ops_without_hook_, args));
  return live_.Run(args, metadata);
}

void MonitoredSession::StepContext::RequestStop() { live_.RequestStop(); }

absl::Status MonitoredSession::RunStepFn(
    absl::FunctionRef<absl::Status(StepContext& context)> step_fn) {
  RETURN_IF_ERROR(CheckNotInUse());
  last_run_ = WithSession([&](HookedSession& live) {
    StepContext context(*this, live);
    return step_fn(context);
  });
  input_has_ended_ = input_has_ended_ || absl::IsOutOfRange(last_run_);
  return last_run_;
}

// Reports that a hook has rejected the last step, so that other programs do not
// save the step's values, which may be in shared variables.
void MonitoredSession::NotifyLastStepRejected() {
  if (live_ == nullptr || !live_->is_last_step_rejected()) return;
  for (const auto& hook : options_.hooks) {
    hook->OnLastStepRejected(live_->session());
  }
}

absl::Status MonitoredSession::EndHooks() {
  for (const bool saves : {false, true}) {
    if (saves && live_->is_last_step_rejected()) {
      logger_->Warning(
          "The last step is not saved: a hook has returned an error for it.");
      break;
    }
    for (const auto& hook : options_.hooks) {
      if (hook->SavesCheckpoints() == saves) RETURN_IF_ERROR(EndHook(*hook));
    }
  }
  return absl::OkStatus();
}

// Calls End of a hook. The session is not replaced if it is lost, because a new
// session would begin at the last checkpoint, before the end.
absl::Status MonitoredSession::EndHook(SessionRunHook& hook) {
  const absl::Time deadline = scheduler_.Now() + kLongestLeaving;
  while (true) {
    const absl::Status status = hook.End(live_->session());
    if (status.ok()) return status;
    // The error of the stop request came first, and may have closed the
    // session, so a hook's error is less specific.
    const absl::Status cause = live_->coordinator().requested_error();
    if (!cause.ok()) return IsSessionLost(cause) ? LostAtTheEnd(cause) : cause;
    if (!options_.recovery.should_recover || !absl::IsUnavailable(status)) {
      return IsSessionLost(status) ? LostAtTheEnd(status) : status;
    }
    logger_->Warning(absl::StrCat(
        "The end of training failed, and is tried again: ", status.ToString()));
    if (IsStopRequested() && scheduler_.Now() < deadline) {
      Pause();
    } else {
      RETURN_IF_ERROR(BackOff(status));
    }
  }
}

// Returns false if another program continues the training. Must be called
// before the last save, because others may end the training later.
bool MonitoredSession::HasTrainingEnded() {
  if (input_has_ended_ || live_->is_stopped_by_hook() || !IsStopRequested()) {
    return true;
  }
  return absl::c_any_of(options_.hooks, [this](const auto& hook) {
    return hook->HasReachedEnd(live_->session());
  });
}

absl::Status MonitoredSession::CreateNotifySession() {
  auto made = creator_->Reconnect();
  if (absl::IsCancelled(made.status()) && !IsStopRequested()) {
    return absl::DeadlineExceededError(absl::StrCat(
        "no new session was made within ", absl::FormatDuration(kMaxNotifyTime),
        ": ", made.status().message()));
  }
  ASSIGN_OR_RETURN(notify_session_, std::move(made));
  return absl::OkStatus();
}

// Notifies with the existing session, even a lost one, because most hooks
// report nothing and need no new session.
absl::Status MonitoredSession::TryNotify(SessionRunHook& hook,
                                         bool& needs_session) {
  if (needs_session) RETURN_IF_ERROR(CreateNotifySession());
  const bool is_lost = notify_session_ == nullptr &&
                       IsSessionLost(live_->coordinator().requested_error());
  const absl::Status status = hook.TrainingHasEnded(
      notify_session_ != nullptr ? *notify_session_ : live_->session());
  // ABORTED means that a task has forgotten the session, and will not accept it
  // again.
  needs_session = !status.ok() && (is_lost || absl::IsAborted(status));
  if (!needs_session || IsSessionLost(status)) return status;
  return absl::UnavailableError(status.message());
}

// Reports the end of training, with retries, because other programs may wait
// for the report. A lost connection may come back, and a new session replaces a
// lost one. Hooks are not notified of the new session, because they have ended.
absl::Status MonitoredSession::NotifyTrainingEnded(SessionRunHook& hook) {
  bool needs_session = false;
  while (true) {
    const absl::Status status = TryNotify(hook, needs_session);
    const bool may_pass =
        MayRecover(status) ||
        (options_.recovery.should_recover && absl::IsDeadlineExceeded(status));
    if (!may_pass || IsStopRequested() || scheduler_.Now() >= notify_until_) {
      return status;
    }
    Pause();
  }
}

void MonitoredSession::NotifyTrainingEnded() {
  notify_until_ = scheduler_.Now() + kMaxNotifyTime;
  for (const auto& hook : options_.hooks) {
    const absl::Status status = NotifyTrainingEnded(*hook);
    if (status.ok()) continue;
    logger_->Warning(
        absl::StrCat("Others could not be told that training has ended: ",
                     status.ToString()));
  }
  if (notify_session_ != nullptr) notify_session_->Close().IgnoreError();
  notify_session_ = nullptr;
}

absl::StatusOr<bool> MonitoredSession::PollOthers() {
  using Others = SessionRunHook::Others;
  bool train_on = false;
  for (const auto& hook : options_.hooks) {
    ASSIGN_OR_RETURN(const Others others,
                     hook->PollOtherPrograms(live_->session()));
    if (others == Others::kAreDone) return false;
    train_on |= others == Others::kTrainOn;
  }
  return train_on && !HasThreadFailed();
}

// Returns whether a thread failed at the end of training. Then the work so far
// is saved, and Close returns the error. Neither the end of the input, read by
// a thread, nor a lost session counts: the next call of a hook reports a lost
// session, too.
bool MonitoredSession::HasThreadFailed() const {
  const absl::Status error = live_->coordinator().requested_error();
  if (error.ok() || absl::IsOutOfRange(error)) return false;
  return !MayRecover(error);
}

// Waits until other programs have ended. After a stop request, only checks once
// whether others still train. If a hook has rejected the last step, whose
// values may be in the variables, it must not wait, because nothing may be
// saved meanwhile.
absl::Status MonitoredSession::AwaitOthers() {
  while (input_has_ended_) {
    RETURN_IF_ERROR(SessionToEnd());
    if (live_->is_last_step_rejected()) return absl::OkStatus();
    const auto train_on = PollOthers();
    const bool is_exit_requested = IsStopRequested();
    if (train_on.ok()) {
      leaves_others_ = *train_on;
      if (!*train_on || is_exit_requested) return absl::OkStatus();
      NoteStep();
      scheduler_.Sleep(kBetweenLooksAtOthers);
    } else if (is_exit_requested && IsSessionLost(train_on.status())) {
      leaves_others_ = true;    // others may be training
      return absl::OkStatus();  // hooks retry their end
    } else if (!MayRecover(train_on.status())) {
      return train_on.status();
    } else {
      // The session must be replaced, because other programs wait for the chief
      // to restore their variables.
      loss_at_the_end_ = train_on.status();
      DropSession(train_on.status());
      RETURN_IF_ERROR(BackOff(train_on.status()));
    }
  }
  return absl::OkStatus();
}

// Records the greatest step. If the session was lost before its step could be
// read, training had reached at least one step more than the checkpoint at
// which the next session begins.
void MonitoredSession::NoteStep() {
  const std::optional<int64_t> step = ReadStep();
  if (!step.has_value()) return;
  const bool was_never_read =
      !loss_at_the_end_.ok() && !furthest_step_.has_value();
  const int64_t reached = *step + (was_never_read ? 1 : 0);
  furthest_step_ = std::max(furthest_step_.value_or(reached), reached);
}

absl::Status MonitoredSession::CheckThatNoStepIsMissing() {
  if (loss_at_the_end_.ok() || leaves_others_) return absl::OkStatus();
  const std::optional<int64_t> step = ReadStep();
  if (step.has_value() && furthest_step_.has_value() &&
      *step >= *furthest_step_) {
    return absl::OkStatus();
  }
  return LostAtTheEnd(loss_at_the_end_);
}

// Returns OK if there is a session to end. After a stop request no new session
// is created: it would begin at the last checkpoint, with nothing to end.
absl::Status MonitoredSession::SessionToEnd() {
  if (live_ == nullptr && IsStopRequested() && !loss_.ok()) return loss_;
  return EnsureSession();
}

absl::Status MonitoredSession::Close(absl::Status status) {
  if (is_closed_) {
    return absl::FailedPreconditionError("Session is already closed.");
  }
  RETURN_IF_ERROR(CheckNotInUse());
  const auto in_use = MarkInUse();
  if (absl::IsOutOfRange(status)) status = absl::OkStatus();
  if (status.ok()) status = given_up_;
  if (!IsSessionLost(status)) NotifyLastStepRejected();
  if (status.ok()) status = AwaitOthers();
  if (status.ok()) status = SessionToEnd();
  const absl::Status missing =
      status.ok() ? CheckThatNoStepIsMissing() : absl::OkStatus();
  const bool has_ended =
      status.ok() && missing.ok() && !leaves_others_ && HasTrainingEnded();
  if (status.ok()) status = EndHooks();
  if (status.ok()) status = missing;  // the work of others since then is saved
  if (status.ok() && has_ended) {
    const absl::Status error = live_->coordinator().requested_error();
    if (error.ok() || MayRecover(error)) NotifyTrainingEnded();
  }
  is_closed_ = true;
  if (live_ == nullptr) return status;
  if (IsSessionLost(status)) {
    live_->Abandon(options_.stop_grace_period, *logger_);
    Release(std::exchange(live_, nullptr));
    return status;
  }
  const absl::Status ended = live_->Close(options_.stop_grace_period, *logger_);
  Release(std::exchange(live_, nullptr));
  if (!status.ok() || absl::IsOutOfRange(ended)) return status;
  if (!MayRecover(ended)) return ended;
  // A session lost by a thread does not matter any more, because all hooks have
  // ended.
  logger_->Warning(
      absl::StrCat("A thread failed while training ended: ", ended.ToString()));
  return absl::OkStatus();
}

Session* MonitoredSession::raw_session() {
  return live_ == nullptr ? nullptr : &live_->session();
}

absl::StatusOr<std::unique_ptr<MonitoredSession>> SingularMonitoredSession(
    const Scope& scope, SessionCreatorOptions creator,
    MonitoredSessionOptions options) {
  options.recovery.should_recover = false;
  return MonitoredSession::Create(
      scope, std::make_unique<ChiefSessionCreator>(std::move(creator)),
      std::move(options));
}

}  // namespace weft::train
