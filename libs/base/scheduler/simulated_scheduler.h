// SimulatedScheduler is the Scheduler's fake for tests. Pools, timers and
// waiting clients run one at a time, in an order drawn from a seed, on a clock
// that jumps to the next timer or deadline when nothing else can run. The same
// seed and program give the same order; trace_hash() proves it.
//
// The thread that creates the scheduler is the first client. Other work runs
// only while the first client waits for an Event or is in RunUntilIdle or
// AdvanceBy. Further clients are closures of the blocking pool. (Each waiting
// closure keeps a system thread for its stack, but only one of these threads
// runs at a time.)
//
// A pool with a limit (SimulatedPools) runs only that many closures at a time.
// A closure that waits or is interrupted keeps its thread of the pool. So a
// program that needs more threads than a pool has also deadlocks in the
// simulation.
//
// With set_yields, the running closure may also be interrupted: when it
// schedules, when it sets an event, and, in a program that links
// //libs/base:observed_locks, when it locks or unlocks an absl::Mutex.
// docs/design/simulation.md describes this. Under ThreadSanitizer, whose
// wrappers of absl::Mutex replace the observed ones, closures are never
// interrupted: a thread that waits for a mutex that an interrupted thread holds
// would wait forever.
//
// A wait that can never end is a deadlock of the simulated program. The report
// of a deadlock lists all waiting threads and what they wait for.
//
// Threads: must be used only by its first client and by the closures that it
// runs. Only one of them runs at a time and hands control to the next, so the
// state needs no locks.
#ifndef WEFT_LIBS_BASE_SCHEDULER_SIMULATED_SCHEDULER_H_
#define WEFT_LIBS_BASE_SCHEDULER_SIMULATED_SCHEDULER_H_

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
#include "libs/base/random.h"
#include "libs/base/scheduler/lock_observer.h"
#include "libs/base/scheduler/scheduler.h"

namespace weft {

// The maximum number of closures of each pool that run at the same time. 0
// means no limit.
struct SimulatedPools {
  int compute = 0;
  int control = 0;
  int graph = 0;
  int blocking = 0;
  // Pool::kUnbounded, for a process whose system refuses further threads.
  int own = 0;
};

struct SimulatedSchedulerOptions {
  uint64_t seed = 1;
  int compute_threads = 4;  // only the value of num_compute_threads()
  SimulatedPools pools;     // for closures without a part
  // Is called with the report of a deadlock. Afterwards every wait returns
  // false. If it is null, or if threads wait for mutexes, the report goes to
  // stderr and the process aborts.
  absl::AnyInvocable<void(const std::string& report)> on_deadlock;
};

// SimulatedYields has the rates at which the running closure is interrupted.
struct SimulatedYields {
  // On average, one of this many possible interruption points is used. 0 means
  // no interruptions.
  uint64_t one_in = 0;
  // The percentage of interrupted closures that resume only when nothing else
  // can run.
  uint64_t percent_last = 25;
  // The percentage of interrupted closures that resume after a simulated delay
  // of at most `longest_stall`.
  uint64_t percent_stalled = 0;
  absl::Duration longest_stall = absl::Seconds(1);
  // One of this many mutexes is in focus, which is drawn when the mutex is
  // first seen. A third of the locks and unlocks of such a mutex are
  // interrupted, half of these for some simulated time. Races between two
  // critical sections of one mutex need many interruptions in one place. 0
  // means that no mutex is in focus.
  uint64_t focus_one_in = 0;
};

class SimulatedScheduler : public Scheduler, private LockObserver {
 public:
  // A Part is a view of the scheduler for a part of the simulated world, such
  // as a process or one of its threads. A part can be stopped at any point: its
  // closures and timers then no longer start, and its waits and interrupted
  // closures do not resume.
  class Part;

  using Scheduler::ScheduleAt;

  // `clock` must outlive the scheduler. Nothing else may advance the clock.
  explicit SimulatedScheduler(ManualClock& clock,
                              SimulatedSchedulerOptions options = {});
  // Runs everything scheduled and drops timers. Waits that have not ended
  // return false. Stopped parts are resumed.
  ~SimulatedScheduler() override;

  void Schedule(Pool pool, Closure closure) override;
  TimerId ScheduleAt(Pool pool, absl::Time when, Closure closure) override;
  bool CancelTimer(TimerId id) override;
  std::unique_ptr<Event> NewEvent() override;
  // Runs all ranges on the calling thread, in an order drawn from the seed.
  void ParallelFor(int64_t total, int64_t min_range,
                   const std::function<void(int64_t, int64_t)>& work) override;
  int num_compute_threads() const override { return options_.compute_threads; }
  const Clock& clock() const override { return clock_; }

