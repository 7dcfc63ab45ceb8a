#include "libs/train/sessions/basic_session_run_hooks.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/algorithm/container.h"
#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "libs/tensor/float16.h"
#include "libs/train/optimizers/global_step.h"

namespace weft::train {
namespace {

// Number of runs without progress of the global step before a hook warns.
constexpr int64_t kStuckRuns = 20;
// Number of steps after which a waiting hook logs progress again.
constexpr int64_t kStepsALine = 1000;
// Interval at which a waiting hook checks for stop requests.
constexpr absl::Duration kLookForLeave = absl::Milliseconds(500);

// Returns a value as NumPy formats it, without inner brackets: "0.5", "[1 2
// 3]".
std::string ValueText(const Tensor& value) {
  constexpr absl::string_view kBegin = " values:";
  const std::string text = value.ToString(1000);
  absl::string_view values(text);
  const size_t begin = values.find(kBegin) + kBegin.size();
  values = values.substr(begin, values.size() - begin - 1);
  if (!values.empty()) values.remove_prefix(1);
  return value.rank() == 0 ? std::string(values)
                           : absl::StrCat("[", values, "]");
}

template <typename T>
bool HasNan(const Tensor& tensor) {
  return absl::c_any_of(tensor.flat<T>(), [](const T& value) {
    return std::isnan(static_cast<float>(value));
  });
}

bool HasNan(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DT_FLOAT:
      return HasNan<float>(tensor);
    case DT_DOUBLE:
      return HasNan<double>(tensor);
    case DT_HALF:
      return HasNan<half>(tensor);
    case DT_BFLOAT16:
      return HasNan<bfloat16>(tensor);
    default:
      return false;
  }
}

}  // namespace

// ---- The global step ----

absl::Status GlobalStepReader::Find(const Scope& scope,
                                    absl::string_view hook) {
  const ops::Variable step = GetGlobalStep(scope);
  RETURN_IF_ERROR(scope.status());
  if (!step) {
    return absl::FailedPreconditionError(
        absl::StrCat("Global step should be created to use ", hook,
                     ". Call train::GetOrCreateGlobalStep before the session "
                     "is made, and give it to Minimize."));
  }
  output_ = step.value();
  name_ = step.name();
  return absl::OkStatus();
}

absl::StatusOr<int64_t> GlobalStepReader::Read(Session& session) const {
  ASSIGN_OR_RETURN(const Tensor value, session.Run(output_));
  return GlobalStepValue(value);
}

// ---- StopAtStepHook ----

absl::Status StopAtStepHook::Begin(const Scope& scope) {
  if (options_.num_steps.has_value() == options_.last_step.has_value()) {
    return absl::InvalidArgumentError(
        "One of num_steps or last_step must be specified, and not both.");
  }
  return global_step_.Find(scope, "StopAtStepHook");
}

absl::Status StopAtStepHook::AfterCreateSession(Session& session,
                                                Coordinator&) {
  if (last_step_.has_value()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int64_t step, global_step_.Read(session));
  last_step_ = absl::int128(step) + *options_.num_steps >
                       std::numeric_limits<int64_t>::max()
                   ? std::numeric_limits<int64_t>::max()
                   : step + *options_.num_steps;
  return absl::OkStatus();
}

absl::StatusOr<SessionRunArgs> StopAtStepHook::BeforeRun(SessionRunContext&) {
  return SessionRunArgs{.fetches = {global_step_.output()}};
}

// The fetched value is the step before or after the run, and other workers
// advance the step, too. So close to the end the step is read again.
absl::Status StopAtStepHook::AfterRun(SessionRunContext& context,
                                      const SessionRunValues& values) {
  const int64_t seen = GlobalStepValue(values.results[0]);
  const int64_t last = *last_step_;
  if (seen < last && seen + 1 < last) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int64_t step, global_step_.Read(context.session()));
  if (step >= last) context.RequestStop();
  return absl::OkStatus();
}

absl::StatusOr<SessionRunHook::Others> StopAtStepHook::PollOtherPrograms(
    Session& session) {
  return HasReachedEnd(session) ? Others::kAreDone : Others::kUnknown;
}

bool StopAtStepHook::HasReachedEnd(Session& session) {
  const auto step = global_step_.Read(session);
  return step.ok() && last_step_.has_value() && *step >= *last_step_;
}

std::shared_ptr<SessionRunHook> StopAtStep(int64_t last_step) {
  return std::make_shared<StopAtStepHook>(
      StopAtStepOptions{.last_step = last_step});
}

// ---- StepCounterHook ----

namespace {

SecondOrStepTimer CounterTimer(const StepCounterOptions& options) {
  std::optional<int64_t> every_n_steps = options.every_n_steps;
  if (!every_n_steps.has_value() && !options.every_n_secs.has_value()) {
    every_n_steps = 100;
  }
  return {options.every_n_secs, every_n_steps, options.clock};
}

}  // namespace

StepCounterHook::StepCounterHook(StepCounterOptions options)
    : writer_(options.writer),
      timer_(CounterTimer(options)),
      logger_(options.logger) {}

