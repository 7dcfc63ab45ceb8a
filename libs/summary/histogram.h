// Histogram counts values in TensorFlow's buckets
// (tensorflow/core/lib/histogram/histogram.h), which TensorBoard displays.
//
// The upper limits of the buckets are 0, all numbers 1e-12 * 1.1^k below 1e20,
// and the largest double, the latter two with both signs. A value belongs to
// the first bucket whose limit is above the value.
//
// Threads: thread-compatible.
#ifndef WEFT_LIBS_SUMMARY_HISTOGRAM_H_
#define WEFT_LIBS_SUMMARY_HISTOGRAM_H_

#include <vector>

#include "libs/summary/event.h"

namespace weft::summary {

struct HistogramBuckets;  // shared by all histograms

class Histogram {
 public:
  Histogram();

  // Adds a value. REQUIRES: the value is finite.
  void Add(double value);

  // Returns the buckets. Runs of empty buckets are merged into one bucket.
  HistogramValue ToValue() const;

 private:
  const HistogramBuckets& buckets_;
  std::vector<double> counts_;  // one for each limit
  HistogramValue totals_;       // without buckets
};

}  // namespace weft::summary

#endif  // WEFT_LIBS_SUMMARY_HISTOGRAM_H_
