#include "libs/base/simulated_scheduler.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace weft {

// A closure that may run now.
struct SimulatedScheduler::Task {
  uint64_t id = 0;
  Closure closure;
};

// Somebody who waits: for an event, or (event null) in AdvanceBy.
struct SimulatedScheduler::Waiter {
  uint64_t id = 0;
  SimulatedEvent* event = nullptr;
  absl::Time deadline;
  bool given_up = false;
  bool granted = false;  // it is this one's turn
  absl::CondVar turn;
};

// A thread that lends its stack to closures.
struct SimulatedScheduler::Carrier {
  Task task;
  bool granted = false;
  bool stop = false;
  absl::CondVar turn;
  std::thread thread;
};

class SimulatedScheduler::SimulatedEvent : public Event {
 public:
  SimulatedEvent(SimulatedScheduler* scheduler, uint64_t id)
      : scheduler_(scheduler), id_(id) {}

  void Set() override {
    absl::MutexLock lock(&scheduler_->mutex_);
    set_ = true;
  }
  bool IsSet() const override {
    absl::MutexLock lock(&scheduler_->mutex_);
    return set_;
  }
  bool WaitUntil(absl::Time deadline) override {
    return scheduler_->Wait(this, deadline);
  }

  uint64_t id() const { return id_; }
  bool set_with_lock() const { return set_; }

 private:
  SimulatedScheduler* const scheduler_;
  const uint64_t id_;
  bool set_ = false;  // guarded by scheduler_->mutex_
};

SimulatedScheduler::SimulatedScheduler(ManualClock& clock,
                                       SimulatedSchedulerOptions options)
    : clock_(clock),
      options_(std::move(options)),
      random_(NewSeededRandom(options_.seed)) {}

SimulatedScheduler::~SimulatedScheduler() {
  absl::btree_map<TimerKey, Closure> dropped;
  std::vector<std::unique_ptr<Carrier>> carriers;
  bool waiting = true;
  while (waiting) {
    RunUntilIdle();
    absl::MutexLock lock(&mutex_);
    dropped.swap(timers_);
    waiting = !waiters_.empty();
    GiveUpWaits();
  }
  {
    absl::MutexLock lock(&mutex_);
    carriers.swap(carriers_);
    for (auto& carrier : carriers) {
      carrier->stop = true;
      carrier->turn.Signal();
    }
  }
  for (auto& carrier : carriers) carrier->thread.join();
}

void SimulatedScheduler::Schedule(Pool, Closure closure) {
  absl::MutexLock lock(&mutex_);
  ready_.push_back({next_id_++, std::move(closure)});
}

Scheduler::TimerId SimulatedScheduler::ScheduleAt(absl::Time when,
                                                  Closure closure) {
  absl::MutexLock lock(&mutex_);
  const TimerId id = next_id_++;
  timers_.emplace(TimerKey(when, id), std::move(closure));
  return id;
}

bool SimulatedScheduler::CancelTimer(TimerId id) {
  Closure dropped;  // destroyed after the lock is released
  absl::MutexLock lock(&mutex_);
  for (auto it = timers_.begin(); it != timers_.end(); ++it) {
    if (it->first.second != id) continue;
    dropped = std::move(it->second);
    timers_.erase(it);
    return true;
  }
  return false;
}

std::unique_ptr<Event> SimulatedScheduler::NewEvent() {
  absl::MutexLock lock(&mutex_);
  return std::make_unique<SimulatedEvent>(this, next_id_++);
}

void SimulatedScheduler::ParallelFor(
    int64_t total, int64_t min_range,
    const std::function<void(int64_t, int64_t)>& work) {
  if (total <= 0) return;
  const int64_t num_ranges =
      std::clamp<int64_t>(total / std::max<int64_t>(1, min_range), 1,
                          int64_t{4} * options_.compute_threads);
  std::vector<int64_t> order(num_ranges);
  for (int64_t i = 0; i < num_ranges; ++i) {
    order[i] = i;
    std::swap(order[i], order[random_->Next() % (i + 1)]);
  }
  const int64_t size = total / num_ranges;
  const int64_t longer = total % num_ranges;
  for (int64_t i : order) {
    const int64_t begin = i * size + std::min(i, longer);
    work(begin, begin + size + (i < longer ? 1 : 0));
  }
}

void SimulatedScheduler::AdvanceBy(absl::Duration duration) {
  Waiter waiter;
  absl::MutexLock lock(&mutex_);
  waiter.deadline = clock_.Now() + duration;
  idle_ = &waiter;
  LetOthersRun(&waiter);
  idle_ = nullptr;
}

uint64_t SimulatedScheduler::trace_hash() const {
  absl::MutexLock lock(&mutex_);
  return trace_hash_;
}

int64_t SimulatedScheduler::num_steps() const {
  absl::MutexLock lock(&mutex_);
  return num_steps_;
}

bool SimulatedScheduler::Wait(SimulatedEvent* event, absl::Time deadline) {
  Waiter waiter;
  absl::MutexLock lock(&mutex_);
  if (event->set_with_lock()) return true;
  if (deadline <= clock_.Now()) return false;
  waiter.id = next_id_++;
  waiter.event = event;
  waiter.deadline = deadline;
  waiters_.push_back(&waiter);
  LetOthersRun(&waiter);
  waiters_.erase(std::find(waiters_.begin(), waiters_.end(), &waiter));
  return event->set_with_lock();
}

