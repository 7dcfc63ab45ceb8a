// DoublingTimes computes when to report a wait: after 1, 2, 4, 8, ...
// intervals.
//
// DoublingTimes is a plain value and is not synchronized.
#ifndef WEFT_LIBS_BASE_DOUBLING_TIMES_H_
#define WEFT_LIBS_BASE_DOUBLING_TIMES_H_

#include "absl/time/time.h"

namespace weft {

class DoublingTimes {
 public:
  // REQUIRES: `interval` > 0. With an infinite interval, next() is infinite.
  DoublingTimes(absl::Time begin, absl::Duration interval)
      : begin_(begin), age_(interval) {}

  // Return when the next report is due, and how long the wait will have lasted
  // at that time.
  absl::Time next() const { return begin_ + age_; }
  absl::Duration age() const { return age_; }
  // Moves on to the next report.
  void Advance() { age_ *= 2; }

 private:
  absl::Time begin_;
  absl::Duration age_;
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_DOUBLING_TIMES_H_
