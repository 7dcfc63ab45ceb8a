// Report prints the results of a benchmark, as text while it runs and
// optionally as one JSON object on the last line. Workloads and metrics have
// the same names as on TensorFlow's side, so that figures are compared by name
// (benchmarks/compare).
//
// Measuring code uses the system's steady clock directly, because it is not
// part of Weft.
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

// Returns the system's steady clock in seconds, which all processes share.
double Now();

// Durations of the single steps of a loop.
struct Timing {
  std::vector<double> seconds;  // sorted
  double steps_per_second = 0;  // of the whole loop

  double Quantile(double q) const;
};

// Runs `step` `warmup` times, then until `steps` were timed or `max_seconds`
// have passed.
Timing Measure(const std::function<void()>& step, int steps, int warmup,
               double max_seconds);

// Returns the steps per second of `threads` threads, each of which runs steps
// back to back for `seconds`. `step` gets the thread's number.
double RateOfThreads(Scheduler& scheduler, int threads,
                     const std::function<void(int)>& step, double seconds);

// Ends the program with exit code 1 and the error on stderr, unless OK.
void Check(const absl::Status& status);

// Ends the program with exit code 2 and the message on stderr, for invalid
// arguments.
[[noreturn]] void Refuse(const std::string& sentence);

class Report {
 public:
  explicit Report(std::string workload) : workload_(std::move(workload)) {}

  void Param(const std::string& name, double value);
  void Param(const std::string& name, const std::string& value);
  // Reports median and p99 in microseconds, as `name`.
  void Latency(const std::string& name, const Timing& timing);
  // Reports one value, such as a rate. `goal` is printed beside it; empty:
  // none.
  void Value(const std::string& name, double value, const std::string& unit,
             const std::string& goal = "");

  // Prints the JSON object if `json`.
  void Finish(bool json) const;

 private:
  struct Metric {
    std::string name;
    double median;
    double p99;  // negative: single steps were not timed
    std::string unit;
  };

  const std::string workload_;
  std::vector<std::pair<std::string, std::variant<double, std::string>>>
      params_;
  std::vector<Metric> metrics_;
};

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_COMMON_REPORT_H_
