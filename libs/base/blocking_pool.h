// BlockingPool: threads for work that may block. Has some from the start,
// starts a thread when work waits and no thread is free, up to a bound, and
// keeps the threads it has. Where it is refused a thread, work waits for those.
//
// Threads: Schedule from any; the destructor joins after everything scheduled
// has run.
#ifndef WEFT_LIBS_BASE_BLOCKING_POOL_H_
#define WEFT_LIBS_BASE_BLOCKING_POOL_H_

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/closure_queue.h"
#include "libs/base/scheduler.h"
#include "libs/base/thread_starter.h"
#include "libs/base/work_count.h"

namespace weft {

class BlockingPool {
 public:
  // Reports that a thread was refused, without a lock held. The pool asks for
  // no other thread until StartMissing, which the callee calls later.
  using OnRefused =
      std::function<void(BlockingPool& pool, const absl::Status& why)>;

  struct Threads {
    int min = 1;  // which it has from the start
    int max = 1;
  };

  // Counts every closure in `count`, which outlives the pool. `name` begins the
  // names of its threads, which are numbered.
  BlockingPool(Threads threads, absl::string_view name, WorkCount& count,
               ThreadStarter& starter, OnRefused on_refused);
  // Runs what waits for a thread if there is none.
  ~BlockingPool();

  void Schedule(Scheduler::Closure closure) ABSL_LOCKS_EXCLUDED(mutex_);

  // After a refusal: starts a thread if work waits for one.
  void StartMissing() ABSL_LOCKS_EXCLUDED(mutex_);
  // Runs on this thread what waits, if the pool has no thread.
  void RunWithoutThreads() ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string& name() const { return name_; }
  // Not OK: a thread of the smallest number was refused at the start.
  const absl::Status& status() const { return status_; }
  // Closures that no thread has taken yet, and the threads there are.
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

#endif  // WEFT_LIBS_BASE_BLOCKING_POOL_H_
