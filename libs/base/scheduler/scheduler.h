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

// Which threads run a closure.
enum class Pool {
  // One thread per core, for kernels and continuations. Must not block.
  kCompute,
  // A few threads for closures that keep a cluster alive and that end work:
  // heartbeats, leases, deadlines, aborts, lost connections. Closures must be
  // short. They must not run kernels, client functions or file operations, must
  // not take locks that are held during these, and must not free large objects.
  kControl,
  // Imports and compiles graphs and reports the contents of a task: long work
  // that waits for no client function and for no file.
  kGraph,
  // Grows on demand up to a limit. For files and client functions; may block.
  kBlocking,
  // Grows on demand without a limit. For a few long closures, such as the loops
  // that drive sockets, and for closures that threads of kBlocking wait for
  // while these hold all threads of that pool. If the system refuses threads,
  // closures wait for an existing one: see thread_scheduler.h for how many are
  // started initially.
  kUnbounded,
};

// An Event is something that a thread can wait for. It is set once and stays
// set. Created by Scheduler::NewEvent, so that a simulated wait can run other
// work.
class Event {
 public:
  virtual ~Event() = default;
  // Idempotent. A thread that returns from Wait sees everything that happened
  // before Set. The waiter may destroy the Event as soon as its Wait has
  // returned.
  virtual void Set() = 0;
  virtual bool IsSet() const = 0;
  // Returns true when set, false if `deadline` passed first.
  virtual bool WaitUntil(absl::Time deadline) = 0;
  void Wait() { WaitUntil(absl::InfiniteFuture()); }
};

class Scheduler {
 public:
  using Closure = absl::AnyInvocable<void()>;
  using TimerId = uint64_t;  // never 0

  virtual ~Scheduler() = default;

  // Runs `closure` soon on a thread of `pool`, never inline.
  virtual void Schedule(Pool pool, Closure closure) = 0;

  // Runs `closure` on a thread of `pool` when `when` is reached.
  virtual TimerId ScheduleAt(Pool pool, absl::Time when, Closure closure) = 0;
  // The same on the compute pool.
  TimerId ScheduleAt(absl::Time when, Closure closure) {
    return ScheduleAt(Pool::kCompute, when, std::move(closure));
  }
  // Returns true if the timer's closure will never run; false if it has run, is
  // running or is unknown. Does not wait for a running closure.
  virtual bool CancelTimer(TimerId id) = 0;

  virtual std::unique_ptr<Event> NewEvent() = 0;

  // Splits [0, total) into ranges of at least `min_range` and runs `work(begin,
  // end)` for each on this thread and on idle compute threads, which may also
  // join later. Returns when all are done. Never waits for a busy pool: the
  // caller runs every range that no other thread takes. Safe inside compute
  // closures.
  virtual void ParallelFor(
      int64_t total, int64_t min_range,
      const std::function<void(int64_t, int64_t)>& work) = 0;

  // The number of threads of the compute pool, at least 1.
  virtual int num_compute_threads() const = 0;

  // The clock for deadlines and timers.
  virtual const Clock& clock() const = 0;
};

struct ThreadSchedulerOptions {
  int compute_threads = 0;  // 0: one per core
  int max_control_threads = 2;
  int max_graph_threads = 0;  // 0: as many as compute threads, at least 2
  int max_blocking_threads = 64;
  absl::string_view name = "weft";  // prefix of thread names, at most 8 bytes
};

// Returns a scheduler with real threads. Its destructor runs everything
// scheduled, drops timers and joins.
std::unique_ptr<Scheduler> NewThreadScheduler(
    const Clock& clock, ThreadSchedulerOptions options = {});

}  // namespace weft

#endif  // WEFT_LIBS_BASE_SCHEDULER_SCHEDULER_H_
