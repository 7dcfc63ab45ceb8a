// StepCounter: numbers the steps of one master and knows below which number all
// are over, so that tasks may forget them.
#ifndef WEFT_LIBS_MASTER_STEP_COUNTER_H_
#define WEFT_LIBS_MASTER_STEP_COUNTER_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/in_flight.h"
#include "libs/base/scheduler.h"
#include "libs/master/running_steps.h"
#include "libs/protocol/worker.h"

namespace weft {

// Thread-safe. Allocates only as long as more steps run at once than ever.
class StepCounter {
 public:
  uint64_t Begin() {
    in_flight_.Begin();
    absl::MutexLock lock(&mutex_);
    running_.Add(next_);
    return next_++;
  }

  // A number that no step has: what happens now came after all steps below it,
  // and before those above.
  uint64_t Skip() {
    absl::MutexLock lock(&mutex_);
    return next_++;
  }

  void End(uint64_t step) {
    {
      absl::MutexLock lock(&mutex_);
      running_.Remove(step);
    }
    in_flight_.End();
  }

  // False when `deadline` came first.
  bool WaitUntilNone(Scheduler& scheduler, absl::Time deadline) {
    return in_flight_.WaitUntilNone(scheduler, deadline);
  }

  // What the next step will be called: all that have begun are below.
  uint64_t next() const {
    absl::MutexLock lock(&mutex_);
    return next_;
  }

  bool HasRunning() const {
    absl::MutexLock lock(&mutex_);
    return !running_.empty();
  }

  uint64_t over_below() const {
    absl::MutexLock lock(&mutex_);
    return OverBelow();
  }

  // The same. Where the oldest step that runs is more than kOldSteps behind,
  // `more` says which of the steps after it are over; else it is not changed.
  uint64_t FindOver(protocol::StepsOver& more) const {
    absl::MutexLock lock(&mutex_);
    const uint64_t below = OverBelow();
    if (next_ - below <= kOldSteps) return below;
    const uint64_t after =
        running_.CopyFirst(protocol::StepsOver::kMaxRunning, more.running);
    more.below = after != 0 ? after : next_;
    return below;
  }

 private:
  // What tasks remember of so many steps takes them a few hundred bytes.
  static constexpr uint64_t kOldSteps = 4096;

  uint64_t OverBelow() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return running_.empty() ? next_ : running_.front();
  }

  InFlight in_flight_;
  mutable absl::Mutex mutex_;
  uint64_t next_ ABSL_GUARDED_BY(mutex_) = 1;
  RunningSteps running_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_STEP_COUNTER_H_
