// SimulatedScheduler: the Scheduler's twin for tests. Pools, timers and waiting
// clients run one at a time, in an order drawn from a seed, on a clock that
// jumps to the next timer or deadline when nothing else is left to do. The same
// seed and program give the same order; trace_hash() proves it.
//
// The thread that made it is the first client: it runs until it waits for an
// Event, or calls RunUntilIdle or AdvanceBy, and only then does other work run.
// Further clients are closures of the blocking pool. (Each waiting closure
// keeps a thread of the machine for its stack; only one runs at any moment.)
//
// A wait that nothing can end any more is a deadlock of the simulated program:
// it is reported with everybody who waits and for which event.
//
// Threads: to be used only by its first client and by what it runs.
#ifndef WEFT_LIBS_BASE_SIMULATED_SCHEDULER_H_
#define WEFT_LIBS_BASE_SIMULATED_SCHEDULER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/scheduler.h"

namespace weft {

struct SimulatedSchedulerOptions {
  uint64_t seed = 1;
  int compute_threads = 4;  // only what num_compute_threads() tells
  // Called with the report of a deadlock; then every wait returns false.
  // Without it the report goes to stderr and the process aborts.
  absl::AnyInvocable<void(const std::string& report)> on_deadlock;
};

class SimulatedScheduler : public Scheduler {
 public:
  // `clock` outlives it and is moved by nobody else.
  explicit SimulatedScheduler(ManualClock& clock,
                              SimulatedSchedulerOptions options = {});
  // Runs what was scheduled, drops timers; waits still open return false.
  ~SimulatedScheduler() override;

  void Schedule(Pool pool, Closure closure) override;
  TimerId ScheduleAt(absl::Time when, Closure closure) override;
  bool CancelTimer(TimerId id) override;
  std::unique_ptr<Event> NewEvent() override;
  // Runs the ranges on the caller, in an order drawn from the seed.
  void ParallelFor(int64_t total, int64_t min_range,
                   const std::function<void(int64_t, int64_t)>& work) override;
  int num_compute_threads() const override { return options_.compute_threads; }
  const Clock& clock() const override { return clock_; }

  // Runs all that can run without time passing. First client only.
  void RunUntilIdle() { AdvanceBy(absl::ZeroDuration()); }
  // Lets time pass and runs what falls due meanwhile. First client only.
  void AdvanceBy(absl::Duration duration);

  // Of all choices and times so far.
  uint64_t trace_hash() const;
  // Choices so far: closures begun and waits ended.
  int64_t num_steps() const;

 private:
  class SimulatedEvent;
  struct Task;
  struct Waiter;
  struct Carrier;
  using TimerKey = std::pair<absl::Time, TimerId>;

  bool Wait(SimulatedEvent* event, absl::Time deadline);
  bool IsReady(const Waiter& waiter) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<Waiter*> ReadyWaiters() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Time NextTime() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MoveTimeTo(absl::Time when) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Chooses who goes on: true with `task` set, or a waiter was woken.
  bool Choose(Task* task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool ChooseAmongReady(Task* task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Grant(Waiter* waiter) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StartOnCarrier(Task task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LetOthersRun(Waiter* waiter) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RunCarrier(Carrier* carrier);
  void GiveUpWaits() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReportDeadlock() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string DeadlockReport() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Trace(uint64_t value) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  ManualClock& clock_;
  SimulatedSchedulerOptions options_;
  const std::unique_ptr<Random> random_;
  mutable absl::Mutex mutex_;
  std::vector<Task> ready_ ABSL_GUARDED_BY(mutex_);
  std::vector<Waiter*> waiters_ ABSL_GUARDED_BY(mutex_);
  Waiter* idle_ ABSL_GUARDED_BY(mutex_) = nullptr;  // in AdvanceBy
  absl::btree_map<TimerKey, Closure> timers_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Carrier>> carriers_ ABSL_GUARDED_BY(mutex_);
  std::vector<Carrier*> free_carriers_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  uint64_t trace_hash_ ABSL_GUARDED_BY(mutex_) = 0xcbf29ce484222325;
  int64_t num_steps_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_SIMULATED_SCHEDULER_H_
