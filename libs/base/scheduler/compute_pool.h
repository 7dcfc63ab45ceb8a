// ComputePool runs closures that do not block on a fixed number of threads.
// Each thread has its own queue, and idle threads steal from the others.
//
// A closure scheduled by a worker goes to that worker's queue; other closures
// are distributed round robin. Queues are FIFO, so no closure starves. A worker
// without work searches all queues for some microseconds, then sleeps on its
// own futex word. Schedule wakes a sleeping worker only if no worker searches,
// or if the searching worker has lost its processor. The pool measures how long
// a sleeping worker takes to wake, so that callers can decide how much work is
// worth a thread.
//
// Threads: Schedule may be called from any thread; the destructor joins the
// threads after everything scheduled has run.
#ifndef WEFT_LIBS_BASE_SCHEDULER_COMPUTE_POOL_H_
#define WEFT_LIBS_BASE_SCHEDULER_COMPUTE_POOL_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/closure_queue.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/scheduler/thread_starter.h"
#include "libs/base/scheduler/work_count.h"

namespace weft {

class ComputePool {
 public:
  // Every scheduled closure is counted in `count`. `count` and `clock` must
  // outlive the pool. If the system refuses threads, the pool has fewer: see
  // `status`.
  ComputePool(int num_threads, absl::string_view name, const Clock& clock,
              WorkCount& count, ThreadStarter& starter);
  ~ComputePool();

  // Returns the error for the first thread that was refused, or OK if the pool
  // has all its threads.
  const absl::Status& status() const { return status_; }
  // Runs the waiting closures on the calling thread if the pool has no thread.
  void RunWithoutThreads();

  void Schedule(Scheduler::Closure closure);

  int num_threads() const { return num_threads_; }

  // Returns the number of closures started so far.
  uint64_t num_begun() const;

  // Returns the number of closures that no worker has taken yet.
  int64_t num_waiting() const {
    return std::max<int64_t>(0, num_queued_.load(std::memory_order_relaxed));
  }

  // Returns the recent time from waking a worker until it runs. This is only a
  // hint. If no recent time is known, a short time is assumed, so that a worker
  // is woken and the time is measured.
  absl::Duration wake_time() const;

  // Returns the number of idle workers. This is only a hint.
  int num_idle() const {
    return num_sleeping_.load(std::memory_order_relaxed) +
           num_searching_.load(std::memory_order_relaxed);
  }

 private:
  struct Worker {
    absl::Mutex mutex;
    ClosureQueue queue ABSL_GUARDED_BY(mutex);
    // Is 1 when the worker must wake up. It is on its own cache line, so that
    // sleeping workers do not slow down others.
    alignas(64) std::atomic<uint32_t> wake{0};
    absl::Time woken_at;  // written before `wake`, read after it
    // The number of closures started by this worker. Only the worker writes it.
    alignas(64) std::atomic<uint64_t> num_begun{0};
    // When this worker last searched for work, in Unix nanoseconds.
    std::atomic<int64_t> looked_at{0};
    std::thread thread;
  };

  void Run(int index);
  bool RunOne(int index);
  bool Take(int index, Scheduler::Closure* closure);
  // Looks for work, and sleeps if there is none. Returns true if there may be
  // work, false if the pool stops.
  bool FindWork(int index);
  bool Search(int index);
  // Returns whether a searching worker will notice newly scheduled work at
  // once.
  bool IsSearched() const;
  // Returns whether a worker other than `but` is searching now or was a very
  // short time ago.
  bool AnyLooks(int but) const;
  void Sleep(int index);
  void WakeOne();
  void NoteWakeTime(absl::Time woken_at);
  int OwnQueue() const;  // of the calling thread, or -1

  const Clock& clock_;
  WorkCount& count_;
  std::atomic<int64_t> wake_nanoseconds_;
  std::atomic<int64_t> measured_at_{0};  // Unix nanoseconds
  // Workers without a thread come last; their queues stay empty.
  std::vector<std::unique_ptr<Worker>> workers_;
  absl::Status status_;
  int num_threads_ = 0;
  std::atomic<int64_t> num_queued_{0};
  std::atomic<int> num_searching_{0};
  std::atomic<int> num_sleeping_{0};
  std::atomic<uint32_t> next_queue_{0};
  std::atomic<bool> stopping_{false};
  absl::Mutex sleepers_mutex_;
  std::vector<int> sleepers_ ABSL_GUARDED_BY(sleepers_mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_SCHEDULER_COMPUTE_POOL_H_
