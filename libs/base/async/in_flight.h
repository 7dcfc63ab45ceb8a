// InFlight counts operations in progress and lets a thread wait until no
// operation is left.
#ifndef WEFT_LIBS_BASE_ASYNC_IN_FLIGHT_H_
#define WEFT_LIBS_BASE_ASYNC_IN_FLIGHT_H_

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/scheduler/scheduler.h"

namespace weft {

// InFlight is thread-safe, but only one thread at a time may wait.
class InFlight {
 public:
  void Begin() {
    absl::MutexLock lock(&mutex_);
    ++count_;
  }

  void End() {
    absl::MutexLock lock(&mutex_);
    if (--count_ == 0 && none_ != nullptr) none_->Set();
  }

  int64_t count() const {
    absl::MutexLock lock(&mutex_);
    return count_;
  }

  // Waits until no operation is in progress. Does not wait for operations that
  // begin after the call. Returns false if `deadline` passes first.
  bool WaitUntilNone(Scheduler& scheduler, absl::Time deadline) {
    const std::unique_ptr<Event> none = scheduler.NewEvent();
    {
      absl::MutexLock lock(&mutex_);
      if (count_ == 0) return true;
      none_ = none.get();
    }
    const bool is_set = none->WaitUntil(deadline);
    // End sets the event while it holds the lock. Taking the lock here ensures
    // that End has finished before `none` is destroyed.
    absl::MutexLock lock(&mutex_);
    none_ = nullptr;
    return is_set;
  }

 private:
  mutable absl::Mutex mutex_;
  int64_t count_ ABSL_GUARDED_BY(mutex_) = 0;
  Event* none_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_ASYNC_IN_FLIGHT_H_
