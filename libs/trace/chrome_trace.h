// ChromeTrace converts a step's StepStats to the JSON format of
// chrome://tracing and ui.perfetto.dev: a process per device, a row per thread,
// separate rows for waits, and an arrow from each send to its receive.
//
// The format is "Trace Event Format" (Google, 2016). The trace contains
// complete events (X), metadata (M) and flows (s, f). Events have the same
// names as in tensorflow/python/client/timeline.py.
#ifndef WEFT_LIBS_TRACE_CHROME_TRACE_H_
#define WEFT_LIBS_TRACE_CHROME_TRACE_H_

#include <string>

#include "libs/trace/step_stats.h"

namespace weft {

// Returns the trace of any StepStats, including TensorFlow's.
std::string ChromeTrace(const StepStats& stats);

}  // namespace weft

#endif  // WEFT_LIBS_TRACE_CHROME_TRACE_H_
