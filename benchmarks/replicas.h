// Replicas: worker processes that train one model asynchronously. All warm up,
// wait for each other and time their steps; what the cluster does is counted
// from the first one's begin to the last one's end.
#ifndef WEFT_BENCHMARKS_REPLICAS_H_
#define WEFT_BENCHMARKS_REPLICAS_H_

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "benchmarks/child_process.h"
#include "benchmarks/report.h"

namespace weft::benchmarks {

inline constexpr int kWarmupSteps = 20;  // of each worker

// What a worker says of its timed steps.
struct Timed {
  double begin = 0, end = 0;  // seconds of the clock that all processes share
  Timing timing;
  double first_step = 0, last_step = 0;  // global steps, of models that count
};

std::string ToLine(const Timed& timed);
// Ends the program where it is none.
Timed FromLine(const std::string& line);

// What all workers come to.
struct Total {
  double seconds = 0;    // from the first begin to the last end
  double steps = 0;      // of all workers
  double last_step = 0;  // the highest global step
};
Total TotalOf(const std::vector<Timed>& timed);

// ---- in a worker's process ----

// Runs `step` until it returns false.
Timed TimeSteps(const std::function<bool()>& step);

// Says that the worker is warm, times once all are, tells how long the steps
// took and waits until all have got there.
void TellTimed(Lines& main, const std::function<Timed()>& time);

// ---- in the program that starts them ----

using Workers = std::deque<ChildProcess>;

// Has the first worker initialise the variables, which it says by a line, and
// the others wait for that; then what the first `counted` of them tell.
std::vector<Timed> TimeTogether(Workers& workers, int counted);

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_REPLICAS_H_
