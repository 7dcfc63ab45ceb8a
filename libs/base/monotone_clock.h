// MonotoneClock starts at the system time and then runs as a monotonic clock.
// It is for waits and measurements that last for hours, because the system time
// (SystemClock) may be set meanwhile. Its WallTime is the system time.
#ifndef WEFT_LIBS_BASE_MONOTONE_CLOCK_H_
#define WEFT_LIBS_BASE_MONOTONE_CLOCK_H_

#include <chrono>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "libs/base/clock.h"

namespace weft {

// MonotoneClock is thread-safe. It stands still while the machine is suspended.
class MonotoneClock : public Clock {
 public:
  absl::Time Now() const override {
    return made_ + absl::FromChrono(std::chrono::steady_clock::now() - since_);
  }
  absl::Time WallTime() const override { return absl::Now(); }

 private:
  const absl::Time made_ = absl::Now();
  const std::chrono::steady_clock::time_point since_ =
      std::chrono::steady_clock::now();
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_MONOTONE_CLOCK_H_
