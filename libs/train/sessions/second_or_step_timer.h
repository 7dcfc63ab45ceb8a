// SecondOrStepTimer decides when a hook acts again: after a number of seconds
// or of steps, like TensorFlow's timer of the same name.
//
// Threads: only one call at a time is allowed.
#ifndef WEFT_LIBS_TRAIN_SESSIONS_SECOND_OR_STEP_TIMER_H_
#define WEFT_LIBS_TRAIN_SESSIONS_SECOND_OR_STEP_TIMER_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "libs/base/clock.h"
#include "libs/base/monotone_clock.h"

namespace weft::train {

class SecondOrStepTimer {
 public:
  // Exactly one of every_secs and every_steps must be set; see Check. `clock`
  // must outlive the timer; null: the system's clock.
  SecondOrStepTimer(std::optional<absl::Duration> every_secs,
                    std::optional<int64_t> every_steps, const Clock* clock);

  // Returns INVALID_ARGUMENT unless exactly one interval is set, and is
  // positive.
  absl::Status Check() const;

  void Reset();
  // Returns true the first time, and whenever the interval has passed, but
  // never twice for the same step. With seconds, also returns true if the clock
  // was set back, because the elapsed time is then unknown.
  bool ShouldTriggerForStep(int64_t step) const;

  struct Elapsed {
    absl::Duration time;
    int64_t steps = 0;
  };
  // Returns the time and steps that have passed since the last call; null at
  // the first call.
  std::optional<Elapsed> UpdateLastTriggeredStep(int64_t step);
  const std::optional<int64_t>& last_triggered_step() const {
    return last_step_;
  }

 private:
  absl::Time Now() const {
    return clock_ != nullptr ? clock_->Now() : own_clock_.Now();
  }

  const std::optional<absl::Duration> every_secs_;
  const std::optional<int64_t> every_steps_;
  const Clock* const clock_;
  MonotoneClock own_clock_;
  std::optional<int64_t> last_step_;
  absl::Time last_time_;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SESSIONS_SECOND_OR_STEP_TIMER_H_
