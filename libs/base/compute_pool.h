// ComputePool: a fixed number of threads, each with a queue of its own, that
// steal from each other. For work that does not block.
//
// A closure scheduled by a worker goes to that worker's queue, any other to the
// queues in turn. Queues are first in, first out, so nothing starves. A worker
// without work searches all queues for some microseconds, then sleeps on a word
// of its own; scheduling wakes a sleeper only when nobody searches, or who does
// has no processor. How long a sleeper takes to come is measured: by that
// others tell what is worth a thread.
//
// Threads: Schedule from any; the destructor joins after everything scheduled
// has run.
#ifndef WEFT_LIBS_BASE_COMPUTE_POOL_H_
#define WEFT_LIBS_BASE_COMPUTE_POOL_H_

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
#include "libs/base/closure_queue.h"
#include "libs/base/scheduler.h"
#include "libs/base/thread_starter.h"
#include "libs/base/work_count.h"

namespace weft {

class ComputePool {
 public:
  // Counts every closure in `count`, which outlives the pool, as `clock` does.
  // It has fewer threads where it is refused some: see `status`.
  ComputePool(int num_threads, absl::string_view name, const Clock& clock,
              WorkCount& count, ThreadStarter& starter);
  ~ComputePool();

  // Not OK: the first thread that was refused.
  const absl::Status& status() const { return status_; }
  // Runs on this thread what waits, if the pool has no thread.
  void RunWithoutThreads();

  void Schedule(Scheduler::Closure closure);

  int num_threads() const { return num_threads_; }

  // Closures begun so far.
  uint64_t num_begun() const;

  // Closures that no worker has taken yet.
  int64_t num_waiting() const {
    return std::max<int64_t>(0, num_queued_.load(std::memory_order_relaxed));
  }

  // From waking a worker until it runs, lately: a hint. What is not known is
  // taken to be short, so that somebody is woken, and it is known.
  absl::Duration wake_time() const;

  // Workers that have nothing to do now: a hint.
  int num_idle() const {
    return num_sleeping_.load(std::memory_order_relaxed) +
           num_searching_.load(std::memory_order_relaxed);
  }

 private:
  struct Worker {
    absl::Mutex mutex;
    ClosureQueue queue ABSL_GUARDED_BY(mutex);
    // 1: to be woken. Its own cache line: sleepers must not slow others.
    alignas(64) std::atomic<uint32_t> wake{0};
    absl::Time woken_at;  // written before `wake`, read after it
    // Closures that this worker has begun; only it writes.
    alignas(64) std::atomic<uint64_t> num_begun{0};
    // When it looked for work last; Unix nanoseconds.
    std::atomic<int64_t> looked_at{0};
    std::thread thread;
  };

  void Run(int index);
  bool RunOne(int index);
  bool Take(int index, Scheduler::Closure* closure);
  // True when there may be work, false when the pool stops.
  bool FindWork(int index);
  bool Search(int index);
  // Whether a worker will see at once what is scheduled now.
  bool IsSearched() const;
  // Whether a worker, but for one, searches as far as is known, or did a moment
  // ago.
  bool AnyLooks(int but) const;
  void Sleep(int index);
  void WakeOne();
  void NoteWakeTime(absl::Time woken_at);
  int OwnQueue() const;  // of the calling thread; -1 outside the pool

  const Clock& clock_;
  WorkCount& count_;
  std::atomic<int64_t> wake_nanoseconds_;
  std::atomic<int64_t> measured_at_{0};  // Unix nanoseconds
  // Those without a thread are last; their queues stay empty.
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

#endif  // WEFT_LIBS_BASE_COMPUTE_POOL_H_