absl::Status StepCounterHook::Begin(const Scope& scope) {
  RETURN_IF_ERROR(timer_.Check());
  return global_step_.Find(scope, "StepCounterHook");
}

absl::StatusOr<SessionRunArgs> StepCounterHook::BeforeRun(SessionRunContext&) {
  return SessionRunArgs{.fetches = {global_step_.output()}};
}

absl::Status StepCounterHook::AfterRun(SessionRunContext& context,
                                       const SessionRunValues& values) {
  const int64_t stale = GlobalStepValue(values.results[0]);
  WarnIfStuck(stale);
  if (!timer_.ShouldTriggerForStep(stale + 1)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int64_t step, global_step_.Read(context.session()));
  if (!timer_.ShouldTriggerForStep(step)) return absl::OkStatus();
  const auto elapsed = timer_.UpdateLastTriggeredStep(step);
  if (!elapsed.has_value() || elapsed->time <= absl::ZeroDuration()) {
    return absl::OkStatus();
  }
  LogAndRecord(static_cast<double>(elapsed->steps) /
                   absl::ToDoubleSeconds(elapsed->time),
               step);
  return absl::OkStatus();
}

void StepCounterHook::LogAndRecord(double steps_per_second, int64_t step) {
  const std::string tag = absl::StrCat(global_step_.name(), "/sec");
  logger_->Info(absl::StrFormat("%s: %g", tag, steps_per_second));
  if (writer_ == nullptr) return;
  writer_->AddScalar(tag, static_cast<float>(steps_per_second), step);
}

absl::Status StepCounterHook::AfterCreateSession(Session& session,
                                                 Coordinator& coordinator) {
  // A rate covers one session only, because the next one may begin at an
  // earlier step.
  timer_.Reset();
  last_step_.reset();
  return writer_ == nullptr ? absl::OkStatus()
                            : writer_->Open(session, coordinator);
}

void StepCounterHook::BeforeSessionDestroyed() {
  if (writer_ != nullptr) writer_->Close();
}

void StepCounterHook::WarnIfStuck(int64_t step) {
  num_equal_ = step == last_step_ ? num_equal_ + 1 : 0;
  last_step_ = step;
  if (num_equal_ != kStuckRuns) return;
  logger_->Warning(absl::StrCat(
      "It seems that global step (", global_step_.name(),
      ") has not been increased. Current value (could be stable): ", step,
      ". You could increase it by giving it to Minimize or ApplyGradients."));
}

// ---- LoggingTensorHook ----

LoggingTensorHook::LoggingTensorHook(LoggingTensorOptions options)
    : options_(std::move(options)),
      only_at_end_(options_.at_end && !options_.every_n_iter.has_value() &&
                   !options_.every_n_secs.has_value()),
      timer_(options_.every_n_secs, options_.every_n_iter, options_.clock),
      logger_(options_.logger) {}

absl::Status LoggingTensorHook::Begin(const Scope&) {
  for (const auto& [name, tensor] : options_.tensors) {
    if (tensor) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("The tensor to log as ", name, " is null."));
  }
  timer_.Reset();
  iteration_ = 0;
  if (only_at_end_) return absl::OkStatus();
  const absl::Status status = timer_.Check();
  if (status.ok()) return status;
  return absl::InvalidArgumentError(
      absl::StrCat("Either at_end and/or exactly one of every_n_iter and "
                   "every_n_secs must be provided. ",
                   status.message()));
}

std::vector<Output> LoggingTensorHook::Fetches() const {
  std::vector<Output> fetches;
  for (const auto& [name, tensor] : options_.tensors) fetches.push_back(tensor);
  return fetches;
}

absl::StatusOr<SessionRunArgs> LoggingTensorHook::BeforeRun(
    SessionRunContext&) {
  is_due_ = !only_at_end_ && timer_.ShouldTriggerForStep(iteration_);
  if (!is_due_) return SessionRunArgs();
  return SessionRunArgs{.fetches = Fetches()};
}

absl::Status LoggingTensorHook::AfterRun(SessionRunContext&,
                                         const SessionRunValues& values) {
  if (is_due_) LogTensors(values.results);
  ++iteration_;
  return absl::OkStatus();
}

absl::Status LoggingTensorHook::End(Session& session) {
  if (!options_.at_end) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto values, session.Run({}, Fetches()));
  LogTensors(values);
  return absl::OkStatus();
}

void LoggingTensorHook::LogTensors(absl::Span<const Tensor> values) {
  const auto elapsed = timer_.UpdateLastTriggeredStep(iteration_);
  if (options_.formatter) {
    logger_->Info(options_.formatter(values));
    return;
  }
  std::vector<std::string> stats;
  for (size_t i = 0; i < values.size(); ++i) {
    stats.push_back(
        absl::StrCat(options_.tensors[i].first, " = ", ValueText(values[i])));
  }
  std::string line = absl::StrJoin(stats, ", ");
  if (elapsed.has_value()) {
    absl::StrAppendFormat(&line, " (%.3f sec)",
                          absl::ToDoubleSeconds(elapsed->time));
  }
  logger_->Info(line);
}

// ---- NanTensorHook ----

