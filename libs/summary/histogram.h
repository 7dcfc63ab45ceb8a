// Histogram counts values in TensorFlow's buckets
// (tensorflow/core/lib/histogram/histogram.h), which TensorBoard displays.
//
// The buckets' upper limits are 0, and 1e-12 * 1.1^k below 1e20 and the largest
// double, with either sign: a value belongs to the first bucket whose limit is
// above it.
//
// Threads: thread-compatible.
#ifndef WEFT_LIBS_SUMMARY_HISTOGRAM_H_
#define WEFT_LIBS_SUMMARY_HISTOGRAM_H_

#include <vector>

#include "libs/summary/event.h"

namespace weft::summary {

struct HistogramBuckets;  // for all of them

class Histogram {
 public:
  Histogram();

  // REQUIRES: the value is finite.
  void Add(double value);

  // Merges runs of empty buckets into one bucket.
  HistogramValue ToValue() const;

 private:
  const HistogramBuckets& buckets_;
  std::vector<double> counts_;  // one for each limit
  HistogramValue totals_;       // without buckets
};

}  // namespace weft::summary

#endif  // WEFT_LIBS_SUMMARY_HISTOGRAM_H_
