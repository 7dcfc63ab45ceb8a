#include "libs/train/sessions/second_or_step_timer.h"

namespace weft::train {

SecondOrStepTimer::SecondOrStepTimer(std::optional<absl::Duration> every_secs,
                                     std::optional<int64_t> every_steps,
                                     const Clock* clock)
    : every_secs_(every_secs), every_steps_(every_steps), clock_(clock) {}

absl::Status SecondOrStepTimer::Check() const {
  if (every_secs_.has_value() && every_steps_.has_value()) {
    return absl::InvalidArgumentError(
        "Can not provide both every_secs and every_steps.");
  }
  if (!every_secs_.has_value() && !every_steps_.has_value()) {
    return absl::InvalidArgumentError(
        "Either every_secs or every_steps should be provided.");
  }
  if (every_steps_.value_or(1) < 1 ||
      every_secs_.value_or(absl::Seconds(1)) <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        "every_secs and every_steps must be more than 0.");
  }
  return absl::OkStatus();
}

void SecondOrStepTimer::Reset() { last_step_.reset(); }

bool SecondOrStepTimer::ShouldTriggerForStep(int64_t step) const {
  if (!last_step_.has_value()) return true;
  if (*last_step_ == step) return false;
  if (every_secs_.has_value()) {
    const absl::Time now = Now();
    return now >= last_time_ + *every_secs_ || now < last_time_;
  }
  return every_steps_.has_value() && step - *last_step_ >= *every_steps_;
}

std::optional<SecondOrStepTimer::Elapsed>
SecondOrStepTimer::UpdateLastTriggeredStep(int64_t step) {
  const absl::Time now = Now();
  std::optional<Elapsed> elapsed;
  if (last_step_.has_value()) elapsed = {now - last_time_, step - *last_step_};
  last_step_ = step;
  last_time_ = now;
  return elapsed;
}

}  // namespace weft::train