NanTensorHook::NanTensorHook(Output loss, bool fail_on_nan_loss, Logger* logger)
    : loss_(loss), fail_on_nan_loss_(fail_on_nan_loss), logger_(logger) {}

absl::Status NanTensorHook::Begin(const Scope&) {
  if (loss_) return absl::OkStatus();
  return absl::InvalidArgumentError("The loss of a NanTensorHook is null.");
}

absl::StatusOr<SessionRunArgs> NanTensorHook::BeforeRun(SessionRunContext&) {
  return SessionRunArgs{.fetches = {loss_}};
}

absl::Status NanTensorHook::AfterRun(SessionRunContext& context,
                                     const SessionRunValues& values) {
  if (!HasNan(values.results[0])) return absl::OkStatus();
  constexpr absl::string_view kDiverged = "Model diverged with loss = NaN.";
  if (!fail_on_nan_loss_) {
    logger_->Warning(kDiverged);
    context.RequestStop();
    return absl::OkStatus();
  }
  logger_->Error(kDiverged);
  return absl::InvalidArgumentError(absl::StrCat(
      "NaN loss during training. The loss is ", loss_.name(), "."));
}

// ---- FeedFnHook ----

absl::StatusOr<SessionRunArgs> FeedFnHook::BeforeRun(SessionRunContext&) {
  SessionRunArgs args;
  ASSIGN_OR_RETURN(args.feeds, feed_fn_());
  return args;
}

// ---- GlobalStepWaiterHook ----

GlobalStepWaiterHook::GlobalStepWaiterHook(GlobalStepWaiterOptions options)
    : options_(options), logger_(options.logger) {}

absl::Status GlobalStepWaiterHook::Begin(const Scope& scope) {
  if (options_.poll_interval <= absl::ZeroDuration() ||
      options_.max_wait < absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("GlobalStepWaiterHook needs a positive poll_interval, and "
                     "a max_wait that is not negative, but they are ",
                     absl::FormatDuration(options_.poll_interval), " and ",
                     absl::FormatDuration(options_.max_wait)));
  }
  return global_step_.Find(scope, "GlobalStepWaiterHook");
}

absl::Status GlobalStepWaiterHook::AfterCreateSession(
    Session&, Coordinator& coordinator) {
  coordinator_ = &coordinator;
  return absl::OkStatus();
}

absl::StatusOr<SessionRunArgs> GlobalStepWaiterHook::BeforeRun(
    SessionRunContext& context) {
  if (!has_started_ && options_.wait_until_step > 0) {
    RETURN_IF_ERROR(Wait(context));
  }
  has_started_ = true;
  return SessionRunArgs();
}

absl::Status GlobalStepWaiterHook::Wait(const SessionRunContext& context) {
  Session& session = context.session();
  const std::string waiting =
      absl::StrCat("Waiting for global step ", options_.wait_until_step,
                   " before starting training.");
  logger_->Info(waiting);
  const Clock& clock = session.scheduler().clock();
  absl::Time deadline = clock.Now() + options_.max_wait;
  int64_t last_logged = 0;
  std::optional<int64_t> last_seen;
  while (true) {
    ASSIGN_OR_RETURN(const int64_t step, global_step_.Read(session));
    if (step >= options_.wait_until_step) return absl::OkStatus();
    if (last_seen.has_value() && step > *last_seen) {
      // Progress: others are training.
      deadline = clock.Now() + options_.max_wait;
    }
    last_seen = step;
    if (clock.Now() >= deadline) {
      return absl::DeadlineExceededError(absl::StrCat(
          waiting, " It has been ", step, " for ",
          absl::FormatDuration(options_.max_wait), ": are others training?"));
    }
    if (step - last_logged > kStepsALine) {
      logger_->Info(absl::StrCat(waiting, " Current step is ", step, "."));
      last_logged = step;
    }
    const absl::Duration left = deadline - clock.Now();
    if (PauseUnlessStopped(context, std::min(options_.poll_interval, left))) {
      return absl::CancelledError(
          absl::StrCat(waiting, " Training was asked to stop."));
    }
  }
}

// Waits for `left`, or until training stops. The coordinator wakes waiting
// hooks. A signal handler cannot do that, so stop requests are polled.
bool GlobalStepWaiterHook::PauseUnlessStopped(const SessionRunContext& context,
                                              absl::Duration left) {
  do {
    if (context.IsExitRequested()) return true;
    const absl::Duration pause = std::min(left, kLookForLeave);
    if (coordinator_->WaitForStop(pause)) return true;
    left -= pause;
  } while (left > absl::ZeroDuration());
  return false;
}

// ---- FinalOpsHook ----

absl::Status FinalOpsHook::End(Session& session) {
  auto values = session.Run(final_ops_.feeds, final_ops_.fetches,
                            final_ops_.targets, final_ops_.options);
  if (absl::IsOutOfRange(values.status())) {
    logger_->Error(
        "What FinalOpsHook runs has come to the end of the input: it depends "
        "on an input source, which it should not.");
  }
  RETURN_IF_ERROR(values.status());
  values_ = *std::move(values);
  return absl::OkStatus();
}

}  // namespace weft::train
