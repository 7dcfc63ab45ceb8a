#include "libs/master/partial_run.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/async/cancellation_link.h"
#include "libs/base/async/join.h"
#include "libs/base/hash_tables.h"
#include "libs/base/status.h"
#include "libs/passes/prune.h"

namespace weft {
namespace {

// Checks the numbers of feeds or fetches that a call names against `turns`.
absl::Status CheckUnused(absl::Span<const int> indices,
                         const std::vector<bool>& turns, absl::string_view what,
                         absl::string_view had) {
  FlatHashSet<int> seen;
  for (const int index : indices) {
    if (index < 0 || static_cast<size_t>(index) >= turns.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("The partial run has no ", what, " ", index, "."));
    }
    if (turns[index] || !seen.insert(index).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "The ", what, " ", index, " has already been ", had, "."));
    }
  }
  return absl::OkStatus();
}

}  // namespace

// A call of a partial run, until its `done`.
struct PartialRun::Call {
  uint64_t number = 0;
  Scheduler* scheduler = nullptr;
  protocol::Master::Done done;
  bool is_last = false;
  Join join;  // joins the fetches of the call
  absl::Status fetched;
  std::shared_ptr<Cancellation> step;  // null if the step had already ended
  CancellationLink caller_gone;
  Scheduler::TimerId timer = 0;
};

void PartialRun::StepBegins(std::shared_ptr<Cancellation> step) {
  absl::MutexLock lock(&mutex_);
  step_ = std::move(step);
}

int64_t PartialRun::StepEnds(const absl::Status& status) {
  std::vector<CallPtr> waiting;
  int64_t fed_bytes = 0;
  std::shared_ptr<const void> kept_open;  // released without the lock
  {
    absl::MutexLock lock(&mutex_);
    kept_open.swap(keeps_open_);
    ended_ = status;
    step_ = nullptr;
    waiting.swap(waiting_);
    fed_bytes = std::exchange(fed_bytes_, 0);
  }
  // The values of a successful step that no call has taken yet stay available.
  if (!status.ok()) client_->Abort(status);
  for (const CallPtr& call : waiting) EndWithStep(call, status);
  return fed_bytes;
}

void PartialRun::EndCall(const CallPtr& call, absl::Status status) {
  call->caller_gone.End();
  if (call->timer != 0) call->scheduler->CancelTimer(call->timer);
  absl::Status why;
  {
    absl::MutexLock lock(&mutex_);
    under_way_.erase(call->number);
    if (under_way_.empty()) why = cancel_when_idle_;
  }
  if (!why.ok()) Cancel(why);
  call->done(std::move(status));
}

void PartialRun::EndWithStep(const CallPtr& call, const absl::Status& ended) {
  EndCall(call, ended.ok() ? call->fetched : ended);
}

std::optional<uint64_t> PartialRun::OldestCall() const {
  absl::MutexLock lock(&mutex_);
  if (under_way_.empty()) return std::nullopt;
  return *under_way_.begin();
}

void PartialRun::CancelWhenIdle(const absl::Status& why) {
  {
    absl::MutexLock lock(&mutex_);
    cancel_when_idle_ = why;
    if (!under_way_.empty()) return;
  }
  Cancel(why);
}

void PartialRun::Cancel(const absl::Status& why) {
  std::shared_ptr<Cancellation> step;
  {
    absl::MutexLock lock(&mutex_);
    step = step_;
  }
  if (step != nullptr) step->Cancel(why);
}

