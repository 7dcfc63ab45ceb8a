// SessionMetrics are a master's metrics of the steps of its sessions.
#ifndef WEFT_LIBS_MASTER_SESSION_METRICS_H_
#define WEFT_LIBS_MASTER_SESSION_METRICS_H_

#include "libs/base/counter.h"
#include "libs/metrics/histogram.h"

namespace weft {

// Thread-safe.
struct SessionMetrics {
  Counter steps_begun;
  Counter step_errors;
  // Of ended steps, successful or not: over all tasks, including the time that
  // they were held.
  Histogram step_seconds{SecondsOfSteps()};
};

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_SESSION_METRICS_H_
