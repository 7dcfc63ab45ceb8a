// BlockingPool: threads for work that may block. Starts a thread when work
// waits and no thread is free, up to a bound; keeps the threads it has.
//
// Threads: Schedule from any; the destructor joins after everything scheduled
// has run.
#ifndef WEFT_LIBS_BASE_BLOCKING_POOL_H_
#define WEFT_LIBS_BASE_BLOCKING_POOL_H_

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/closure_queue.h"
#include "libs/base/scheduler.h"
#include "libs/base/work_count.h"

namespace weft {

class BlockingPool {
 public:
  // Counts every closure in `count`, which outlives the pool. `name` begins the
  // names of its threads, which are numbered.
  BlockingPool(int max_threads, absl::string_view name, WorkCount& count);
  ~BlockingPool();

  void Schedule(Scheduler::Closure closure);

  // Closures that no thread has taken yet, and the threads there are.
  int64_t num_waiting() const ABSL_LOCKS_EXCLUDED(mutex_);
  int num_threads() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void StartThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Run();

  const int max_threads_;
  const std::string name_;
  WorkCount& count_;
  mutable absl::Mutex mutex_;
  absl::CondVar work_or_stop_;
  ClosureQueue queue_ ABSL_GUARDED_BY(mutex_);
  size_t num_idle_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_BLOCKING_POOL_H_
