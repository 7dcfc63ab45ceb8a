#include "libs/ops/scaling_initializers.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "libs/ops/array_ops.h"
#include "libs/ops/math_ops.h"
#include "libs/ops/typed_inputs.h"

namespace weft::ops::initializers {
namespace {

using Distribution = VarianceScalingOptions::Distribution;

Initializer Scaled(double scale, Distribution distribution,
                   std::optional<int64_t> seed) {
  return VarianceScaling(
      {.scale = scale, .distribution = distribution, .seed = seed});
}

}  // namespace

Initializer HeNormal(std::optional<int64_t> seed) {
  return Scaled(2.0, Distribution::kTruncatedNormal, seed);
}

Initializer HeUniform(std::optional<int64_t> seed) {
  return Scaled(2.0, Distribution::kUniform, seed);
}

Initializer LecunNormal(std::optional<int64_t> seed) {
  return Scaled(1.0, Distribution::kTruncatedNormal, seed);
}

Initializer LecunUniform(std::optional<int64_t> seed) {
  return Scaled(1.0, Distribution::kUniform, seed);
}

Initializer UniformUnitScaling(double factor, std::optional<int64_t> seed) {
  return [factor, seed](const Scope& scope, const TensorShape& shape,
                        DataType dtype, const PartitionInfo* partition) {
    const TensorShape& whole =
        partition == nullptr ? shape : partition->full_shape;
    double inputs = 1;
    for (int i = 0; i < whole.rank() - 1; ++i) {
      inputs *= static_cast<double>(whole.dim(i));
    }
    const double limit = std::sqrt(3.0 / std::max(inputs, 1.0)) * factor;
    return RandomUniform(-limit, limit, seed)(scope, shape, dtype, partition);
  };
}

Initializer Identity(double gain) {
  return [gain](const Scope& scope, const TensorShape& shape, DataType dtype,
                const PartitionInfo* partition) {
    if (shape.rank() != 2) {
      scope.UpdateStatus(absl::InvalidArgumentError(
          absl::StrCat("Identity matrix initializer can only be used for 2D "
                       "matrices, not for shape ",
                       shape.ToString())));
      return Output();
    }
    const Scope inner = scope.SubScope("eye");
    // A part begins as many columns to the right as the diagonal is further on.
    const int64_t first =
        partition == nullptr ? 0 : partition->offset[0] - partition->offset[1];
    if (shape.dim(1) > INT32_MAX) {
      scope.UpdateStatus(absl::InvalidArgumentError(
          absl::StrCat("Identity: too many columns: ", shape.dim(1))));
      return Output();
    }
    const Output column =
        Range(inner, Tensor::Scalar(first),
              Tensor::Scalar(first + shape.dim(0)), Tensor::Scalar(int64_t{1}));
    const Output on = AsTensor(inner, gain, dtype, "on_value");
    const Output off = AsTensor(inner, 0, dtype, "off_value");
    return OneHot(scope.WithName(inner.prefix()), column,
                  static_cast<int32_t>(shape.dim(1)), on, off);
  };
}

}  // namespace weft::ops::initializers
