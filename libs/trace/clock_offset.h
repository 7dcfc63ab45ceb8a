// EstimateClockOffset estimates the difference between another task's clock and
// this task's, from the times of one request and its reply.
#ifndef WEFT_LIBS_TRACE_CLOCK_OFFSET_H_
#define WEFT_LIBS_TRACE_CLOCK_OFFSET_H_

#include "absl/time/time.h"

namespace weft {

// The times of one request: `sent` and `answered` (when the reply arrived) by
// this task's clock, `received_there` and `answered_there` by the other task's.
struct RequestTimes {
  absl::Time sent;
  absl::Time received_there;
  absl::Time answered_there;
  absl::Time answered;
};

// Returns what must be added to the other task's times to convert them to this
// task's clock. A message arrives after it was sent, which bounds the
// difference from both sides: 0 if the bounds allow that, as for tasks of one
// machine, else the middle, as in NTP (RFC 5905, section 8). The error of the
// middle is at most half of the time in flight of request and reply; that of 0,
// all of it. 0 also if the times contradict each other because a clock was set
// meanwhile.
absl::Duration EstimateClockOffset(const RequestTimes& times);

}  // namespace weft

#endif  // WEFT_LIBS_TRACE_CLOCK_OFFSET_H_
