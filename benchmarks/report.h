// Report: what a benchmark measured, for people as it goes and as one JSON
// object on the last line when asked. Workloads and metrics carry the names
// that they have on TensorFlow's side, so that figures compare by name
// (benchmarks/compare).
//
// Measuring code uses the machine's steady clock itself: it measures Weft, it
// is no part of it.
#ifndef WEFT_BENCHMARKS_REPORT_H_
#define WEFT_BENCHMARKS_REPORT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "libs/base/scheduler.h"

namespace weft::benchmarks {

// Seconds of the machine's steady clock, which all its processes share.
double Now();

// Single steps of one loop, timed.
struct Timing {
  std::vector<double> seconds;  // sorted
  double steps_per_second = 0;  // of the whole loop

  double Quantile(double q) const;
};

// Runs `step` `warmup` times, then until `steps` were timed or `max_seconds`
// have passed.
Timing Measure(const std::function<void()>& step, int steps, int warmup,
               double max_seconds);

// Steps of `threads` threads in a second, each going on as soon as its own step
// is over, for so many seconds. `step` is given the thread's number.
double RateOfThreads(Scheduler& scheduler, int threads,
                     const std::function<void(int)>& step, double seconds);

// Ends the program with 1 and the error on stderr, unless it is OK.
void Check(const absl::Status& status);

// Ends the program with 2 and the sentence, of what it was asked, on stderr.
[[noreturn]] void Refuse(const std::string& sentence);

class Report {
 public:
  explicit Report(std::string workload) : workload_(std::move(workload)) {}

  void Param(const std::string& name, double value);
  void Param(const std::string& name, const std::string& value);
  // Median and p99 in microseconds, as `name`.
  void Latency(const std::string& name, const Timing& timing);
  // One value, such as a rate. `goal` is printed beside it; empty: none.
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

#endif  // WEFT_BENCHMARKS_REPORT_H_