void SimulatedScheduler::LetOthersRun(Waiter* waiter) {
  Task task;
  if (Choose(&task)) StartOnCarrier(std::move(task));
  while (!waiter->granted) waiter->turn.Wait(&mutex_);
}

bool SimulatedScheduler::IsReady(const Waiter& waiter) const {
  return waiter.given_up || waiter.event->set_with_lock() ||
         waiter.deadline <= clock_.Now();
}

std::vector<SimulatedScheduler::Waiter*> SimulatedScheduler::ReadyWaiters()
    const {
  std::vector<Waiter*> result;
  for (Waiter* waiter : waiters_) {
    if (IsReady(*waiter)) result.push_back(waiter);
  }
  return result;
}

bool SimulatedScheduler::Choose(Task* task) {
  MoveTimeTo(clock_.Now());
  while (ready_.empty() && ReadyWaiters().empty()) {
    const absl::Time next = NextTime();
    if (idle_ != nullptr && next > idle_->deadline) {
      MoveTimeTo(idle_->deadline);
      Grant(idle_);
      return false;
    }
    if (next == absl::InfiniteFuture()) {
      ReportDeadlock();
    } else {
      MoveTimeTo(next);
    }
  }
  return ChooseAmongReady(task);
}

bool SimulatedScheduler::ChooseAmongReady(Task* task) {
  const std::vector<Waiter*> waiters = ReadyWaiters();
  const size_t choice = random_->Next() % (ready_.size() + waiters.size());
  ++num_steps_;
  if (choice >= ready_.size()) {
    Waiter* waiter = waiters[choice - ready_.size()];
    Trace(waiter->id);
    Grant(waiter);
    return false;
  }
  *task = std::move(ready_[choice]);
  ready_.erase(ready_.begin() + choice);
  Trace(task->id);
  return true;
}

void SimulatedScheduler::Grant(Waiter* waiter) {
  waiter->granted = true;
  waiter->turn.Signal();
}

absl::Time SimulatedScheduler::NextTime() const {
  absl::Time next = absl::InfiniteFuture();
  if (!timers_.empty()) next = timers_.begin()->first.first;
  for (const Waiter* waiter : waiters_) {
    next = std::min(next, waiter->deadline);
  }
  return next;
}

void SimulatedScheduler::MoveTimeTo(absl::Time when) {
  if (when > clock_.Now()) {
    clock_.Advance(when - clock_.Now());
    Trace(static_cast<uint64_t>(absl::ToUnixNanos(when)));
  }
  while (!timers_.empty() && timers_.begin()->first.first <= clock_.Now()) {
    auto due = timers_.begin();
    ready_.push_back({due->first.second, std::move(due->second)});
    timers_.erase(due);
  }
}

void SimulatedScheduler::StartOnCarrier(Task task) {
  Carrier* carrier = nullptr;
  if (free_carriers_.empty()) {
    carriers_.push_back(std::make_unique<Carrier>());
    carrier = carriers_.back().get();
    carrier->thread = std::thread([this, carrier] { RunCarrier(carrier); });
  } else {
    carrier = free_carriers_.back();
    free_carriers_.pop_back();
  }
  carrier->task = std::move(task);
  carrier->granted = true;
  carrier->turn.Signal();
}

void SimulatedScheduler::RunCarrier(Carrier* carrier) {
  absl::MutexLock lock(&mutex_);
  while (true) {
    while (!carrier->granted && !carrier->stop) carrier->turn.Wait(&mutex_);
    if (!carrier->granted) return;
    Task task = std::move(carrier->task);
    carrier->granted = false;
    do {
      mutex_.Unlock();
      task.closure();
      task.closure = nullptr;
      mutex_.Lock();
    } while (Choose(&task));
    free_carriers_.push_back(carrier);
  }
}

void SimulatedScheduler::GiveUpWaits() {
  for (Waiter* waiter : waiters_) waiter->given_up = true;
}

void SimulatedScheduler::ReportDeadlock() {
  const std::string report = DeadlockReport();
  if (!options_.on_deadlock) {
    std::fprintf(stderr, "%s\n", report.c_str());
    std::abort();
  }
  options_.on_deadlock(report);
  GiveUpWaits();
}

std::string SimulatedScheduler::DeadlockReport() const {
  std::string report = absl::StrCat(
      "Simulated deadlock with seed ", options_.seed, " after ", num_steps_,
      " steps: nothing is scheduled, no timer is armed, and ", waiters_.size(),
      " wait without a deadline, for events (numbered in the order of ",
      "NewEvent, Schedule, ScheduleAt and Wait):");
  for (const Waiter* waiter : waiters_) {
    absl::StrAppend(&report, " ", waiter->event->id());
  }
  return report;
}

// FNV-1a, eight bytes at a time.
void SimulatedScheduler::Trace(uint64_t value) {
  trace_hash_ = (trace_hash_ ^ value) * 0x100000001b3;
}

}  // namespace weft
