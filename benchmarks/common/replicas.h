// Replicas are worker processes that train one model asynchronously. All warm
// up, wait for each other and time their steps; cluster totals are counted from
// the first start to the last end.
#ifndef WEFT_BENCHMARKS_COMMON_REPLICAS_H_
#define WEFT_BENCHMARKS_COMMON_REPLICAS_H_

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "benchmarks/common/child_process.h"
#include "benchmarks/common/report.h"

namespace weft::benchmarks {

inline constexpr int kWarmupSteps = 20;  // of each worker

// Timed holds the measurements of a worker's timed steps.
struct Timed {
  double begin = 0, end = 0;  // seconds of the clock that all processes share
  Timing timing;
  // Global steps, for models that count them.
  double first_step = 0, last_step = 0;
};

std::string ToLine(const Timed& timed);
// Ends the program if the line is malformed.
Timed FromLine(const std::string& line);

// Total combines the measurements of all workers.
struct Total {
  double seconds = 0;    // from the first start to the last end
  double steps = 0;      // of all workers
  double last_step = 0;  // the highest global step
};
Total TotalOf(const std::vector<Timed>& timed);

// ---- in a worker's process ----

// Runs `step` until it returns false.
Timed TimeSteps(const std::function<bool()>& step);

// Reports that the worker is warm, times once all are, reports the result and
// waits until all have finished.
void ReportTimed(Lines& main, const std::function<Timed()>& time);

// ---- in the program that starts them ----

using Workers = std::deque<ChildProcess>;

// Lets the first worker initialize the variables, which it reports by a line,
// while the others wait; then returns the results of the first `counted`
// workers.
std::vector<Timed> TimeTogether(Workers& workers, int counted);

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_COMMON_REPLICAS_H_
