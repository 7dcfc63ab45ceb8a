// Clock: where time comes from. Nothing else in Weft asks for the time, so a
// test that moves a ManualClock by hand moves all of it.
//
// A job that lives for a week sees its machine's clock set. So there are two
// times: one to wait and to measure with, and the time of day.
#ifndef WEFT_LIBS_BASE_CLOCK_H_
#define WEFT_LIBS_BASE_CLOCK_H_

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace weft {

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // For deadlines and for what is measured: it may differ from the time of day
  // where the machine's clock was set meanwhile.
  virtual absl::Time Now() const = 0;
  // The time of day as the machine has it, for what people and other programs
  // compare with theirs: names and times of events, signatures of requests.
  virtual absl::Time WallTime() const { return Now(); }
};

// The machine's clock.
class SystemClock : public Clock {
 public:
  absl::Time Now() const override { return absl::Now(); }
};

// Stands still until moved. Starts at the Unix epoch plus one day.
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
