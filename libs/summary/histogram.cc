#include "libs/summary/histogram.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace weft::summary {
namespace {

constexpr double kLargest = std::numeric_limits<double>::max();

// Computes the limits by repeated multiplication, because another computation
// changes their last bits.
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

// The number of leading bits of a value: sign, exponent and first bits of the
// mantissa. Values with the same leading bits are so close that few limits
// separate them.
constexpr int kTopBits = 16;
constexpr int kOtherBits = 64 - kTopBits;

size_t TopOf(double value) {
  return std::bit_cast<uint64_t>(value) >> kOtherBits;
}

// Returns the smallest number with these leading bits, or 0 if there is no such
// number.
double LeastOf(size_t top) {
  const bool is_negative = (top >> (kTopBits - 1)) != 0;
  const uint64_t rest =
      is_negative ? (uint64_t{1} << kOtherBits) - 1 : uint64_t{0};
  const auto least =
      std::bit_cast<double>(static_cast<uint64_t>(top) << kOtherBits | rest);
  return least == least ? least : 0;
}

}  // namespace

struct HistogramBuckets {
  std::vector<double> limits = MakeLimits();
  // For each combination of leading bits the bucket of the smallest value with
  // them.
  std::vector<uint16_t> first = std::vector<uint16_t>(size_t{1} << kTopBits);

  HistogramBuckets() {
    for (size_t top = 0; top < first.size(); ++top) {
      const auto above =
          std::upper_bound(limits.begin(), limits.end(), LeastOf(top));
      first[top] = static_cast<uint16_t>(above - limits.begin());
    }
  }

  size_t Of(double value) const {
    // The largest double is not below any limit, so it belongs to the last
    // bucket.
    const size_t last = limits.size() - 1;
    size_t bucket = first[TopOf(value)];
    while (bucket < last && limits[bucket] <= value) ++bucket;
    return std::min(bucket, last);
  }

  static const HistogramBuckets& All() {
    static const auto& all = *new HistogramBuckets();
    return all;
  }
};

Histogram::Histogram()
    : buckets_(HistogramBuckets::All()), counts_(buckets_.limits.size()) {
  totals_.min = kLargest;
  totals_.max = -kLargest;
}

void Histogram::Add(double value) {
  counts_[buckets_.Of(value)] += 1;
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
    value.bucket_limit.push_back(buckets_.limits[i]);
    value.bucket.push_back(count);
  }
  return value;
}

}  // namespace weft::summary
