// Clock is the source of time. Nothing else in Weft reads the time, so a test
// that advances a ManualClock controls all of it.
//
// The system time may be set during a long job. So there are two times: one for
// waiting and measuring, and the time of day.
#ifndef WEFT_LIBS_BASE_CLOCK_H_
#define WEFT_LIBS_BASE_CLOCK_H_

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace weft {

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // The time for deadlines and measurements. It may differ from the time of day
  // after the system time was set.
  virtual absl::Time Now() const = 0;
  // The time of day of the system, for values that people and other programs
  // compare with their own: file names and times of events, request signatures.
  virtual absl::Time WallTime() const { return Now(); }
};

// The system clock.
class SystemClock : public Clock {
 public:
  absl::Time Now() const override { return absl::Now(); }
};

// Stands still until it is advanced. Starts one day after the Unix epoch.
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
