// RuntimeMetrics are metrics of one task, about the steps that run partitions
// on it.
#ifndef WEFT_LIBS_RUNTIME_RUNTIME_METRICS_H_
#define WEFT_LIBS_RUNTIME_RUNTIME_METRICS_H_

#include "libs/base/counter.h"
#include "libs/kernels/checkpoint_metrics.h"
#include "libs/metrics/histogram.h"

namespace weft {

// Thread-safe.
struct RuntimeMetrics {
  Counter steps_begun;
  Counter step_errors;
  // The durations of ended steps, successful or not: from the request to the
  // answer, including the time that the step waited.
  Histogram step_seconds{SecondsOfSteps()};
  CheckpointMetrics checkpoints;
};

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_RUNTIME_METRICS_H_
