// Histogram: how often something took how long, or was how large: counts by
// ranges, and the sum. Prometheus makes quantiles of it.
#ifndef WEFT_LIBS_METRICS_HISTOGRAM_H_
#define WEFT_LIBS_METRICS_HISTOGRAM_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/time/time.h"

namespace weft {

// Thread-safe, without a lock: Observe is two relaxed additions to a cache line
// of the processor that it runs on, some nanoseconds however many threads do
// it; for what happens once in a step, not once in a node. `contents` may have
// the sum of what is being observed without its count, or the other way round.
class Histogram {
 public:
  // Upper ends of the ranges, each included in its own, growing; beyond the
  // last there is one more, without an end.
  explicit Histogram(std::vector<double> bounds);
  ~Histogram();

  void Observe(double value);
  // In seconds. A negative one (the clock was set) counts as 0.
  void Observe(absl::Duration duration);

  struct Range {
    double end = 0;      // infinity: the last one
    uint64_t count = 0;  // of what lies in this range or one below
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

// Bounds, in seconds: for steps, from 10 us to 100 s; for files, from 1 ms to
// 1000 s.
std::vector<double> SecondsOfSteps();
std::vector<double> SecondsOfFiles();

}  // namespace weft

#endif  // WEFT_LIBS_METRICS_HISTOGRAM_H_
