#include "libs/train/sessions/hooked_session.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/train/sessions/session_manager.h"

namespace weft::train {
namespace {

// How long a session may take to close. All its waits are cancelled, except
// waits for files.
constexpr absl::Duration kLongestClose = absl::Minutes(2);

absl::Status AddFeeds(const FeedList& feeds, FeedList& all) {
  for (const auto& feed : feeds) {
    const Output& tensor = feed.first;
    const bool is_fed = absl::c_any_of(
        all, [&](const auto& other) { return other.first == tensor; });
    if (is_fed) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Same tensor is fed by a SessionRunHook and by another one, or by "
          "the user. Conflict: ",
          tensor ? tensor.name() : "a null output"));
    }
  }
  all.insert(all.end(), feeds.begin(), feeds.end());
  return absl::OkStatus();
}

// Combines options by TensorFlow's rules: the longest given timeout, and the
// union of requested metadata.
void AddOptions(const RunOptions& options, RunOptions& all) {
  all.trace_level = std::max(all.trace_level, options.trace_level);
  all.output_partition_graphs |= options.output_partition_graphs;
  if (options.timeout == absl::InfiniteDuration()) return;
  all.timeout = all.timeout == absl::InfiniteDuration()
                    ? options.timeout
                    : std::max(all.timeout, options.timeout);
}

}  // namespace

HookedSession::HookedSession(std::unique_ptr<Session> session, HookList hooks,
                             Scheduler* scheduler,
                             std::function<bool()> is_exit_requested)
    : session_(std::move(session)),
      hooks_(std::move(hooks)),
      is_exit_requested_(std::move(is_exit_requested)),
      coordinator_(std::make_unique<Coordinator>(
          CoordinatorOptions{.clean_stop_codes = {},
                             .is_exit_requested = is_exit_requested_,
                             .scheduler = scheduler})) {}

HookedSession::~HookedSession() = default;

absl::StatusOr<HookedSession::Asked> HookedSession::AskHooks(
    SessionRunContext& context) {
  Asked asked{context.original_args(), {}};
  asked.num_fetches.push_back(asked.all.fetches.size());
  for (const auto& hook : hooks_) {
    ASSIGN_OR_RETURN(const SessionRunArgs args, hook->BeforeRun(context));
    RETURN_IF_ERROR(AddFeeds(args.feeds, asked.all.feeds));
    absl::c_copy(args.fetches, std::back_inserter(asked.all.fetches));
    absl::c_copy(args.targets, std::back_inserter(asked.all.targets));
    AddOptions(args.options, asked.all.options);
    asked.num_fetches.push_back(args.fetches.size());
  }
  return asked;
}

absl::Status HookedSession::CallAfterRun(SessionRunContext& context,
                                         const Asked& asked,
                                         absl::Span<const Tensor> results,
                                         const RunMetadata& metadata) {
  for (const bool saves : {false, true}) {
    size_t begin = asked.num_fetches[0];
    for (size_t i = 0; i < hooks_.size(); ++i) {
      const size_t count = asked.num_fetches[i + 1];
      if (hooks_[i]->SavesCheckpoints() == saves) {
        const absl::Status told = hooks_[i]->AfterRun(
            context,
            {results.subspan(begin, count), asked.all.options, metadata});
        is_last_step_rejected_ =
            !saves && !told.ok() && !absl::IsOutOfRange(told);
        RETURN_IF_ERROR(told);
      }
      begin += count;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Tensor>> HookedSession::RunOnce(
    const SessionRunArgs& args, RunMetadata* metadata) {
  SessionRunContext context(args, *session_, is_exit_requested_);
  ASSIGN_OR_RETURN(const Asked asked, AskHooks(context));
  RunMetadata told;
  ASSIGN_OR_RETURN(std::vector<Tensor> results,
                   session_->Run(asked.all.feeds, asked.all.fetches,
                                 asked.all.targets, asked.all.options, &told));
  RETURN_IF_ERROR(CallAfterRun(context, asked, results, told));
  if (metadata != nullptr) *metadata = std::move(told);
  should_stop_ = should_stop_ || context.stop_requested();
  results.resize(args.fetches.size());
  return results;
}

absl::StatusOr<std::vector<Tensor>> HookedSession::Run(
    const SessionRunArgs& args, RunMetadata* metadata) {
  if (should_stop_) {
    return absl::FailedPreconditionError(
        "Run called even after should_stop requested.");
  }
  RETURN_IF_ERROR(coordinator_->requested_error());
  auto results = RunOnce(args, metadata);
  // If a thread has failed, its error is the cause. The run only reports that
  // its input did not arrive, or that the session was closed.
  const absl::Status cause = coordinator_->requested_error();
  if (results.ok() || cause.ok() || IsSessionLost(results.status())) {
    return results;
  }
  if (IsSessionLost(cause) || absl::IsCancelled(results.status()) ||
      absl::IsFailedPrecondition(results.status())) {
    return cause;
  }
  return results;
}

absl::Status HookedSession::JoinThreads(absl::Duration stop_grace_period,
                                        Logger& logger) {
  coordinator_->RequestStop();
  coordinator_->Join({.stop_grace_period = stop_grace_period}).IgnoreError();
  const std::string running = coordinator_->RunningThreads();
  if (!running.empty()) {
    logger.Error(absl::StrCat(
        "Coordinator stopped with threads still running: ", running,
        ". They were asked to stop ", absl::FormatDuration(stop_grace_period),
        " ago and are not waited for any longer. They have to look at "
        "ShouldStop; what they use stays until they end."));
  }
  return coordinator_->requested_error();
}

absl::Status HookedSession::CloseSession(Logger& logger) {
  Scheduler& scheduler = session_->scheduler();
  closing_ = std::make_shared<Closing>();
  closing_->done = scheduler.NewEvent();
  scheduler.Schedule(Pool::kUnbounded,
                     [session = session_.get(), closing = closing_] {
                       closing->status = session->Close();
                       closing->done->Set();
                     });
  if (closing_->done->WaitUntil(scheduler.clock().Now() + kLongestClose)) {
    return closing_->status;
  }
  logger.Error(absl::StrCat(
      "The session has not ended after ", absl::FormatDuration(kLongestClose),
      ", so it is abandoned. Check whether file systems of its tasks "
      "hang."));
  return absl::OkStatus();
}

void HookedSession::NotifySessionDestroyed() {
  for (const auto& hook : hooks_) hook->BeforeSessionDestroyed();
}

absl::Status HookedSession::Close(absl::Duration stop_grace_period,
                                  Logger& logger) {
  const absl::Status status = JoinThreads(stop_grace_period, logger);
  const absl::Status closed = CloseSession(logger);
  if (!closed.ok()) {
    logger.Info(absl::StrCat("The session was gone when it was closed: ",
                             closed.message()));
  }
  NotifySessionDestroyed();
  return status;
}

void HookedSession::Abandon(absl::Duration stop_grace_period, Logger& logger) {
  CloseSession(logger).IgnoreError();  // the session is lost
  JoinThreads(stop_grace_period, logger).IgnoreError();
  NotifySessionDestroyed();
}

}  // namespace weft::train
