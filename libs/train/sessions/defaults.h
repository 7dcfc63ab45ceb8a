// Defaults for options that name a logger or a scheduler: the given object, or
// one that the owner of the options creates.
#ifndef WEFT_LIBS_TRAIN_SESSIONS_DEFAULTS_H_
#define WEFT_LIBS_TRAIN_SESSIONS_DEFAULTS_H_

#include <memory>

#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/base/monotone_clock.h"
#include "libs/base/scheduler/scheduler.h"

namespace weft::train {

// DefaultLogger is the given logger, or one of its own. Threads: as the
// logger's.
class DefaultLogger {
 public:
  // `given` must outlive this; null: log to stderr.
  explicit DefaultLogger(Logger* given)
      : own_(given == nullptr ? NewConsoleLogger("train") : nullptr),
        logger_(given == nullptr ? *own_ : *given) {}

  Logger* operator->() const { return &logger_; }
  Logger& operator*() const { return logger_; }

 private:
  const std::unique_ptr<Logger> own_;
  Logger& logger_;
};

// DefaultScheduler is the given scheduler, or one of its own, used for waits.
// Threads: as the scheduler's.
class DefaultScheduler {
 public:
  // `given` must outlive this; null: a scheduler of its own, on the system
  // clock.
  explicit DefaultScheduler(Scheduler* given)
      : own_(given == nullptr
                 ? NewThreadScheduler(clock_,
                                      {.compute_threads = 1, .name = "train"})
                 : nullptr),
        scheduler_(given == nullptr ? *own_ : *given) {}

  Scheduler* operator->() const { return &scheduler_; }
  absl::Time Now() const { return scheduler_.clock().Now(); }
  // The event is never set, so this sleeps.
  void Sleep(absl::Duration duration) const {
    scheduler_.NewEvent()->WaitUntil(Now() + duration);
  }

 private:
  MonotoneClock clock_;
  const std::unique_ptr<Scheduler> own_;
  Scheduler& scheduler_;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SESSIONS_DEFAULTS_H_
