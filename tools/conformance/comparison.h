// Comparison checks whether a fetched tensor matches the expectation of a case.
//
// Threads: stateless functions.
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
    // Numbers satisfy |got - want| <= absolute + relative * |want|, and NaN
    // equals NaN. Strings are equal except for zero bytes at the end of `got`,
    // which are not recorded.
    kClose,
    // Bit-identical, except that all NaNs are equal, because their bits depend
    // on the processor.
    kExact,
    kMultiset,  // the same rows in any order
    kMoments,   // compares dtype, shape and moments instead of values
  };
  Mode mode = Mode::kClose;
  Tolerance tolerance;
  // The expected properties for kMoments. Absent fields are not checked.
  std::string dtype;  // name in TensorFlow's Python API, for example "float32"
  std::optional<std::vector<int64_t>> shape;
  std::map<std::string, Interval> moments;  // by name: mean, std, min, max
};

// Returns a description of the difference, or nullopt if the tensors match.
// `how` must not be kMoments.
std::optional<std::string> Difference(const Tensor& got, const Tensor& want,
                                      const Comparison& how);

// Same as Difference, but for kMoments.
std::optional<std::string> MomentsDifference(const Tensor& got,
                                             const Comparison& how);

}  // namespace weft::conformance

#endif  // WEFT_TOOLS_CONFORMANCE_COMPARISON_H_
