// TimerThread delivers closures when they are due, on one thread that sleeps
// until the next closure is due. It sleeps for a duration and not until a time
// of day, as Abseil's timed waits do: they would last an hour longer if the
// system time is set back by an hour.
//
// Threads: all methods may be called from any thread. The destructor drops
// closures that are not due and joins the thread.
#ifndef WEFT_LIBS_BASE_SCHEDULER_TIMER_THREAD_H_
#define WEFT_LIBS_BASE_SCHEDULER_TIMER_THREAD_H_

#include <atomic>
#include <cstdint>
#include <thread>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/scheduler/thread_starter.h"

namespace weft {

class TimerThread {
 public:
  // Called with each due closure, on the timer thread; must not block.
  using Deliver = absl::AnyInvocable<void(Pool, Scheduler::Closure)>;

  // `clock` must outlive the TimerThread and run as fast as real time.
  TimerThread(const Clock& clock, absl::string_view name,
              ThreadStarter& starter, Deliver deliver);
  ~TimerThread();

  // Returns the error if the system refused the thread. In this case no closure
  // is ever delivered.
  const absl::Status& status() const { return status_; }

  Scheduler::TimerId Add(Pool pool, absl::Time when,
                         Scheduler::Closure closure);
  // Removes a closure. Returns true if the closure will never be delivered.
  bool Cancel(Scheduler::TimerId id);

 private:
  using Key = std::pair<absl::Time, Scheduler::TimerId>;
  struct Timer {
    Pool pool = Pool::kCompute;
    Scheduler::Closure closure;
  };

  void Run();
  // Takes the next closure if it is due. Otherwise sets `left` to the time
  // until it is due, and `seen` to the value of `changes_`. Returns false when
  // the thread must stop.
  bool TakeDue(Timer& due, absl::Duration& left, uint32_t& seen);
  // Makes the thread check for due closures again.
  void NoteChange() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Clock& clock_;
  Deliver deliver_;
  absl::Mutex mutex_;
  std::atomic<uint32_t> changes_{0};  // the futex word of the thread
  absl::btree_map<Key, Timer> timers_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<Scheduler::TimerId, absl::Time> times_
      ABSL_GUARDED_BY(mutex_);
  Scheduler::TimerId next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_;
  std::thread thread_;
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_SCHEDULER_TIMER_THREAD_H_