absl::Status PartialRun::Check(const protocol::CallableRun& run) const {
  if (run.feeds.size() != run.feed_indices.size() ||
      run.fetches.size() != run.fetch_indices.size()) {
    return absl::InvalidArgumentError(
        "A call of a partial run has to say which feed each value is for, and "
        "which fetches it wants.");
  }
  RETURN_IF_ERROR(CheckUnused(run.feed_indices, fed_, "feed", "fed"));
  RETURN_IF_ERROR(CheckUnused(run.fetch_indices, fetched_, "fetch", "fetched"));
  for (size_t i = 0; i < run.feeds.size(); ++i) {
    const DataType type = feed_types_[run.feed_indices[i]];
    if (run.feeds[i].dtype() == type) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "The feed ", run.feed_indices[i], " takes ", DataTypeName(type),
        ", but ", DataTypeName(run.feeds[i].dtype()), " is provided."));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> PartialRun::Take(const protocol::CallableRun& run,
                                      int64_t fed_bytes, uint64_t number) {
  absl::MutexLock lock(&mutex_);
  if (ended_.has_value()) RETURN_IF_ERROR(*ended_);
  RETURN_IF_ERROR(Check(run));
  for (const int feed : run.feed_indices) fed_[feed] = true;
  for (const int fetch : run.fetch_indices) fetched_[fetch] = true;
  fed_bytes_ += fed_bytes;
  under_way_.insert(number);
  const auto has_all = [](const std::vector<bool>& turns) {
    return std::find(turns.begin(), turns.end(), false) == turns.end();
  };
  return has_all(fed_) && has_all(fetched_);
}

absl::Status PartialRun::Run(const protocol::CallableRun& run,
                             int64_t fed_bytes, absl::Time deadline,
                             uint64_t number, Scheduler& scheduler,
                             protocol::Master::Done& done) {
  ASSIGN_OR_RETURN(const bool is_last, Take(run, fed_bytes, number));
  auto call = std::make_shared<Call>();
  call->number = number;
  call->scheduler = &scheduler;
  call->done = std::move(done);
  call->is_last = is_last;
  {
    absl::MutexLock lock(&mutex_);
    call->step = step_;
  }
  if (call->step != nullptr) {
    call->caller_gone.Begin(run.cancellation, call->step);
    Limit(call, deadline, run.timeout);
  }
  const int num_fetches = static_cast<int>(run.fetches.size());
  // Counts one more than there are fetches, so that the call does not end in
  // this loop.
  call->join.Begin(num_fetches + 1);
  absl::Status fed;
  for (size_t i = 0; i < run.feeds.size() && fed.ok(); ++i) {
    fed = client_->Send({.edge = FeedEdge(run.feed_indices[i])}, run.feeds[i],
                        /*is_dead=*/false);
  }
  for (int i = 0; i < num_fetches; ++i) {
    Fetch(call, run.fetch_indices[i], run.fetches[i]);
  }
  PartDone(call, fed);
  return absl::OkStatus();
}

void PartialRun::Limit(const CallPtr& call, absl::Time deadline,
                       absl::Duration timeout) {
  if (deadline == absl::InfiniteFuture()) return;
  const absl::Status late = absl::DeadlineExceededError(
      absl::StrCat("Timed out after ", absl::FormatDuration(timeout),
                   " in a call of a partial run."));
  call->timer = call->scheduler->ScheduleAt(
      Pool::kControl, deadline,
      [step = call->step, late] { step->Cancel(late); });
}

void PartialRun::Fetch(const CallPtr& call, int fetch, Tensor& to) {
  client_->Receive(
      {.edge = FetchEdge(fetch)},
      [self = shared_from_this(), call, fetch, &to](
          absl::Status status, Tensor tensor, bool is_dead) {
        if (status.ok() && is_dead) {
          status = absl::InvalidArgumentError(absl::StrCat(
              "Fetch ", fetch,
              " does not have value: it lies on a branch that was not taken."));
        }
        if (status.ok()) to = std::move(tensor);
        self->PartDone(call, status);
      });
}

void PartialRun::PartDone(const CallPtr& call, const absl::Status& status) {
  if (!call->join.EndPart(status)) return;
  call->fetched = call->join.TakeError();
  if (call->fetched.ok() && !call->is_last) return EndCall(call, call->fetched);
  // If a fetch failed, the others cannot all be taken, and the step would run
  // forever.
  if (!call->fetched.ok() && call->step != nullptr) {
    call->step->Cancel(call->fetched);
  }
  WaitForEnd(call);
}

void PartialRun::WaitForEnd(const CallPtr& call) {
  absl::Status ended;
  {
    absl::MutexLock lock(&mutex_);
    if (!ended_.has_value()) {
      waiting_.push_back(call);
      return;
    }
    ended = *ended_;
  }
  EndWithStep(call, ended);
}

}  // namespace weft
