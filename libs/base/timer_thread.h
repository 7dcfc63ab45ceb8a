// TimerThread: hands closures over when their time has come, by one thread that
// sleeps until the next.
//
// Threads: all methods from any. The destructor drops what is not due and
// joins.
#ifndef WEFT_LIBS_BASE_TIMER_THREAD_H_
#define WEFT_LIBS_BASE_TIMER_THREAD_H_

#include <thread>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/scheduler.h"

namespace weft {

class TimerThread {
 public:
  // Called with each due closure, on the timer thread; must not block.
  using Deliver = absl::AnyInvocable<void(Scheduler::Closure)>;

  // `clock` outlives the thread and runs as fast as real time.
  TimerThread(const Clock& clock, absl::string_view name, Deliver deliver);
  ~TimerThread();

  Scheduler::TimerId Add(absl::Time when, Scheduler::Closure closure);
  // True if the closure will never be delivered.
  bool Cancel(Scheduler::TimerId id);

 private:
  using Key = std::pair<absl::Time, Scheduler::TimerId>;

  void Run();

  const Clock& clock_;
  Deliver deliver_;
  absl::Mutex mutex_;
  absl::CondVar changed_;
  absl::btree_map<Key, Scheduler::Closure> timers_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<Scheduler::TimerId, absl::Time> times_
      ABSL_GUARDED_BY(mutex_);
  Scheduler::TimerId next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_TIMER_THREAD_H_
