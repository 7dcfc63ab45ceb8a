// Scheduler: the only place where Weft starts threads, sleeps, waits and arms
// timers. Its fake, SimulatedScheduler, runs pools, timers and waiting clients
// one at a time in an order drawn from a seed, which is what makes a whole
// cluster testable.
//
// Threads: every method may be called from any thread. Closures run without
// any lock of the Scheduler held.
#ifndef WEFT_LIBS_BASE_SCHEDULER_H_
#define WEFT_LIBS_BASE_SCHEDULER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace weft {

class Clock;

// Which threads run a closure.
enum class Pool {
  // One thread per core; kernels and continuations. Must not block.
  kCompute,
  // A few threads for what keeps a cluster alive and for what ends work:
  // heartbeats, leases, deadlines, aborts, lost connections. Closures must be
  // short. They must not run kernels, client functions or file operations, must
  // not take locks that are held during these, and must not free what may be
  // large.
  kControl,
  // Importing and compiling graphs, and reports of what a task holds: long work
  // that waits for no client function and for no file.
  kGraph,
  // Grows as needed up to a bound; files, client functions: may block.
  kBlocking,
  // Grows as needed, without a bound: few and long closures that threads of
  // kBlocking wait for, who may hold all of these. What drives sockets. Where
  // the system refuses threads, closures wait for one of those that there are:
  // thread_scheduler.h says how many there are from the start.
  kOwnThread,
};

// Something a thread can wait for: set once, then set for good. Made by
// Scheduler::NewEvent so that a simulated wait can run other work meanwhile.
class Event {
 public:
  virtual ~Event() = default;
  // Idempotent. Everything that happened before Set is seen after Wait. The
  // waiter may destroy the Event as soon as its Wait has returned.
  virtual void Set() = 0;
  virtual bool IsSet() const = 0;
  // True when set, false when `deadline` passed first.
  virtual bool WaitUntil(absl::Time deadline) = 0;
  void Wait() { WaitUntil(absl::InfiniteFuture()); }
};

class Scheduler {
 public:
  using Closure = absl::AnyInvocable<void()>;
  using TimerId = uint64_t;  // never 0

  virtual ~Scheduler() = default;

  // Runs `closure` soon on a thread of `pool`. Never runs it inline.
  virtual void Schedule(Pool pool, Closure closure) = 0;

  // Runs `closure` on a thread of `pool` once `when` has come.
  virtual TimerId ScheduleAt(Pool pool, absl::Time when, Closure closure) = 0;
  // The same on the compute pool.
  TimerId ScheduleAt(absl::Time when, Closure closure) {
    return ScheduleAt(Pool::kCompute, when, std::move(closure));
  }
  // True if the timer's closure will now never run; false if it has run, is
  // running or is unknown. Does not wait for a running closure.
  virtual bool CancelTimer(TimerId id) = 0;

  virtual std::unique_ptr<Event> NewEvent() = 0;

  // Splits [0, total) into ranges of at least `min_range` and runs
  // `work(begin, end)` for all of them on this thread and on compute threads
  // that have time, at once or before all are begun; returns when all are done.
  // Never waits for a busy pool: what nobody else takes, the caller runs. Safe
  // inside compute closures.
  virtual void ParallelFor(
      int64_t total, int64_t min_range,
      const std::function<void(int64_t, int64_t)>& work) = 0;

  // Threads of the compute pool, at least 1.
  virtual int num_compute_threads() const = 0;

  // The clock that deadlines and timers go by.
  virtual const Clock& clock() const = 0;
};

struct ThreadSchedulerOptions {
  int compute_threads = 0;  // 0: one per core
  int max_control_threads = 2;
  int max_graph_threads = 0;  // 0: as many as compute threads, at least 2
  int max_blocking_threads = 64;
  absl::string_view name = "weft";  // prefix of thread names, at most 8 bytes
};

// Real threads. The destructor runs what was scheduled, drops timers and joins.
std::unique_ptr<Scheduler> NewThreadScheduler(
    const Clock& clock, ThreadSchedulerOptions options = {});

}  // namespace weft

#endif  // WEFT_LIBS_BASE_SCHEDULER_H_
