// StepCounter numbers the steps of one master and knows below which number all
// are over, so that tasks may forget them.
#ifndef WEFT_LIBS_MASTER_STEP_COUNTER_H_
#define WEFT_LIBS_MASTER_STEP_COUNTER_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/async/in_flight.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/master/running_steps.h"
#include "libs/protocol/worker/worker.h"

namespace weft {

// StepCounter is thread-safe. It allocates only if more steps run at once than
// ever before.
class StepCounter {
 public:
  uint64_t Begin() {
    in_flight_.Begin();
    absl::MutexLock lock(&mutex_);
    running_.Add(next_);
    return next_++;
  }

  // Returns a number that no step has. It is later than all steps with lower
  // numbers, and earlier than all steps with higher ones.
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

  // Waits until no step runs. Returns false if `deadline` passed first.
  bool WaitUntilNone(Scheduler& scheduler, absl::Time deadline) {
    return in_flight_.WaitUntilNone(scheduler, deadline);
  }

  // Returns the number of the next step. All steps so far have lower numbers.
  uint64_t next() const {
    absl::MutexLock lock(&mutex_);
    return next_;
  }

  bool HasRunning() const {
    absl::MutexLock lock(&mutex_);
    return !running_.empty();
  }

  uint64_t finished_below() const {
    absl::MutexLock lock(&mutex_);
    return FinishedBelow();
  }

  // Returns the number below which all steps have ended. If the oldest running
  // step is more than kOldSteps behind, sets `more` to the later steps that
  // have ended; otherwise does not change `more`.
  uint64_t FindFinished(protocol::FinishedSteps& more) const {
    absl::MutexLock lock(&mutex_);
    const uint64_t below = FinishedBelow();
    if (next_ - below <= kOldSteps) return below;
    const uint64_t after =
        running_.CopyFirst(protocol::FinishedSteps::kMaxRunning, more.running);
    more.below = after != 0 ? after : next_;
    return below;
  }

 private:
  // How far the oldest step must be behind. A task needs a few hundred bytes
  // for the state of that many steps.
  static constexpr uint64_t kOldSteps = 4096;

  uint64_t FinishedBelow() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return running_.empty() ? next_ : running_.front();
  }

  InFlight in_flight_;
  mutable absl::Mutex mutex_;
  uint64_t next_ ABSL_GUARDED_BY(mutex_) = 1;
  RunningSteps running_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_STEP_COUNTER_H_
