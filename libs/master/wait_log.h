// WaitLog logs that a wait is still going on: after an interval, then each time
// its duration has doubled.
//
// Threads: thread-safe.
#ifndef WEFT_LIBS_MASTER_WAIT_LOG_H_
#define WEFT_LIBS_MASTER_WAIT_LOG_H_

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/clock.h"
#include "libs/base/doubling_times.h"
#include "libs/base/scheduler/scheduler.h"

namespace weft {

class WaitLog : public std::enable_shared_from_this<WaitLog> {
 public:
  // `say` is first called when the interval has passed; never, if that is
  // infinite. It must return soon. `scheduler` must outlive the log.
  static std::shared_ptr<WaitLog> Begin(Scheduler& scheduler,
                                        absl::Duration interval,
                                        absl::AnyInvocable<void()> say) {
    auto log = std::make_shared<WaitLog>(scheduler, interval, std::move(say));
    absl::MutexLock lock(&log->mutex_);
    log->Arm();
    return log;
  }
  WaitLog(Scheduler& scheduler, absl::Duration interval,
          absl::AnyInvocable<void()> say)
      : scheduler_(scheduler),
        say_(std::move(say)),
        times_(scheduler.clock().Now(), interval) {}

  // A running call of `say` continues; there are no more after that.
  void End() {
    absl::MutexLock lock(&mutex_);
    ended_ = true;
    if (timer_ != 0) scheduler_.CancelTimer(timer_);
    timer_ = 0;
  }

 private:
  void Arm() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (times_.next() == absl::InfiniteFuture()) return;
    timer_ = scheduler_.ScheduleAt(times_.next(), [weak = weak_from_this()] {
      if (auto log = weak.lock()) log->Tick();
    });
    times_.Advance();
  }
  // One at a time: the next timer is set when this one has finished.
  void Tick() {
    {
      absl::MutexLock lock(&mutex_);
      if (ended_) return;
    }
    say_();
    absl::MutexLock lock(&mutex_);
    if (!ended_) Arm();
  }

  Scheduler& scheduler_;
  absl::AnyInvocable<void()> say_;  // for one Tick at a time
  absl::Mutex mutex_;
  DoublingTimes times_ ABSL_GUARDED_BY(mutex_);
  Scheduler::TimerId timer_ ABSL_GUARDED_BY(mutex_) = 0;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_WAIT_LOG_H_
