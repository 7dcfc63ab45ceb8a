// Histogram counts durations or sizes in ranges, and computes their sum.
// Prometheus computes quantiles from it.
#ifndef WEFT_LIBS_METRICS_HISTOGRAM_H_
#define WEFT_LIBS_METRICS_HISTOGRAM_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/time/time.h"

namespace weft {

// Histogram is thread-safe without a lock. Observe takes two relaxed additions
// to a cache line of the current processor: some nanoseconds with any number of
// threads. It is for events of steps, not of nodes. The result of `contents`
// may include the sum of a concurrent observation without its count, or vice
// versa.
class Histogram {
 public:
  // `bounds` are the upper ends of the ranges, each inclusive, in ascending
  // order. After the last bound there is one more, unbounded range.
  explicit Histogram(std::vector<double> bounds);
  ~Histogram();

  void Observe(double value);
  // Observes a duration, in seconds. A negative duration (the clock was set)
  // counts as 0.
  void Observe(absl::Duration duration);

  struct Range {
    double end = 0;      // infinity for the last range
    uint64_t count = 0;  // of values up to `end`
  };
  struct Contents {
    uint64_t count = 0;
    double sum = 0;
    std::vector<Range> ranges;
  };
  Contents contents() const;

 private:
  struct Stripe;
  const std::vector<double> bounds_;
  std::vector<std::unique_ptr<Stripe>> stripes_;
};

// Return bounds in seconds: for steps from 10 us to 100 s, and for files from 1
// ms to 1000 s.
std::vector<double> SecondsOfSteps();
std::vector<double> SecondsOfFiles();

}  // namespace weft

#endif  // WEFT_LIBS_METRICS_HISTOGRAM_H_
