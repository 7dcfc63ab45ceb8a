// SimulatedScheduler: the Scheduler's fake, for tests. Pools, timers and
// waiting clients run one at a time, in an order drawn from a seed, on a clock
// that jumps to the next timer or deadline when nothing else is left to do. The
// same seed and program give the same order; trace_hash() proves it.
//
// The thread that made it is the first client: it runs until it waits for an
// Event, or calls RunUntilIdle or AdvanceBy, and only then does other work run.
// Further clients are closures of the blocking pool. (Each waiting closure
// keeps a thread of the machine for its stack; only one runs at any moment.)
//
// A pool with a limit (SimulatedPools) runs so many closures at a time; one
// that waits, or is interrupted, keeps its thread of the pool. So a program
// that needs another thread of a pool than it has is a deadlock here, too.
//
// With set_yields, whoever runs may also be interrupted: where it schedules,
// where it sets an event, and, in a program that links
// //libs/base:observed_locks, where it takes or lets go of an absl::Mutex.
// docs/design/simulation.md says more. Under ThreadSanitizer, whose wrappers of
// absl::Mutex take the place of those, nobody is: who then waited for a mutex
// of somebody interrupted would wait for good.
//
// A wait that nothing can end any more is a deadlock of the simulated program:
// it is reported with everybody who waits and for what.
//
// Threads: to be used only by its first client and by what it runs. One of them
// runs at a time, and hands its turn to the next: that guards everything here.
#ifndef WEFT_LIBS_BASE_SIMULATED_SCHEDULER_H_
#define WEFT_LIBS_BASE_SIMULATED_SCHEDULER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "libs/base/clock.h"
#include "libs/base/fnv1a.h"
#include "libs/base/lock_observer.h"
#include "libs/base/random.h"
#include "libs/base/scheduler.h"

namespace weft {

// The threads of each pool. 0: as many as there are closures.
struct SimulatedPools {
  int compute = 0;
  int control = 0;
  int graph = 0;
  int blocking = 0;
  // Pool::kOwnThread, where the system refuses further threads.
  int own = 0;
};

struct SimulatedSchedulerOptions {
  uint64_t seed = 1;
  int compute_threads = 4;  // only what num_compute_threads() tells
  SimulatedPools pools;     // of what belongs to no part
  // Called with the report of a deadlock; then every wait returns false.
  // Without it, or where locks are in the way, the report goes to stderr and
  // the process aborts.
  absl::AnyInvocable<void(const std::string& report)> on_deadlock;
};

// How often whoever runs is interrupted.
struct SimulatedYields {
  // One in so many points, on average; 0: never.
  uint64_t one_in = 0;
  // Of these, so many in a hundred come back only when nobody else can run,
  uint64_t percent_last = 25;
  // and so many when time has passed: at most `longest_stall`.
  uint64_t percent_stalled = 0;
  absl::Duration longest_stall = absl::Seconds(1);
  // One mutex in so many, drawn for each when it is first met, has a third of
  // its takings and lettings go interrupted, half of these for some time: what
  // goes wrong between two of one lock's sections needs that often, and in one
  // place. 0: none.
  uint64_t focus_one_in = 0;
};

class SimulatedScheduler : public Scheduler, private LockObserver {
 public:
  // A view of the scheduler for a part of the simulated world, a process or
  // one of its threads, that can be stopped where it stands: its closures and
  // timers do not begin, its waits and what was interrupted do not go on.
  class Part;

  using Scheduler::ScheduleAt;

  // `clock` outlives it and is moved by nobody else.
  explicit SimulatedScheduler(ManualClock& clock,
                              SimulatedSchedulerOptions options = {});
  // Runs what was scheduled, drops timers; waits still open return false.
  // No part is stopped any more.
  ~SimulatedScheduler() override;

  void Schedule(Pool pool, Closure closure) override;
  TimerId ScheduleAt(Pool pool, absl::Time when, Closure closure) override;
  bool CancelTimer(TimerId id) override;
  std::unique_ptr<Event> NewEvent() override;
  // Runs the ranges on the caller, in an order drawn from the seed.
  void ParallelFor(int64_t total, int64_t min_range,
                   const std::function<void(int64_t, int64_t)>& work) override;
  int num_compute_threads() const override { return options_.compute_threads; }
  const Clock& clock() const override { return clock_; }

  // With pools of its own. Outlives whatever is scheduled by it; the scheduler
  // outlives it.
  std::unique_ptr<Part> NewPart(const SimulatedPools& pools = {});

  void set_yields(const SimulatedYields& yields);

  // Runs all that can run without time passing. First client only.
  void RunUntilIdle() { AdvanceBy(absl::ZeroDuration()); }
  // Lets time pass and runs what falls due meanwhile. First client only.
  void AdvanceBy(absl::Duration duration);

  // Of all choices and times so far.
  uint64_t trace_hash() const { return trace_hash_; }
  // Choices so far: closures begun, and waits and interruptions ended.
  int64_t num_steps() const { return num_steps_; }
  // Where somebody might have been interrupted, so far.
  uint64_t num_points() const { return num_points_; }

