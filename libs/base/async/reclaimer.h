// Reclaimer destroys large objects one at a time on its own thread, whichever
// thread releases the last reference. So a thread that reads messages or ends
// steps can release the last reference to a session without spending time on
// freeing it. A destructor may also close files and wait for them. This delays
// only later destructions by the same Reclaimer.
//
//   std::shared_ptr<Session> session =
//       reclaimer->Own(std::make_unique<Session>());
//
// Threads: all methods may be called from any thread, but WaitUntilNone by only
// one thread at a time. Destructors run on one thread of Pool::kUnbounded,
// without a lock held.
#ifndef WEFT_LIBS_BASE_ASYNC_RECLAIMER_H_
#define WEFT_LIBS_BASE_ASYNC_RECLAIMER_H_

#include <deque>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/async/in_flight.h"
#include "libs/base/scheduler/scheduler.h"

namespace weft {

// A Reclaimer must be owned by a shared_ptr, because objects that are being
// destroyed hold a reference to it.
class Reclaimer : public std::enable_shared_from_this<Reclaimer> {
 public:
  // `scheduler` must outlive all objects.
  explicit Reclaimer(Scheduler& scheduler) : scheduler_(scheduler) {}

  // Takes ownership of `object`, and destroys it on the Reclaimer's thread when
  // the last reference is gone.
  template <typename T>
  std::shared_ptr<T> Own(std::unique_ptr<T> object) {
    return std::shared_ptr<T>(
        object.release(), [self = shared_from_this()](T* last) {
          self->Destroy([object = std::unique_ptr<T>(last)]() mutable {
            object.reset();
          });
        });
  }

  // Waits until all released objects have been destroyed. Blocks; must not be
  // called from one of their destructors.
  void WaitUntilNone() {
    (void)in_flight_.WaitUntilNone(scheduler_, absl::InfiniteFuture());
  }

 private:
  // Calls `end`, which owns the object and destroys it, on the Reclaimer's
  // thread.
  void Destroy(Scheduler::Closure end) ABSL_LOCKS_EXCLUDED(mutex_) {
    in_flight_.Begin();
    {
      absl::MutexLock lock(&mutex_);
      waiting_.push_back(std::move(end));
      if (std::exchange(is_running_, true)) return;
    }
    scheduler_.Schedule(Pool::kUnbounded,
                        [self = shared_from_this()] { self->Run(); });
  }

  void Run() {
    while (Scheduler::Closure end = Next()) {
      end();
      end = nullptr;
      in_flight_.End();
    }
  }

  // Returns the next closure that owns an object to destroy, or null if no
  // object is left.
  Scheduler::Closure Next() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    is_running_ = !waiting_.empty();
    if (!is_running_) return nullptr;
    Scheduler::Closure next = std::move(waiting_.front());
    waiting_.pop_front();
    return next;
  }

  Scheduler& scheduler_;
  InFlight in_flight_;
  absl::Mutex mutex_;
  bool is_running_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<Scheduler::Closure> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_ASYNC_RECLAIMER_H_
