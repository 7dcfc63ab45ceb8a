#include "libs/master/master_session_step.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/trace/clock_offset.h"
#include "libs/trace/device_trace.h"

namespace weft {
namespace {

// The maximum size of the traces of all tasks of a step. It is well below the
// limit of a message, beyond which the run would fail.
constexpr size_t kMaxTraceBytes = size_t{512} << 20;

// Returns a list of some of the names, for a log line.
std::string List(const std::vector<std::string>& names) {
  constexpr size_t kMost = 5;
  if (names.size() <= kMost) {
    return absl::StrCat("[", absl::StrJoin(names, ", "), "]");
  }
  const absl::Span<const std::string> first(names.data(), kMost);
  return absl::StrCat("[", absl::StrJoin(first, ", "), " and ",
                      names.size() - kMost, " more]");
}

}  // namespace

void MasterSession::Step::NoteBegan(SessionMetrics* metrics,
                                    const Clock& clock) {
  metrics_ = metrics;
  if (metrics_ == nullptr) return;
  metrics_->steps_begun.Add();
  began_ = clock.Now();
}

void MasterSession::Step::NoteEnded(const Clock& clock,
                                    const absl::Status& status) {
  SessionMetrics* const metrics = std::exchange(metrics_, nullptr);
  if (metrics == nullptr) return;
  if (!status.ok()) metrics->step_errors.Add();
  metrics->step_seconds.Observe(clock.Now() - began_);
}

void MasterSession::Step::ArmTimer(absl::Time deadline,
                                   absl::Duration timeout) {
  if (deadline == absl::InfiniteFuture()) return;
  std::string text = absl::StrCat(
      "Timed out after ", absl::FormatDuration(timeout), " while running [",
      absl::StrJoin(callable_->spec.fetches, ", "), "] with targets [",
      absl::StrJoin(callable_->spec.targets, ", "), "].");
  timer_ = session_->options_.scheduler->ScheduleAt(
      Pool::kControl, deadline,
      [cancellation = cancellation_, text = std::move(text)] {
        cancellation->Cancel(absl::DeadlineExceededError(text));
      });
}

void MasterSession::Step::ArmHoldTimer(absl::Time deadline,
                                       const absl::Status& why) {
  hold_timer_ = session_->options_.scheduler->ScheduleAt(
      Pool::kControl, deadline,
      [cancellation = cancellation_, why] { cancellation->Cancel(why); });
}

void MasterSession::Step::Run(const protocol::CallableRun& run,
                              protocol::Master::Done done) {
  done_ = std::move(done);
  const int num_parts = static_cast<int>(callable_->parts.size());
  // Counts one more than there are parts, so that the step outlives this loop.
  join_.Begin(num_parts + 1);
  if (run.metadata != nullptr && run.wanted.step_stats()) {
    metadata_ = run.metadata;
    traced_.resize(num_parts);
  }
  more_finished_.below = 0;
  const uint64_t finished_below = session_->steps_.FindFinished(more_finished_);
  for (int i = 0; i < num_parts; ++i) RunPart(i, run, finished_below);
  PartDone(absl::OkStatus());
}

void MasterSession::Step::RunPart(int part, const protocol::CallableRun& run,
                                  uint64_t finished_below) {
  const Callable::Part& to = callable_->parts[part];
  const bool is_last = part + 1 == static_cast<int>(callable_->parts.size());
  protocol::PartitionTrace* trace = nullptr;
  if (metadata_ != nullptr) {
    trace = &traced_[part].trace;
    traced_[part].asked = session_->options_.scheduler->clock().Now();
  }
  to.worker->Run(
      {.session = session_->id_,
       .registration = callable_->id,
       .step = id_,
       .steps_finished_below = finished_below,
       .more_finished = more_finished_.below > 0 ? &more_finished_ : nullptr,
       .feeds = run.feeds,
       .fetches = run.fetches,
       .feed_indices = to.feeds,
       .fetch_indices = to.fetches,
       .cancellation = cancellation_,
       .thread = is_last ? run.thread : protocol::CallingThread::kOther,
       .client = to.task == session_->options_.task ? client_ : nullptr,
       .trace = trace},
      [this, part](absl::Status status) {
        PartAnswered(part, std::move(status));
      });
}

void MasterSession::Step::PartAnswered(int part, absl::Status status) {
  parts_[part].store(status.ok() ? PartState::kEndedWell : PartState::kFailed,
                     std::memory_order_relaxed);
  if (metadata_ != nullptr) {
    traced_[part].answered = session_->options_.scheduler->clock().Now();
  }
  const Callable::Part& from = callable_->parts[part];
  if (absl::IsResourceExhausted(status) &&
      from.task != session_->options_.task) {
    status = callable_->NameEnds(from, status);
  }
  const std::string& nodes = callable_->parts[part].nodes;
  // A lost task cannot report which nodes it ran, so they are named here.
  if (absl::IsUnavailable(status) && !IsDerived(status) && !nodes.empty() &&
      !absl::StrContains(status.message(), "[[node ")) {
    status = Append(status, nodes);
  }
  PartDone(std::move(status));
}

SlowStep MasterSession::Step::Describe(
    const protocol::WorkerSession& session) const {
  SlowStep slow{
      .session = session.session,
      .step = {session.master_incarnation, id_},
      .what = absl::StrCat("fetches ", List(callable_->spec.fetches),
                           ", targets ", List(callable_->spec.targets)),
      .awaits_variables = callable_->awaits_variables};
  for (size_t i = 0; i < callable_->parts.size(); ++i) {
    if (parts_[i].load(std::memory_order_relaxed) != PartState::kRuns) continue;
    const Callable::Part& part = callable_->parts[i];
    slow.unanswered.emplace_back(part.task, part.worker);
  }
  return slow;
}

void MasterSession::Step::PartDone(absl::Status status) {
  if (!status.ok()) {
    join_.AddError(status);
    cancellation_->Cancel(MarkDerived(std::move(status)));
  }
  if (!join_.EndPart()) return;
  caller_gone_.End();
  absl::Status result = join_.TakeError();
  // If every part only reports the abort, the abort's cause is the reason.
  if (IsDerived(result)) {
    const absl::Status cause = cancellation_->status();
    if (!cause.ok() && !IsDerived(cause)) result = cause;
  }
  if (!result.ok()) AbortPartsThatEndedWell(result);
  EndTrace(/*is_wanted=*/result.ok());
  std::shared_ptr<MasterSession> session = session_;
  session->EndStep(std::unique_ptr<Step>(this), std::move(result));
}

void MasterSession::Step::AbortPartsThatEndedWell(const absl::Status& cause) {
  const protocol::StepId step = {session_->id_.master_incarnation, id_};
  const uint64_t finished_below = session_->steps_.finished_below();
  for (size_t i = 0; i < callable_->parts.size(); ++i) {
    if (parts_[i].load(std::memory_order_relaxed) != PartState::kEndedWell) {
      continue;
    }
    callable_->parts[i].worker->Abort(step, finished_below, MarkDerived(cause),
                                      [](const absl::Status&) {});
  }
}

void MasterSession::Step::EndTrace(bool is_wanted) {
  if (metadata_ == nullptr) return;
  for (TracedPart& part : traced_) {
    if (!is_wanted) break;
    part.trace.stats.Shift(absl::ToInt64Nanoseconds(EstimateClockOffset(
        {.sent = part.asked,
         .received_there = part.trace.begun,
         .answered_there = part.trace.ended,
         .answered = part.trace.answered.value_or(part.answered)})));
    metadata_->step_stats.Add(std::move(part.trace.stats));
  }
  // This limits only the number of devices, because the trace of each device
  // has a limit of its own.
  StepStats& stats = metadata_->step_stats;
  if (stats.dev_stats.size() > kMaxTraceBytes / DeviceTrace::kMaxBytes) {
    stats.Limit(kMaxTraceBytes);
  }
  traced_.clear();
  metadata_ = nullptr;
}

protocol::Master::Done MasterSession::Step::Release(Scheduler& scheduler) {
  caller_gone_.End();
  for (Scheduler::TimerId* timer : {&timer_, &hold_timer_}) {
    if (*timer != 0) scheduler.CancelTimer(*timer);
    *timer = 0;
  }
  session_.reset();
  client_.reset();
  return std::move(done_);
}

}  // namespace weft
