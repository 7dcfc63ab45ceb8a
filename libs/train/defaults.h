// What options that name a logger or a scheduler stand for: that one, or one of
// its owner's own.
#ifndef WEFT_LIBS_TRAIN_DEFAULTS_H_
#define WEFT_LIBS_TRAIN_DEFAULTS_H_

#include <memory>

#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/base/monotone_clock.h"
#include "libs/base/scheduler.h"

namespace weft::train {

// Threads: as the logger's.
class DefaultLogger {
 public:
  // `given` outlives it; null: lines on stderr.
  explicit DefaultLogger(Logger* given)
      : own_(given == nullptr ? NewConsoleLogger("train") : nullptr),
        logger_(given == nullptr ? *own_ : *given) {}

  Logger* operator->() const { return &logger_; }
  Logger& operator*() const { return logger_; }

 private:
  const std::unique_ptr<Logger> own_;
  Logger& logger_;
};

// To wait with. Threads: as the scheduler's.
class DefaultScheduler {
 public:
  // `given` outlives it; null: one of its own, of time that nobody sets.
  explicit DefaultScheduler(Scheduler* given)
      : own_(given == nullptr
                 ? NewThreadScheduler(clock_,
                                      {.compute_threads = 1, .name = "train"})
                 : nullptr),
        scheduler_(given == nullptr ? *own_ : *given) {}

  Scheduler* operator->() const { return &scheduler_; }
  absl::Time Now() const { return scheduler_.clock().Now(); }
  // Nobody sets the event: this is a sleep.
  void Sleep(absl::Duration duration) const {
    scheduler_.NewEvent()->WaitUntil(Now() + duration);
  }

 private:
  MonotoneClock clock_;
  const std::unique_ptr<Scheduler> own_;
  Scheduler& scheduler_;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_DEFAULTS_H_
