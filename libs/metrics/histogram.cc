#include "libs/metrics/histogram.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

namespace weft {
namespace {

// The number of stripes. If there are more processors, they share stripes.
constexpr size_t kNumStripes = 16;

}  // namespace

// Stripe holds the observations of threads on one processor, in cache lines
// that other processors almost never write. A thread may move to another
// processor during an observation, so the numbers are atomic.
struct alignas(64) Histogram::Stripe {
  using Counts = std::atomic<uint64_t>;
  static constexpr size_t kCountsALine = 64 / sizeof(Counts);
  struct alignas(64) Line {
    Counts counts[kCountsALine] = {};
  };

  explicit Stripe(size_t num_ranges) : lines(num_ranges / kCountsALine + 1) {}
  Counts& count(size_t range) {
    return lines[range / kCountsALine].counts[range % kCountsALine];
  }
  const Counts& count(size_t range) const {
    return lines[range / kCountsALine].counts[range % kCountsALine];
  }

  std::vector<Line> lines;
  std::atomic<double> sum{0};
};

Histogram::Histogram(std::vector<double> bounds) : bounds_(std::move(bounds)) {
  for (size_t i = 0; i < kNumStripes; ++i) {
    stripes_.push_back(std::make_unique<Stripe>(bounds_.size() + 1));
  }
}

Histogram::~Histogram() = default;

void Histogram::Observe(double value) {
  const auto range = static_cast<size_t>(
      std::lower_bound(bounds_.begin(), bounds_.end(), value) -
      bounds_.begin());
  // If the processor is unknown (-1), any stripe may be used.
  const auto processor = static_cast<unsigned>(sched_getcpu());
  Stripe& stripe = *stripes_[processor % kNumStripes];
  stripe.sum.fetch_add(value, std::memory_order_relaxed);
  stripe.count(range).fetch_add(1, std::memory_order_relaxed);
}

void Histogram::Observe(absl::Duration duration) {
  Observe(absl::ToDoubleSeconds(std::max(duration, absl::ZeroDuration())));
}

Histogram::Contents Histogram::contents() const {
  Contents contents;
  for (size_t i = 0; i <= bounds_.size(); ++i) {
    for (const auto& stripe : stripes_) {
      contents.count += stripe->count(i).load(std::memory_order_relaxed);
    }
    contents.ranges.push_back({i < bounds_.size()
                                   ? bounds_[i]
                                   : std::numeric_limits<double>::infinity(),
                               contents.count});
  }
  for (const auto& stripe : stripes_) {
    contents.sum += stripe->sum.load(std::memory_order_relaxed);
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
