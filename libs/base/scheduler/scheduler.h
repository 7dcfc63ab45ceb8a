// Scheduler is the only place where Weft starts threads, sleeps, waits and sets
// timers. Its fake, SimulatedScheduler, runs pools, timers and waiting clients
// one at a time in an order drawn from a seed, which makes a whole cluster
// testable.
//
// Threads: every method may be called from any thread. Closures run without any
// lock of the Scheduler held.
#ifndef WEFT_LIBS_BASE_SCHEDULER_SCHEDULER_H_
#define WEFT_LIBS_BASE_SCHEDULER_SCHEDULER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace weft {

class Clock;

// Pool determines which threads run a closure.
enum class Pool {
  // One thread per core, for kernels and continuations. Closures must not
  // block.
  kCompute,
  // A few threads for closures that keep a cluster alive or that end work:
  // heartbeats, leases, deadlines, aborts, lost connections. Closures must be
  // short. They must not run kernels, client functions or file operations, must
  // not take locks that are held during these, and must not free large objects.
  kControl,
  // Threads that import and compile graphs and report the contents of a task.
  // Closures may take long, but must not wait for client functions or files.
  kGraph,
  // Threads for file operations and client functions. Closures may block. The
  // pool grows on demand up to a limit.
  kBlocking,
  // Threads for a few long closures. The pool grows on demand without a limit.
  // Its closures are, for example, the loops that drive sockets, and closures
  // for which threads of kBlocking wait while these hold all threads of their
  // pool. If the system refuses threads, closures wait for an existing one.
  // thread_scheduler.h says how many threads are started initially.
  kUnbounded,
};

// Event is something that a thread can wait for. An event is set once and stays
// set. It is created by Scheduler::NewEvent, so that a simulated wait can run
// other work.
class Event {
 public:
  virtual ~Event() = default;
  // Sets the event; further calls have no effect. A thread that returns from
  // Wait sees everything that happened before Set. The waiting thread may
  // destroy the Event as soon as its Wait has returned.
  virtual void Set() = 0;
  virtual bool IsSet() const = 0;
  // Waits until the event is set and returns true. Returns false if `deadline`
  // passes first.
  virtual bool WaitUntil(absl::Time deadline) = 0;
  void Wait() { WaitUntil(absl::InfiniteFuture()); }
};

class Scheduler {
 public:
  using Closure = absl::AnyInvocable<void()>;
  using TimerId = uint64_t;  // never 0

  virtual ~Scheduler() = default;

  // Runs `closure` soon on a thread of `pool`, never within this call.
  virtual void Schedule(Pool pool, Closure closure) = 0;

  // Runs `closure` on a thread of `pool` when `when` is reached.
  virtual TimerId ScheduleAt(Pool pool, absl::Time when, Closure closure) = 0;
  // Does the same on the compute pool.
  TimerId ScheduleAt(absl::Time when, Closure closure) {
    return ScheduleAt(Pool::kCompute, when, std::move(closure));
  }
  // Cancels a timer. Returns true if its closure will never run, and false if
  // the closure has run, is running, or is unknown. Does not wait for a running
  // closure.
  virtual bool CancelTimer(TimerId id) = 0;

  virtual std::unique_ptr<Event> NewEvent() = 0;

  // Splits [0, total) into ranges of at least `min_range` and runs `work(begin,
  // end)` for each range. The ranges run on this thread and on compute threads
  // that are idle or become idle. Returns when all ranges are done. Never waits
  // for a busy pool, because the caller runs every range that no other thread
  // takes. May be called inside closures of the compute pool.
  virtual void ParallelFor(
      int64_t total, int64_t min_range,
      const std::function<void(int64_t, int64_t)>& work) = 0;

  // Returns the number of threads of the compute pool, which is at least 1.
  virtual int num_compute_threads() const = 0;

  // Returns the clock for deadlines and timers.
  virtual const Clock& clock() const = 0;
};

struct ThreadSchedulerOptions {
  int compute_threads = 0;  // 0: one per core
  int max_control_threads = 2;
  int max_graph_threads = 0;  // 0: as compute threads, at least 2
  int max_blocking_threads = 64;
  absl::string_view name = "weft";  // of threads, at most 8 bytes
};

// Returns a scheduler with real threads. Its destructor runs everything
// scheduled, drops timers, and joins the threads.
std::unique_ptr<Scheduler> NewThreadScheduler(
    const Clock& clock, ThreadSchedulerOptions options = {});

}  // namespace weft

#endif  // WEFT_LIBS_BASE_SCHEDULER_SCHEDULER_H_
