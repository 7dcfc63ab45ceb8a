#include "libs/summary/histogram.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace weft::summary {
namespace {

constexpr double kLargest = std::numeric_limits<double>::max();

// By repeated multiplication: another way to compute them has other limits in
// the last bits.
std::vector<double> MakeLimits() {
  std::vector<double> positive;
  for (double limit = 1.0e-12; limit < 1.0e20; limit *= 1.1) {
    positive.push_back(limit);
  }
  positive.push_back(kLargest);
  std::vector<double> limits;
  for (auto i = positive.rbegin(); i != positive.rend(); ++i) {
    limits.push_back(-*i);
  }
  limits.push_back(0);
  limits.insert(limits.end(), positive.begin(), positive.end());
  return limits;
}

const std::vector<double>& Limits() {
  static const auto& limits = *new std::vector<double>(MakeLimits());
  return limits;
}

}  // namespace

Histogram::Histogram() : limits_(Limits()), counts_(limits_.size()) {
  totals_.min = kLargest;
  totals_.max = -kLargest;
}

void Histogram::Add(double value) {
  const auto limit = std::upper_bound(limits_.begin(), limits_.end(), value);
  // The largest double is below no limit.
  const size_t bucket = std::min<size_t>(
      static_cast<size_t>(limit - limits_.begin()), limits_.size() - 1);
  counts_[bucket] += 1;
  totals_.min = std::min(totals_.min, value);
  totals_.max = std::max(totals_.max, value);
  totals_.num += 1;
  totals_.sum += value;
  totals_.sum_squares += value * value;
}

HistogramValue Histogram::ToValue() const {
  HistogramValue value = totals_;
  for (size_t i = 0; i < counts_.size(); ++i) {
    const double count = counts_[i];
    while (count == 0 && i + 1 < counts_.size() && counts_[i + 1] == 0) ++i;
    value.bucket_limit.push_back(limits_[i]);
    value.bucket.push_back(count);
  }
  return value;
}

}  // namespace weft::summary
