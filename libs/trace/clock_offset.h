// How much the clock of another task differs from ours, from the times of one
// request and its reply.
#ifndef WEFT_LIBS_TRACE_CLOCK_OFFSET_H_
#define WEFT_LIBS_TRACE_CLOCK_OFFSET_H_

#include "absl/time/time.h"

namespace weft {

// By our clock: when the request left and the reply was here; by theirs: when
// the request was there and the reply left.
struct RequestTimes {
  absl::Time sent;
  absl::Time received_there;
  absl::Time answered_there;
  absl::Time answered;
};

// What is to be added to their times to have them by our clock. A message
// arrives after it has left, which bounds the difference from both sides: 0
// where the bounds allow that, so for tasks of one machine, else the middle,
// as in NTP (RFC 5905, section 8). The middle is wrong by half of what request
// and reply took on their way, at most; 0, by all of it. 0 also where the times
// contradict each other: a clock was set meanwhile.
absl::Duration EstimateClockOffset(const RequestTimes& times);

}  // namespace weft

#endif  // WEFT_LIBS_TRACE_CLOCK_OFFSET_H_
