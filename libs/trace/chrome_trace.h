// A step's StepStats in the JSON that chrome://tracing and ui.perfetto.dev
// show: a process a device, a row a thread, the waits in rows of their own,
// and an arrow from each send to its receive.
//
// The format: "Trace Event Format" (Google, 2016), of which these are written:
// complete events (X), metadata (M) and flows (s, f). The events are named as
// tensorflow/python/client/timeline.py names them.
#ifndef WEFT_LIBS_TRACE_CHROME_TRACE_H_
#define WEFT_LIBS_TRACE_CHROME_TRACE_H_

#include <string>

#include "libs/trace/step_stats.h"

namespace weft {

// Of any StepStats, TensorFlow's too.
std::string ChromeTrace(const StepStats& stats);

}  // namespace weft

#endif  // WEFT_LIBS_TRACE_CHROME_TRACE_H_
