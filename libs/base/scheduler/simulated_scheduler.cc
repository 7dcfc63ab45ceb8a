#include "libs/base/scheduler/simulated_scheduler.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "absl/base/config.h"
#include "absl/strings/str_cat.h"
#include "libs/base/scheduler/deadlock_detector.h"
#include "libs/base/scheduler/futex.h"

namespace weft {
namespace {

#ifdef ABSL_HAVE_THREAD_SANITIZER
constexpr bool kUnderThreadSanitizer = true;
#else
constexpr bool kUnderThreadSanitizer = false;
#endif

// The percentage of interruptions at a mutex in focus that last for some
// simulated time.
constexpr uint64_t kStalledInFocus = 50;

// Turn lets a thread wait while another thread runs.
class Turn {
 public:
  // Lets the waiting thread continue. That thread sees everything that the
  // calling thread did before.
  void Give() {
    given_.store(1, std::memory_order_release);
    FutexWake(given_, 1);
  }
  void Await() {
    while (given_.exchange(0, std::memory_order_acquire) == 0) {
      FutexWait(given_, 0);
    }
  }

 private:
  std::atomic<uint32_t> given_{0};
};

}  // namespace

// Task is a closure that may run now.
struct SimulatedScheduler::Task {
  uint64_t id = 0;
  Part* part = nullptr;
  Pool pool = Pool::kCompute;
  Closure closure;
};

// Waiter is a thread that is not running.
struct SimulatedScheduler::Waiter {
  enum class For { kEvent, kMutex, kSignal, kTurn, kIdle };

  bool IsLate() const { return what == For::kTurn && is_last; }

  For what = For::kTurn;
  uint64_t id = 0;
  Part* part = nullptr;
  SimulatedEvent* event = nullptr;
  const void* object = nullptr;  // the mutex or condition variable
  absl::Time deadline = absl::InfiniteFuture();
  bool is_last = false;
  // Whether the mutex was released or the condition variable was signalled.
  bool is_done = false;
  bool given_up = false;
  Turn turn;
};

// Carrier is a thread on whose stack closures run.
struct SimulatedScheduler::Carrier {
  Task task;
  bool stop = false;
  Turn turn;
  std::thread thread;
};

class SimulatedScheduler::SimulatedEvent : public Event {
 public:
  SimulatedEvent(SimulatedScheduler* scheduler, uint64_t id)
      : scheduler_(scheduler), id_(id) {}

  // Another thread may destroy the event during Point, so Point comes last.
  void Set() override {
    is_set_ = true;
    scheduler_->Point();
  }
  bool IsSet() const override { return is_set_; }
  bool WaitUntil(absl::Time deadline) override {
    return scheduler_->Wait(this, deadline);
  }

  uint64_t id() const { return id_; }

