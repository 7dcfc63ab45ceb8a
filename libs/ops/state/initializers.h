// Initializer is a function that adds the nodes that compute the initial value
// of a variable. Initializers have TensorFlow's node names and defaults.
//
// Stateless values; threads: as for the scope.
#ifndef WEFT_LIBS_OPS_STATE_INITIALIZERS_H_
#define WEFT_LIBS_OPS_STATE_INITIALIZERS_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "libs/ops/scope.h"

namespace weft::ops {

// The position of a part within a partitioned variable.
struct PartitionInfo {
  TensorShape full_shape;
  Dims offset;  // of the part, in each dimension
};

// `partition` is null for a whole variable; `shape` is the part's. Returns null
// after an error, which sticks to the scope.
using Initializer =
    std::function<Output(const Scope& scope, const TensorShape& shape,
                         DataType dtype, const PartitionInfo* partition)>;

namespace initializers {

Initializer Zeros();
Initializer Ones();
// A scalar fills the shape. Other values must have the same number of elements,
// or fewer, with the last one repeated. A single element that fills more than 1
// MiB becomes a Fill instead of a Const, so that the graph does not hold the
// data.
Initializer Constant(Input value);

// Random initializers return INVALID_ARGUMENT for types that are not
// floating-point. Without a seed they use the graph's (Scope::SetGraphSeed), if
// it has one.

// Uniform over [minval, maxval).
Initializer RandomUniform(double minval = -0.05, double maxval = 0.05,
                          std::optional<int64_t> seed = std::nullopt);
Initializer RandomNormal(double mean = 0.0, double stddev = 1.0,
                         std::optional<int64_t> seed = std::nullopt);
// Values more than two standard deviations from the mean are redrawn.
Initializer TruncatedNormal(double mean = 0.0, double stddev = 1.0,
                            std::optional<int64_t> seed = std::nullopt);

struct VarianceScalingOptions {
  double scale = 1.0;  // > 0
  enum class Mode { kFanIn, kFanOut, kFanAverage } mode = Mode::kFanIn;
  enum class Distribution {
    kTruncatedNormal,
    kUntruncatedNormal,
    kUniform
  } distribution = Distribution::kTruncatedNormal;
  std::optional<int64_t> seed;
};
// Variance scale / n around 0, where n is the fan in (the product of all
// dimensions but the last), the fan out (of all but the last but one), or their
// average. For a vector both are its size; n is at least 1. For a partitioned
// variable, the shape of the whole counts. A truncated normal distribution is
// widened so that it has this variance after truncation.
Initializer VarianceScaling(const VarianceScalingOptions& options = {});
// Glorot's, also called Xavier's: scale 1, the average of both fans. Uniform
// over +- sqrt(6 / (fan in + fan out)).
Initializer GlorotUniform(std::optional<int64_t> seed = std::nullopt);
Initializer GlorotNormal(std::optional<int64_t> seed = std::nullopt);

}  // namespace initializers
}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_STATE_INITIALIZERS_H_
