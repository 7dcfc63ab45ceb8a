// Report prints the results of a benchmark, as text while it runs and
// optionally as one JSON object on the last line. Workloads and metrics have
// the same names as in the TensorFlow benchmarks, so that results can be
// compared by name (benchmarks/compare).
//
// The measuring code uses the system's steady clock instead of a Clock, because
// it is not part of Weft.
#ifndef WEFT_BENCHMARKS_COMMON_REPORT_H_
#define WEFT_BENCHMARKS_COMMON_REPORT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "libs/base/scheduler/scheduler.h"

namespace weft::benchmarks {

// Returns the time of the system's steady clock in seconds. All processes share
// this clock.
double Now();

// The durations of the steps of a loop.
struct Timing {
  std::vector<double> seconds;  // sorted durations of the steps
  double steps_per_second = 0;  // rate of the whole loop

  double Quantile(double q) const;
};

// Runs `step` `warmup` times without timing it. Then times it until `steps`
// steps have run or `max_seconds` have passed.
Timing Measure(const std::function<void()>& step, int steps, int warmup,
               double max_seconds);

// Runs `step` repeatedly in `threads` threads for `seconds`. Returns the steps
// per second of all threads together. `step` gets the index of its thread.
double RateOfThreads(Scheduler& scheduler, int threads,
                     const std::function<void(int)>& step, double seconds);

// If the status is not OK, ends the program with exit code 1 and prints the
// error to stderr.
void Check(const absl::Status& status);

// Ends the program with exit code 2 and prints the message to stderr. For
// invalid arguments.
[[noreturn]] void Refuse(const std::string& sentence);

class Report {
 public:
  explicit Report(std::string workload) : workload_(std::move(workload)) {}

  void Param(const std::string& name, double value);
  void Param(const std::string& name, const std::string& value);
  // Reports the median and the 99th percentile of the durations in
  // microseconds, as `name`.
  void Latency(const std::string& name, const Timing& timing);
  // Reports one value, such as a rate. If `goal` is not empty, it is printed
  // beside the value.
  void Value(const std::string& name, double value, const std::string& unit,
             const std::string& goal = "");

  // If `json` is true, prints the results as a JSON object.
  void Finish(bool json) const;

 private:
  struct Metric {
    std::string name;
    double median;
    double p99;  // negative if single steps were not timed
    std::string unit;
  };

  const std::string workload_;
  std::vector<std::pair<std::string, std::variant<double, std::string>>>
      params_;
  std::vector<Metric> metrics_;
};

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_COMMON_REPORT_H_
