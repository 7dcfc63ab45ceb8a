#include "libs/train/sessions/coordinator.h"

#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/scheduler/thread_scheduler.h"
#include "libs/base/status.h"

namespace weft::train {
namespace {

// Creates a scheduler that starts a thread for each function at once, because
// the functions wait for each other.
std::unique_ptr<Scheduler> OwnScheduler(const Clock& clock) {
  return NewThreadScheduler(
      clock, {.compute_threads = 1,
              .max_blocking_threads = std::numeric_limits<int>::max(),
              .name = "train"});
}

std::string NameList(const std::map<uint64_t, std::string>& names) {
  return absl::StrJoin(names, ", ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.second);
  });
}

}  // namespace

Coordinator::Coordinator(CoordinatorOptions options)
    : options_(std::move(options)),
      own_scheduler_(options_.scheduler == nullptr ? OwnScheduler(clock_)
                                                   : nullptr),
      scheduler_(own_scheduler_ != nullptr ? *own_scheduler_
                                           : *options_.scheduler) {}

Coordinator::~Coordinator() {
  RequestStop();
  WaitFor(Change::kEnd, absl::InfiniteDuration());
}

void Coordinator::Start(std::string name,
                        absl::AnyInvocable<absl::Status()> body) {
  // Without threads, nothing would run the function, so this is an error.
  if (absl::Status threads = ThreadsStatus(scheduler_); !threads.ok()) {
    return RequestStop(Append(threads, absl::StrCat("to run ", name)));
  }
  uint64_t number = 0;
  {
    absl::MutexLock lock(&mutex_);
    number = ++last_number_;
    running_[number] = std::move(name);
  }
  scheduler_.Schedule(Pool::kBlocking,
                      [this, number, body = std::move(body)]() mutable {
                        const absl::Status status = body();
                        // A waiting thread may destroy its captures.
                        body = nullptr;
                        Ended(number, status);
                      });
}

void Coordinator::Ended(uint64_t number, const absl::Status& status) {
  absl::MutexLock lock(&mutex_);
  running_.erase(number);
  if (!status.ok()) RequestStopLocked(status);
  NotifyWaiters();
}

void Coordinator::RequestStop(absl::Status why) {
  absl::MutexLock lock(&mutex_);
  RequestStopLocked(why);
  NotifyWaiters();
}

void Coordinator::RequestStopLocked(const absl::Status& why) {
  if (should_stop_) return;
  should_stop_ = true;
  if (!absl::c_linear_search(options_.clean_stop_codes, why.code())) why_ = why;
}

// Must be called while the lock is held. Woken threads take the lock before
// they continue.
void Coordinator::NotifyWaiters() {
  for (Event* waiter : waiters_) waiter->Set();
}

bool Coordinator::ShouldStop() const {
  absl::MutexLock lock(&mutex_);
  return should_stop_;
}

absl::Status Coordinator::requested_error() const {
  absl::MutexLock lock(&mutex_);
  return why_;
}

void Coordinator::ClearStop() {
  absl::MutexLock lock(&mutex_);
  should_stop_ = false;
  why_ = absl::OkStatus();
}

std::string Coordinator::RunningThreads() const {
  absl::MutexLock lock(&mutex_);
  return NameList(running_);
}

bool Coordinator::WaitForStop(absl::Duration timeout) {
  return WaitFor(Change::kStop, timeout);
}

bool Coordinator::HasCome(Change change) const {
  return (change != Change::kEnd && should_stop_) ||
         (change != Change::kStop && running_.empty());
}

bool Coordinator::WaitFor(Change change, absl::Duration timeout) {
  const absl::Time deadline = scheduler_.clock().Now() + timeout;
  for (bool is_late = false;;) {
    const std::unique_ptr<Event> event = scheduler_.NewEvent();
    {
      absl::MutexLock lock(&mutex_);
      if (HasCome(change)) return true;
      if (is_late) return false;
      waiters_.push_back(event.get());
    }
    is_late = !event->WaitUntil(deadline);
    absl::MutexLock lock(&mutex_);
    std::erase(waiters_, event.get());
  }
}

absl::Status Coordinator::Join(const JoinOptions& options) {
  WaitFor(Change::kAny, absl::InfiniteDuration());
  WaitFor(Change::kEnd, options.stop_grace_period);
  absl::MutexLock lock(&mutex_);
  if (!why_.ok() || running_.empty() || options.ignore_live_threads) {
    return why_;
  }
  return absl::DeadlineExceededError(absl::StrCat(
      "Coordinator stopped with threads still running: ", NameList(running_),
      ". They have not ended ", absl::FormatDuration(options.stop_grace_period),
      " after they were asked to; they have to look at ShouldStop."));
}

}  // namespace weft::train
