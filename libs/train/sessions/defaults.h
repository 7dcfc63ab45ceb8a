// Defaults for options with a logger or a scheduler: the given object, or a new
// one if the option is null.
#ifndef WEFT_LIBS_TRAIN_SESSIONS_DEFAULTS_H_
#define WEFT_LIBS_TRAIN_SESSIONS_DEFAULTS_H_

#include <memory>

#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/base/monotone_clock.h"
#include "libs/base/scheduler/scheduler.h"

namespace weft::train {

// DefaultLogger is the given logger, or a new one that it owns. It is as
// thread-safe as the logger.
class DefaultLogger {
 public:
  // `given` must outlive this object; null: log to stderr.
  explicit DefaultLogger(Logger* given)
      : own_(given == nullptr ? NewConsoleLogger("train") : nullptr),
        logger_(given == nullptr ? *own_ : *given) {}

  Logger* operator->() const { return &logger_; }
  Logger& operator*() const { return logger_; }

 private:
  const std::unique_ptr<Logger> own_;
  Logger& logger_;
};

// DefaultScheduler is the given scheduler, or a new one that it owns, used for
// waits. It is as thread-safe as the scheduler.
class DefaultScheduler {
 public:
  // `given` must outlive this object. Null: a new scheduler on the system
  // clock.
  explicit DefaultScheduler(Scheduler* given)
      : own_(given == nullptr
                 ? NewThreadScheduler(clock_,
                                      {.compute_threads = 1, .name = "train"})
                 : nullptr),
        scheduler_(given == nullptr ? *own_ : *given) {}

  Scheduler* operator->() const { return &scheduler_; }
  absl::Time Now() const { return scheduler_.clock().Now(); }
  // The event is never set, so WaitUntil only sleeps.
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
