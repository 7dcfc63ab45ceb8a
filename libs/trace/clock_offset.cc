#include "libs/trace/clock_offset.h"

namespace weft {

absl::Duration EstimateClockOffset(const RequestTimes& times) {
  const absl::Duration least = times.sent - times.received_there;
  const absl::Duration most = times.answered - times.answered_there;
  if (least > most) return absl::ZeroDuration();
  if (least <= absl::ZeroDuration() && absl::ZeroDuration() <= most) {
    return absl::ZeroDuration();
  }
  return least + (most - least) / 2;
}

}  // namespace weft
