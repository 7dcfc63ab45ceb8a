// Replicas are worker processes that train one model asynchronously. All
// replicas warm up, wait for each other and then time their steps. The totals
// of the cluster are counted from the start of the first worker to the end of
// the last one.
#ifndef WEFT_BENCHMARKS_COMMON_REPLICAS_H_
#define WEFT_BENCHMARKS_COMMON_REPLICAS_H_

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "benchmarks/common/child_process.h"
#include "benchmarks/common/report.h"

namespace weft::benchmarks {

inline constexpr int kWarmupSteps = 20;  // untimed steps of each worker

// Timed contains the measurements of one worker's timed steps.
struct Timed {
  // in seconds of the clock that all processes share
  double begin = 0, end = 0;
  Timing timing;
  // The global steps at the beginning and at the end, for models that count
  // steps.
  double first_step = 0, last_step = 0;
};

std::string ToLine(const Timed& timed);
// Parses the line of a worker. Ends the program if it is malformed.
Timed FromLine(const std::string& line);

// Total combines the measurements of all workers.
struct Total {
  // from the start of the first worker to the end of the last one
  double seconds = 0;
  double steps = 0;      // steps of all workers
  double last_step = 0;  // the highest global step
};
Total TotalOf(const std::vector<Timed>& timed);

// Runs `step` until it returns false, in a worker's process, and times it.
Timed TimeSteps(const std::function<bool()>& step);

// Tells the main program that the worker is warm. When all workers are warm,
// runs `time`, reports its result, and waits until all workers have finished.
void ReportTimed(Lines& main, const std::function<Timed()>& time);

// ---- for the program that starts the workers ----

using Workers = std::deque<ChildProcess>;

// Waits until the first worker has initialized the variables, while the other
// workers wait. Then returns the results of the first `counted` workers.
std::vector<Timed> TimeTogether(Workers& workers, int counted);

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_COMMON_REPLICAS_H_