 private:
  SimulatedScheduler* const scheduler_;
  const uint64_t id_;
  bool is_set_ = false;
};

void SimulatedScheduler::Part::Stop() {
  if (!is_stopped_) ++all_.num_stopped_;
  is_stopped_ = true;
}

void SimulatedScheduler::Part::Resume() {
  if (is_stopped_) --all_.num_stopped_;
  is_stopped_ = false;
}

SimulatedScheduler::SimulatedScheduler(ManualClock& clock,
                                       SimulatedSchedulerOptions options)
    : clock_(clock),
      options_(std::move(options)),
      threads_(options_.pools),
      observer_before_(LockObserver::OfThisThread()),
      random_(NewSeededRandom(options_.seed)) {
  TurnOffDeadlockDetectorInOptimizedBuilds();
  LockObserver::OfThisThread() = this;
}

SimulatedScheduler::~SimulatedScheduler() {
  set_yields({});
  std::map<TimerKey, Task> dropped;
  bool waiting = true;
  while (waiting) {
    RunUntilIdle();
    dropped.swap(timers_);
    waiting = !waiters_.empty();
    GiveUpWaits();
  }
  for (auto& carrier : carriers_) {
    carrier->stop = true;
    carrier->turn.Give();
  }
  for (auto& carrier : carriers_) carrier->thread.join();
  LockObserver::OfThisThread() = observer_before_;
}

std::unique_ptr<SimulatedScheduler::Part> SimulatedScheduler::NewPart(
    const SimulatedPools& pools) {
  return std::make_unique<Part>(*this, pools);
}

int SimulatedScheduler::PoolThreads::LimitOf(Pool pool) const {
  switch (pool) {
    case Pool::kCompute:
      return limits_.compute;
    case Pool::kControl:
      return limits_.control;
    case Pool::kGraph:
      return limits_.graph;
    case Pool::kBlocking:
      return limits_.blocking;
    case Pool::kUnbounded:
      break;
  }
  return limits_.own;
}

SimulatedScheduler::PoolThreads& SimulatedScheduler::ThreadsOf(Part* part) {
  return part == nullptr ? threads_ : part->threads_;
}

void SimulatedScheduler::set_yields(const SimulatedYields& yields) {
  if (!kUnderThreadSanitizer) yields_ = yields;
  points_until_yield_ = 0;
  if (yields_.one_in > 0) DrawNextYield();
}

void SimulatedScheduler::Schedule(Pool pool, Closure closure) {
  ScheduleFor(nullptr, pool, std::move(closure));
}

void SimulatedScheduler::ScheduleFor(Part* part, Pool pool, Closure closure) {
  ready_.push_back({next_id_++, part, pool, std::move(closure)});
  Point();
}

Scheduler::TimerId SimulatedScheduler::ScheduleAt(Pool pool, absl::Time when,
                                                  Closure closure) {
  return ScheduleAtFor(nullptr, pool, when, std::move(closure));
}

Scheduler::TimerId SimulatedScheduler::ScheduleAtFor(Part* part, Pool pool,
                                                     absl::Time when,
                                                     Closure closure) {
  const TimerId id = next_id_++;
  timers_.emplace(TimerKey(when, id), Task{id, part, pool, std::move(closure)});
  Point();
  return id;
}

bool SimulatedScheduler::CancelTimer(TimerId id) {
  Point();
  for (auto it = timers_.begin(); it != timers_.end(); ++it) {
    if (it->first.second != id) continue;
    const Closure dropped = std::move(it->second.closure);
    timers_.erase(it);
    return true;
  }
  return false;
}

std::unique_ptr<Event> SimulatedScheduler::NewEvent() {
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
  const Uninterrupted whole;
  Waiter waiter;
  waiter.what = Waiter::For::kIdle;
  waiter.deadline = clock_.Now() + duration;
  idle_ = &waiter;
  YieldToOthers(&waiter);
  idle_ = nullptr;
}

bool SimulatedScheduler::Wait(SimulatedEvent* event, absl::Time deadline) {
  Point();
  if (event->IsSet()) return true;
  const Uninterrupted whole;
  if (deadline <= clock_.Now()) return false;
  Waiter waiter;
  waiter.what = Waiter::For::kEvent;
  waiter.event = event;
  waiter.deadline = deadline;
  Park(&waiter);
  return event->IsSet();
}

void SimulatedScheduler::BeforeLock(const void* mutex) {
  PointAt(mutex, mutex);
}

void SimulatedScheduler::WaitForUnlock(const void* mutex) {
  const Uninterrupted whole;
  Waiter waiter;
  waiter.what = Waiter::For::kMutex;
  waiter.object = mutex;
  Park(&waiter);
}

void SimulatedScheduler::AfterUnlock(const void* mutex) {
  WakeMutexWaiters(mutex);
  PointAt(mutex, nullptr);
}

void SimulatedScheduler::WakeMutexWaiters(const void* mutex) {
  for (Waiter* waiter : waiters_) {
    if (waiter->what == Waiter::For::kMutex && waiter->object == mutex) {
      waiter->is_done = true;
    }
  }
}

bool SimulatedScheduler::WaitForSignal(const void* condition, const void* mutex,
                                       absl::Duration timeout) {
  const Uninterrupted whole;
  WakeMutexWaiters(mutex);
  Waiter waiter;
  waiter.what = Waiter::For::kSignal;
  waiter.object = condition;
  waiter.deadline = clock_.Now() + timeout;
  Park(&waiter);
  return waiter.is_done;
}

void SimulatedScheduler::OnSignal(const void* condition, bool all) {
  for (Waiter* waiter : waiters_) {
    if (waiter->what != Waiter::For::kSignal || waiter->object != condition) {
      continue;
    }
    if (waiter->is_done) continue;
    waiter->is_done = true;
    if (!all) return;
  }
}

void SimulatedScheduler::OnDestroy(const void* mutex) {
  focus_.erase(mutex);
  for (const Waiter* waiter : waiters_) {
    const bool waits = waiter->what == Waiter::For::kMutex ||
                       waiter->what == Waiter::For::kTurn;
    if (!waits || waiter->object != mutex) continue;
    Die(absl::StrCat(
        "Seed ", options_.seed, ", after ", num_steps_,
        " steps: a mutex is destroyed while a thread is about to lock it"));
  }
}

void SimulatedScheduler::Point(const void* mutex) {
  ++num_points_;
  if (points_until_yield_ == 0 || Uninterrupted::IsThisThread()) return;
  if (--points_until_yield_ > 0) return;
  DrawNextYield();
  Interrupt(mutex, yields_.percent_stalled);
}

void SimulatedScheduler::PointAt(const void* mutex, const void* about_to_take) {
  if (!DrawFocus(mutex)) return Point(about_to_take);
  Interrupt(about_to_take, kStalledInFocus);
}

bool SimulatedScheduler::DrawFocus(const void* mutex) {
  if (yields_.focus_one_in == 0 || Uninterrupted::IsThisThread()) return false;
  const Uninterrupted whole;
  const auto [met, is_new] = focus_.try_emplace(mutex, false);
  if (is_new) met->second = random_->Next() % yields_.focus_one_in == 0;
  return met->second && random_->Next() % 3 == 0;
}

void SimulatedScheduler::DrawNextYield() {
  const Uninterrupted whole;
  points_until_yield_ = 1 + random_->Next() % (2 * yields_.one_in);
}

absl::Duration SimulatedScheduler::DrawStall() {
  const absl::Duration longest =
      yields_.longest_stall / (int64_t{1} << (random_->Next() % 12));
  return longest * (random_->Next() % 1024) / 1024;
}

void SimulatedScheduler::Interrupt(const void* mutex,
                                   uint64_t percent_stalled) {
  const Uninterrupted whole;
  Trace(num_points_);
  Waiter waiter;
  waiter.what = Waiter::For::kTurn;
  waiter.object = mutex;
  waiter.deadline = absl::InfinitePast();
  const uint64_t percent = random_->Next() % 100;
  waiter.is_last = percent < yields_.percent_last;
  if (!waiter.is_last && percent < yields_.percent_last + percent_stalled) {
    waiter.deadline = clock_.Now() + DrawStall();
  }
  Park(&waiter);
}

void SimulatedScheduler::Park(Waiter* waiter) {
  waiter->id = next_id_++;
  waiters_.push_back(waiter);
  YieldToOthers(waiter);
  waiters_.erase(std::find(waiters_.begin(), waiters_.end(), waiter));
}

void SimulatedScheduler::YieldToOthers(Waiter* waiter) {
  waiter->part = part_;
  Task task;
  Waiter* const next = Choose(&task);
  if (next != waiter) {
    next != nullptr ? next->turn.Give() : StartOnCarrier(std::move(task));
    waiter->turn.Await();
  }
  part_ = waiter->part;
}

bool SimulatedScheduler::IsReady(const Waiter& waiter) const {
  if (waiter.part != nullptr && waiter.part->is_stopped()) return false;
  if (waiter.is_done || waiter.given_up) return true;
  if (waiter.event != nullptr && waiter.event->IsSet()) return true;
  return waiter.deadline <= clock_.Now();
}

bool SimulatedScheduler::IsReady(const Task& task) {
  if (task.part != nullptr && task.part->is_stopped()) return false;
  return ThreadsOf(task.part).HasRoom(task.pool);
}

void SimulatedScheduler::FindReady() {
  ready_tasks_.clear();
  ready_waiters_.clear();
  for (size_t i = 0; i < ready_.size(); ++i) {
    if (IsReady(ready_[i])) ready_tasks_.push_back(i);
  }
  for (Waiter* waiter : waiters_) {
    if (!waiter->IsLate() && IsReady(*waiter)) ready_waiters_.push_back(waiter);
  }
  if (!ready_tasks_.empty() || !ready_waiters_.empty()) return;
  for (Waiter* waiter : waiters_) {
    if (IsReady(*waiter)) ready_waiters_.push_back(waiter);
  }
}

SimulatedScheduler::Waiter* SimulatedScheduler::Choose(Task* task) {
  MoveTimeTo(clock_.Now());
  FindReady();
  while (ready_tasks_.empty() && ready_waiters_.empty()) {
    const absl::Time next = NextTime();
    if (idle_ != nullptr && next > idle_->deadline) {
      MoveTimeTo(idle_->deadline);
      return idle_;
    }
    if (next == absl::InfiniteFuture()) {
      ReportDeadlock();
    } else {
      MoveTimeTo(next);
    }
    FindReady();
  }
  return ChooseAmongReady(task);
}

SimulatedScheduler::Waiter* SimulatedScheduler::ChooseAmongReady(Task* task) {
  const size_t choice =
      random_->Next() % (ready_tasks_.size() + ready_waiters_.size());
  ++num_steps_;
  if (choice >= ready_tasks_.size()) {
    Waiter* waiter = ready_waiters_[choice - ready_tasks_.size()];
    Trace(waiter->id);
    return waiter;
  }
  const auto chosen = ready_.begin() + ready_tasks_[choice];
  *task = std::move(*chosen);
  ready_.erase(chosen);
  ThreadsOf(task->part).Begin(task->pool);
  Trace(task->id);
  return nullptr;
}

absl::Time SimulatedScheduler::NextTime() const {
  absl::Time next = absl::InfiniteFuture();
  if (!timers_.empty()) next = timers_.begin()->first.first;
  for (const Waiter* waiter : waiters_) {
    if (waiter->part != nullptr && waiter->part->is_stopped()) continue;
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
    ready_.push_back(std::move(due->second));
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
  carrier->turn.Give();
}

void SimulatedScheduler::RunCarrier(Carrier* carrier) {
  LockObserver::OfThisThread() = this;
  while (true) {
    carrier->turn.Await();
    if (carrier->stop) return;
    Task task = std::move(carrier->task);
    Waiter* next = nullptr;
    while (next == nullptr) {
      part_ = task.part;
      task.closure();
      task.closure = nullptr;
      ThreadsOf(task.part).End(task.pool);
      const Uninterrupted whole;
      next = Choose(&task);
    }
    // Must come before Give, because after Give another thread runs and may
    // take this carrier.
    free_carriers_.push_back(carrier);
    next->turn.Give();
  }
}

void SimulatedScheduler::GiveUpWaits() {
  for (Waiter* waiter : waiters_) waiter->given_up = true;
}

void SimulatedScheduler::ReportDeadlock() {
  const std::string report = DeadlockReport();
  // A thread that waits for a lock cannot continue without it.
  const bool has_locks = std::any_of(
      waiters_.begin(), waiters_.end(),
      [](const Waiter* waiter) { return waiter->what == Waiter::For::kMutex; });
  if (!options_.on_deadlock || has_locks) Die(report);
  options_.on_deadlock(report);
  GiveUpWaits();
}

void SimulatedScheduler::Die(const std::string& report) const {
  std::fprintf(stderr, "%s\n", report.c_str());
  std::abort();
}

std::string SimulatedScheduler::DeadlockReport() const {
  std::string report = absl::StrCat(
      "Simulated deadlock with seed ", options_.seed, " after ", num_steps_,
      " steps: ",
      ready_.empty()
          ? "nothing is scheduled"
          : absl::StrCat(ready_.size(),
                         " closures wait for a thread of their pool"),
      ", no timer is armed, and ", waiters_.size(),
      " wait without a deadline, for events (numbered in the order of ",
      "NewEvent, Schedule, ScheduleAt and Wait):");
  for (const Waiter* waiter : waiters_) {
    const bool has_event = waiter->event != nullptr;
    has_event ? absl::StrAppend(&report, " ", waiter->event->id())
              : absl::StrAppend(&report, " (a lock or a condition)");
  }
  return report;
}

// Extends the hash by FNV-1a, but eight bytes at a time.
void SimulatedScheduler::Trace(uint64_t value) {
  trace_hash_ = (trace_hash_ ^ value) * kFnv1aPrime;
}

}  // namespace weft
