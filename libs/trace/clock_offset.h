// EstimateClockOffset estimates the difference between another task's clock and
// this task's, from the times of one request and its reply.
#ifndef WEFT_LIBS_TRACE_CLOCK_OFFSET_H_
#define WEFT_LIBS_TRACE_CLOCK_OFFSET_H_

#include "absl/time/time.h"

namespace weft {

// The times of one request. `sent` and `answered` (when the reply arrived) are
// times of this task's clock. `received_there` and `answered_there` are times
// of the other task's clock.
struct RequestTimes {
  absl::Time sent;
  absl::Time received_there;
  absl::Time answered_there;
  absl::Time answered;
};

// Returns the duration that must be added to times of the other task to convert
// them to this task's clock.
// A message arrives after it was sent, which limits the difference from both
// sides. The result is 0 if these limits allow it, as they do for tasks of one
// machine. Otherwise it is the middle between the limits, as in NTP (RFC 5905,
// section 8). The error of the middle is at most half of the time that request
// and reply were in flight, and the error of 0 is at most this whole time. The
// result is also 0 if the times contradict each other because a clock was set
// meanwhile.
absl::Duration EstimateClockOffset(const RequestTimes& times);

}  // namespace weft

#endif  // WEFT_LIBS_TRACE_CLOCK_OFFSET_H_
