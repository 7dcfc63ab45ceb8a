// WaitLog: has something said once an interval, for as long as a wait lasts.
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
#include "libs/base/scheduler.h"

namespace weft {

class WaitLog : public std::enable_shared_from_this<WaitLog> {
 public:
  // `say` is called first when an interval has passed; never, if that is
  // infinite. It must return soon. `scheduler` outlives the log.
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
      : scheduler_(scheduler), interval_(interval), say_(std::move(say)) {}

  // What is being said goes on; no more is said after that.
  void End() {
    absl::MutexLock lock(&mutex_);
    ended_ = true;
    if (timer_ != 0) scheduler_.CancelTimer(timer_);
    timer_ = 0;
  }

 private:
  void Arm() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (interval_ == absl::InfiniteDuration()) return;
    timer_ = scheduler_.ScheduleAt(scheduler_.clock().Now() + interval_,
                                   [weak = weak_from_this()] {
                                     if (auto log = weak.lock()) log->Tick();
                                   });
  }
  // One at a time: the next one is armed when this one has spoken.
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
  const absl::Duration interval_;
  absl::AnyInvocable<void()> say_;  // for one Tick at a time
  absl::Mutex mutex_;
  Scheduler::TimerId timer_ ABSL_GUARDED_BY(mutex_) = 0;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_WAIT_LOG_H_
