// Comparison: whether a fetched tensor is what a case expects.
//
// Threads: functions without state.
#ifndef WEFT_TOOLS_CONFORMANCE_COMPARISON_H_
#define WEFT_TOOLS_CONFORMANCE_COMPARISON_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libs/tensor/tensor.h"

namespace weft::conformance {

struct Tolerance {
  double relative = 1e-5;
  double absolute = 1e-6;
};

struct Interval {
  double low = 0;
  double high = 0;
};

struct Comparison {
  enum class Mode {
    // |got - want| <= absolute + relative * |want|, NaN equals NaN; strings are
    // equal but for zero bytes at the end of `got`, which no record has.
    kClose,
    // Equal to the bit, but that any NaN is as good as another, whose bits
    // processors choose.
    kExact,
    kMultiset,  // the same rows in any order
    kMoments,   // no values: dtype, shape and moments
  };
  Mode mode = Mode::kClose;
  Tolerance tolerance;
  // For kMoments; what is absent is not checked.
  std::string dtype;  // TensorFlow's name in Python: "float32"
  std::optional<std::vector<int64_t>> shape;
  std::map<std::string, Interval> moments;  // mean, std, min, max
};

// Nothing where they agree, else what differs, for people. `how` is not
// kMoments.
std::optional<std::string> Difference(const Tensor& got, const Tensor& want,
                                      const Comparison& how);

// The same for kMoments.
std::optional<std::string> MomentsDifference(const Tensor& got,
                                             const Comparison& how);

}  // namespace weft::conformance

#endif  // WEFT_TOOLS_CONFORMANCE_COMPARISON_H_
