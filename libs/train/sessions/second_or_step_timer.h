// SecondOrStepTimer decides when a hook acts again: after a number of seconds
// or of steps; TensorFlow's timer of the same name.
//
// Threads: one at a time.
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
  // Exactly one of the two must be set, see Check. `clock` must outlive this;
  // null: the system's.
  SecondOrStepTimer(std::optional<absl::Duration> every_secs,
                    std::optional<int64_t> every_steps, const Clock* clock);

  // INVALID_ARGUMENT unless exactly one of the two is set, and positive.
  absl::Status Check() const;

  void Reset();
  // True the first time; never twice for the same step. With seconds, also true
  // if the clock was set back, because the elapsed time is then unknown.
  bool ShouldTriggerForStep(int64_t step) const;

  struct Elapsed {
    absl::Duration time;
    int64_t steps = 0;
  };
  // Elapsed time and steps since the last call; none at the first.
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
