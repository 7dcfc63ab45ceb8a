// BlockingPool runs closures that may block. It starts with a minimum number of
// threads. When work waits and no thread is free, it adds a thread, up to a
// maximum. It never stops a thread before its destructor. If the system refuses
// a thread, work waits for the existing threads.
//
// Threads: Schedule may be called from any thread. The destructor joins the
// threads after everything scheduled has run.
#ifndef WEFT_LIBS_BASE_SCHEDULER_BLOCKING_POOL_H_
#define WEFT_LIBS_BASE_SCHEDULER_BLOCKING_POOL_H_

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/scheduler/closure_queue.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/scheduler/thread_starter.h"
#include "libs/base/scheduler/work_count.h"

namespace weft {

class BlockingPool {
 public:
  // Is called when the system refused a thread, without a lock held. The pool
  // does not ask for further threads until StartMissing is called.
  using OnRefused =
      std::function<void(BlockingPool& pool, const absl::Status& why)>;

  struct Threads {
    int min = 1;  // started by the constructor
    int max = 1;
  };

  // Every scheduled closure is counted in `count`, which must outlive the pool.
  // Thread names are `name` followed by a number.
  BlockingPool(Threads threads, absl::string_view name, WorkCount& count,
               ThreadStarter& starter, OnRefused on_refused);
  // If the pool has no thread, the destructor runs the waiting closures itself.
  ~BlockingPool();

  void Schedule(Scheduler::Closure closure) ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends the pause after a refusal: starts a thread if work waits for one.
  void StartMissing() ABSL_LOCKS_EXCLUDED(mutex_);
  // Runs the waiting closures on the calling thread if the pool has no thread.
  void RunWithoutThreads() ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string& name() const { return name_; }
  // Returns the error if one of the minimum number of threads was refused at
  // the start, else OK.
  const absl::Status& status() const { return status_; }
  // Return the number of closures that no thread has taken yet, and the current
  // number of threads.
  int64_t num_waiting() const ABSL_LOCKS_EXCLUDED(mutex_);
  int num_threads() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::Status StartThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsThreadMissing() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool PopUnthreaded(Scheduler::Closure& closure) ABSL_LOCKS_EXCLUDED(mutex_);
  void Run();

  const size_t max_threads_;
  const std::string name_;
  WorkCount& count_;
  ThreadStarter& starter_;
  const OnRefused on_refused_;
  absl::Status status_;  // constant after the constructor
  mutable absl::Mutex mutex_;
  absl::CondVar work_or_stop_;
  ClosureQueue queue_ ABSL_GUARDED_BY(mutex_);
  size_t num_idle_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_refused_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_SCHEDULER_BLOCKING_POOL_H_