 private:
  class SimulatedEvent;
  struct Task;
  struct Waiter;
  struct Carrier;
  // The pools of a part, or of what belongs to none.
  class PoolThreads {
   public:
    explicit PoolThreads(const SimulatedPools& limits) : limits_(limits) {}
    bool HasRoom(Pool pool) const {
      const int limit = LimitOf(pool);
      return limit == 0 || running_[static_cast<size_t>(pool)] < limit;
    }
    void Begin(Pool pool) { ++running_[static_cast<size_t>(pool)]; }
    void End(Pool pool) { --running_[static_cast<size_t>(pool)]; }

   private:
    int LimitOf(Pool pool) const;

    const SimulatedPools limits_;
    std::array<int, 5> running_{};
  };
  using TimerKey = std::pair<absl::Time, TimerId>;

  void ScheduleFor(Part* part, Pool pool, Closure closure);
  TimerId ScheduleAtFor(Part* part, Pool pool, absl::Time when,
                        Closure closure);
  PoolThreads& ThreadsOf(Part* part);
  // Whether it may begin: its part goes on and its pool has a thread.
  bool IsReady(const Task& task);
  bool Wait(SimulatedEvent* event, absl::Time deadline);

  void BeforeLock(const void* mutex) override;
  void WaitForUnlock(const void* mutex) override;
  void AfterUnlock(const void* mutex) override;
  bool WaitForSignal(const void* condition, const void* mutex,
                     absl::Duration timeout) override;
  void OnSignal(const void* condition, bool all) override;
  void OnDestroy(const void* mutex) override;

  // Whoever runs may be interrupted here; it is about to take `mutex`, or null.
  void Point(const void* mutex = nullptr);
  // Likewise, beside `mutex`, which may be in focus.
  void PointAt(const void* mutex, const void* about_to_take);
  // Whether whoever runs is interrupted because `mutex` is in focus.
  bool DrawFocus(const void* mutex);
  // In a hundred of them, `percent_stalled` last until time has passed.
  void Interrupt(const void* mutex, uint64_t percent_stalled);
  absl::Duration DrawStall();
  void DrawNextYield();
  // Wakes those that wait for it to be let go.
  void LetGo(const void* mutex);

  bool IsReady(const Waiter& waiter) const;
  // Who can run now: what is to be chosen from.
  void FindReady();
  absl::Time NextTime() const;
  void MoveTimeTo(absl::Time when);
  // Chooses who goes on: one who waits, or, if null, `task`.
  Waiter* Choose(Task* task);
  Waiter* ChooseAmongReady(Task* task);
  // The last thing that whoever has the turn does.
  void StartOnCarrier(Task task);
  // Puts the caller among those who wait, until it is its turn again.
  void Park(Waiter* waiter);
  void LetOthersRun(Waiter* waiter);
  void RunCarrier(Carrier* carrier);
  void GiveUpWaits();
  void ReportDeadlock();
  std::string DeadlockReport() const;
  [[noreturn]] void Die(const std::string& report) const;
  void Trace(uint64_t value);

  ManualClock& clock_;
  SimulatedSchedulerOptions options_;
  PoolThreads threads_;
  LockObserver* const observer_before_;  // of the first client's thread
  const std::unique_ptr<Random> random_;
  std::vector<Task> ready_;
  std::vector<Waiter*> waiters_;
  Waiter* idle_ = nullptr;  // in AdvanceBy
  // Of FindReady: positions in ready_, and waiters.
  std::vector<size_t> ready_tasks_;
  std::vector<Waiter*> ready_waiters_;
  std::map<TimerKey, Task> timers_;
  std::vector<std::unique_ptr<Carrier>> carriers_;
  std::vector<Carrier*> free_carriers_;
  Part* part_ = nullptr;  // of whoever runs; null: of none
  int num_stopped_ = 0;   // parts
  SimulatedYields yields_;
  uint64_t points_until_yield_ = 0;
  absl::flat_hash_map<const void*, bool> focus_;  // of the mutexes met
  uint64_t num_points_ = 0;
  uint64_t next_id_ = 1;
  uint64_t trace_hash_ = kFnv1aOffset;
  int64_t num_steps_ = 0;
};

class SimulatedScheduler::Part : public Scheduler {
 public:
  using Scheduler::ScheduleAt;

  Part(SimulatedScheduler& all, const SimulatedPools& pools)
      : all_(all), threads_(pools) {}

  // By the first client, which belongs to no part.
  void Stop();
  void GoOn();
  bool is_stopped() const { return is_stopped_; }

  void Schedule(Pool pool, Closure closure) override {
    all_.ScheduleFor(this, pool, std::move(closure));
  }
  TimerId ScheduleAt(Pool pool, absl::Time when, Closure closure) override {
    return all_.ScheduleAtFor(this, pool, when, std::move(closure));
  }
  bool CancelTimer(TimerId id) override { return all_.CancelTimer(id); }
  std::unique_ptr<Event> NewEvent() override { return all_.NewEvent(); }
  void ParallelFor(int64_t total, int64_t min_range,
                   const std::function<void(int64_t, int64_t)>& work) override {
    all_.ParallelFor(total, min_range, work);
  }
  int num_compute_threads() const override {
    return all_.num_compute_threads();
  }
  const Clock& clock() const override { return all_.clock(); }

 private:
  friend class SimulatedScheduler;

  SimulatedScheduler& all_;
  PoolThreads threads_;
  bool is_stopped_ = false;
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_SIMULATED_SCHEDULER_H_
