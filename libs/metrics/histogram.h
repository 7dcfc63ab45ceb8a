// Histogram counts durations or sizes by ranges, with their sum. Prometheus
// computes quantiles from it.
#ifndef WEFT_LIBS_METRICS_HISTOGRAM_H_
#define WEFT_LIBS_METRICS_HISTOGRAM_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/time/time.h"

namespace weft {

// Thread-safe, without a lock: Observe is two relaxed additions to a cache line
// of the current processor, some nanoseconds with any number of threads; for
// events per step, not per node. `contents` may include the sum of a concurrent
// observation without its count, or vice versa.
class Histogram {
 public:
  // The upper ends of the ranges, each inclusive, ascending; after the last one
  // there is another, unbounded range.
  explicit Histogram(std::vector<double> bounds);
  ~Histogram();

  void Observe(double value);
  // In seconds. A negative one (the clock was set) counts as 0.
  void Observe(absl::Duration duration);

  struct Range {
    double end = 0;      // infinity: the last one
    uint64_t count = 0;  // of values in this range or a lower one
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

// The bounds, in seconds: for steps, from 10 us to 100 s; for files, from 1 ms
// to 1000 s.
std::vector<double> SecondsOfSteps();
std::vector<double> SecondsOfFiles();

}  // namespace weft

#endif  // WEFT_LIBS_METRICS_HISTOGRAM_H_