  // Returns a part with its own pools. The part must outlive everything that it
  // schedules. The scheduler must outlive the part.
  std::unique_ptr<Part> NewPart(const SimulatedPools& pools = {});

  void set_yields(const SimulatedYields& yields);

  // Runs everything that can run without time passing. Only for the first
  // client.
  void RunUntilIdle() { AdvanceBy(absl::ZeroDuration()); }
  // Advances the time and runs everything that becomes due. Only for the first
  // client.
  void AdvanceBy(absl::Duration duration);

  // Returns a hash of all choices and times so far.
  uint64_t trace_hash() const { return trace_hash_; }
  // Returns the number of choices so far: started closures, and ended waits and
  // interruptions.
  int64_t num_steps() const { return num_steps_; }
  // Returns the number of possible interruption points so far.
  uint64_t num_points() const { return num_points_; }

 private:
  class SimulatedEvent;
  struct Task;
  struct Waiter;
  struct Carrier;
  // PoolThreads counts the running closures in each pool of a part. Closures
  // that belong to no part have their own PoolThreads.
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
  // Returns whether a task may start: its part is not stopped, and its pool has
  // a free thread.
  bool IsReady(const Task& task);
  bool Wait(SimulatedEvent* event, absl::Time deadline);

  void BeforeLock(const void* mutex) override;
  void WaitForUnlock(const void* mutex) override;
  void AfterUnlock(const void* mutex) override;
  bool WaitForSignal(const void* condition, const void* mutex,
                     absl::Duration timeout) override;
  void OnSignal(const void* condition, bool all) override;
  void OnDestroy(const void* mutex) override;

  // Marks a point where the running closure may be interrupted. `mutex` is the
  // mutex that the closure is about to lock, or null.
  void Point(const void* mutex = nullptr);
  // Marks such a point before or after an operation on `mutex`, which may be in
  // focus. `about_to_take` is `mutex` if the closure is about to lock it, else
  // null.
  void PointAt(const void* mutex, const void* about_to_take);
  // Returns whether the running closure is interrupted because `mutex` is in
  // focus.
  bool DrawFocus(const void* mutex);
  // Interrupts the running closure. With a probability of `percent_stalled`,
  // the interruption lasts for some simulated time.
  void Interrupt(const void* mutex, uint64_t percent_stalled);
  // Draws a delay of at most `longest_stall`. Short delays are more likely.
  absl::Duration DrawStall();
  void DrawNextYield();
  // Makes the closures that wait for the mutex ready to run, because it was
  // released.
  void WakeMutexWaiters(const void* mutex);

  bool IsReady(const Waiter& waiter) const;
  // Finds the closures that can run now. One of them is chosen next.
  void FindReady();
  absl::Time NextTime() const;
  void MoveTimeTo(absl::Time when);
  // Returns the waiter that runs next. Returns null if a new closure runs next;
  // the closure was moved to `task` and takes a thread of its pool. Advances
  // the time if nothing can run.
  Waiter* Choose(Task* task);
  Waiter* ChooseAmongReady(Task* task);
  // Starts a task on a free carrier. Called as the last action of a closure
  // that hands over control.
  void StartOnCarrier(Task task);
  // Adds the caller to the waiters until it is chosen again.
  void Park(Waiter* waiter);
  // Hands control to another thread, and returns when `waiter`, which belongs
  // to the calling thread, is chosen.
  void YieldToOthers(Waiter* waiter);
  // Runs on a carrier's thread and runs closures until `stop` is set.
  void RunCarrier(Carrier* carrier);
  // Makes all waits return although their events did not happen.
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
  Waiter* idle_ = nullptr;  // set during AdvanceBy
  // The results of FindReady: positions in ready_, and waiters.
  std::vector<size_t> ready_tasks_;
  std::vector<Waiter*> ready_waiters_;
  std::map<TimerKey, Task> timers_;
  std::vector<std::unique_ptr<Carrier>> carriers_;
  std::vector<Carrier*> free_carriers_;
  Part* part_ = nullptr;  // of the running closure, or null
  int num_stopped_ = 0;   // number of parts
  SimulatedYields yields_;
  uint64_t points_until_yield_ = 0;
  absl::flat_hash_map<const void*, bool> focus_;  // of the mutexes seen so far
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

  // Stop and Resume must be called by the first client, which belongs to no
  // part.
  void Stop();
  void Resume();
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

#endif  // WEFT_LIBS_BASE_SCHEDULER_SIMULATED_SCHEDULER_H_
