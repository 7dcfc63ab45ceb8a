// MonotoneClock: the machine's time when it was made, and from then on a clock
// that nobody sets: for those who wait or measure for hours, while the
// machine's own (SystemClock) may be set back or forward. Its WallTime is the
// machine's.
#ifndef WEFT_LIBS_BASE_MONOTONE_CLOCK_H_
#define WEFT_LIBS_BASE_MONOTONE_CLOCK_H_

#include <chrono>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "libs/base/clock.h"

namespace weft {

// Thread-safe. A machine that sleeps lets it stand still.
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
