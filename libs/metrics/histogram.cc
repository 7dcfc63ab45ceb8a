#include "libs/metrics/histogram.h"

#include <algorithm>
#include <utility>

#include "prometheus/histogram.h"

namespace weft {

class Histogram::Impl : public prometheus::Histogram {
 public:
  using prometheus::Histogram::Histogram;
};

Histogram::Histogram(std::vector<double> bounds)
    : impl_(std::make_unique<Impl>(std::move(bounds))) {}

Histogram::~Histogram() = default;

void Histogram::Observe(double value) { impl_->Observe(value); }

void Histogram::Observe(absl::Duration duration) {
  Observe(absl::ToDoubleSeconds(std::max(duration, absl::ZeroDuration())));
}

Histogram::Contents Histogram::contents() const {
  const auto collected = impl_->Collect().histogram;
  Contents contents{.count = collected.sample_count,
                    .sum = collected.sample_sum};
  for (const auto& bucket : collected.bucket) {
    contents.ranges.push_back({bucket.upper_bound, bucket.cumulative_count});
  }
  return contents;
}

std::vector<double> SecondsOfSteps() {
  return {1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2,
          3e-2, 0.1,  0.3,  1,    3,    10,   100};
}

std::vector<double> SecondsOfFiles() {
  return {1e-3, 1e-2, 3e-2, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000};
}

}  // namespace weft
