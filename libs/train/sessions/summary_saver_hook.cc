#include "libs/train/sessions/summary_saver_hook.h"

#include <string>
#include <utility>

#include "libs/base/status.h"
#include "libs/train/optimizers/global_step.h"

namespace weft::train {

SummarySaverHook::SummarySaverHook(SummarySaverOptions options)
    : options_(std::move(options)),
      timer_(options_.save_secs, options_.save_steps, options_.clock) {}

absl::Status SummarySaverHook::Begin(const Scope& scope) {
  if (options_.writer == nullptr) {
    return absl::InvalidArgumentError("A SummarySaverHook needs a writer.");
  }
  if (bool{options_.summary_op} == (options_.scaffold != nullptr)) {
    return absl::InvalidArgumentError(
        "Exactly one of scaffold or summary_op must be provided.");
  }
  RETURN_IF_ERROR(timer_.Check());
  return global_step_.Find(scope, "SummarySaverHook");
}

absl::Status SummarySaverHook::AfterCreateSession(Session& session,
                                                  Coordinator& coordinator) {
  next_step_.reset();
  timer_.Reset();
  return options_.writer->Open(session, coordinator);
}

absl::StatusOr<SessionRunArgs> SummarySaverHook::BeforeRun(SessionRunContext&) {
  is_due_ = !next_step_.has_value() || timer_.ShouldTriggerForStep(*next_step_);
  SessionRunArgs args{.fetches = {global_step_.output()}};
  const Output summary = options_.summary_op ? options_.summary_op
                                             : options_.scaffold->summary_op();
  if (is_due_ && summary) args.fetches.push_back(summary);
  return args;
}

absl::Status SummarySaverHook::AfterRun(SessionRunContext& context,
                                        const SessionRunValues& values) {
  int64_t step = GlobalStepValue(values.results[0]) + 1;
  if (is_due_) {
    ASSIGN_OR_RETURN(step, global_step_.Read(context.session()));
  }
  if (!next_step_.has_value()) {
    options_.writer->AddSessionLog(
        {.status = summary::SessionLog::Status::kStart}, step);
  }
  if (is_due_) {
    timer_.UpdateLastTriggeredStep(step);
    if (values.results.size() > 1) {
      if (values.results[1].dtype() != DT_STRING) {
        return absl::InvalidArgumentError(
            "A summary_op gives summaries, so strings.");
      }
      for (const std::string& summary : values.results[1].flat<std::string>()) {
        options_.writer->AddSummary(summary, step);
      }
    }
  }
  next_step_ = step + 1;
  return absl::OkStatus();
}

absl::Status SummarySaverHook::End(Session&) {
  options_.writer->Flush();
  return absl::OkStatus();
}

void SummarySaverHook::BeforeSessionDestroyed() { options_.writer->Close(); }

}  // namespace weft::train
