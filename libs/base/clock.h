// Clock is the source of time. Nothing else in Weft reads the time, so a test
// that advances a ManualClock controls all time in the program.
//
// The system time may be set during a long job. So there are two times: one for
// waiting and measuring, and the time of day.
#ifndef WEFT_LIBS_BASE_CLOCK_H_
#define WEFT_LIBS_BASE_CLOCK_H_

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace weft {

// Clock is thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // Returns the time for deadlines and measurements. It may differ from the
  // time of day after the system time was set.
  virtual absl::Time Now() const = 0;
  // Returns the system's time of day. It is for values that people and other
  // programs compare with their own time: file names, times of events, and
  // request signatures.
  virtual absl::Time WallTime() const { return Now(); }
};

// SystemClock is the clock of the operating system.
class SystemClock : public Clock {
 public:
  absl::Time Now() const override { return absl::Now(); }
};

// ManualClock is a clock for tests that stands still until it is advanced. It
// starts one day after the Unix epoch.
class ManualClock : public Clock {
 public:
  absl::Time Now() const override {
    absl::MutexLock lock(&mutex_);
    return now_;
  }
  void Advance(absl::Duration by) {
    absl::MutexLock lock(&mutex_);
    now_ += by;
  }

 private:
  mutable absl::Mutex mutex_;
  absl::Time now_ ABSL_GUARDED_BY(mutex_) = absl::UnixEpoch() + absl::Hours(24);
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_CLOCK_H_
