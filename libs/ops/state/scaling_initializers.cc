#include "libs/ops/state/scaling_initializers.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/linalg/linalg_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/math/typed_inputs.h"

namespace weft::ops::initializers {
namespace {

using Distribution = VarianceScalingOptions::Distribution;

Initializer Scaled(double scale, Distribution distribution,
                   std::optional<int64_t> seed) {
  return VarianceScaling(
      {.scale = scale, .distribution = distribution, .seed = seed});
}

// The shape of the matrix from which a variable is filled: all dimensions but
// the last are its rows.
absl::StatusOr<TensorShape> OrthogonalMatrix(const TensorShape& shape,
                                             DataType dtype) {
  if (!IsFloatingType(dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("Argument `dtype` is expected to be floating point. "
                     "Received: ",
                     DataTypeName(dtype)));
  }
  if (shape.rank() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("The tensor to initialize, specified by argument `shape` "
                     "must be at least two-dimensional. Received shape=",
                     shape.ToString()));
  }
  int64_t rows = 1;
  for (int i = 0; i < shape.rank() - 1; ++i) {
    if (__builtin_mul_overflow(rows, shape.dim(i), &rows)) {
      return absl::InvalidArgumentError(
          absl::StrCat("Orthogonal: too many rows in ", shape.ToString()));
    }
  }
  return TensorShape::Create({rows, shape.dim(shape.rank() - 1)});
}

Tensor SizesOf(const TensorShape& shape) {
  const bool is_narrow =
      std::all_of(shape.dims().begin(), shape.dims().end(),
                  [](int64_t size) { return size <= INT32_MAX; });
  if (!is_narrow) return Tensor::Vector(shape.dims());
  const std::vector<int32_t> sizes(shape.dims().begin(), shape.dims().end());
  return Tensor::Vector(absl::Span<const int32_t>(sizes));
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

Initializer Orthogonal(double gain, std::optional<int64_t> seed) {
  return [gain, seed](const Scope& scope, const TensorShape& shape,
                      DataType dtype, const PartitionInfo*) {
    const absl::StatusOr<TensorShape> matrix = OrthogonalMatrix(shape, dtype);
    if (!matrix.ok()) {
      scope.UpdateStatus(matrix.status());
      return Output();
    }
    const bool is_wide = matrix->dim(0) < matrix->dim(1);
    const TensorShape tall =
        is_wide ? TensorShape{matrix->dim(1), matrix->dim(0)} : *matrix;
    const auto [q, r] =
        ops::Qr(scope, RandomNormal(0, 1, seed)(scope, tall, dtype, nullptr));
    // With a positive diagonal, all rotations are equally likely.
    const Output signs = ops::Sign(scope, ops::DiagPart(scope, r));
    Output result = ops::Mul(scope.WithName("mul"), q, signs);
    if (is_wide) {
      result = ops::Transpose(
          scope.SubScope("matrix_transpose").WithName("transpose"), result,
          Tensor::Vector<int32_t>({1, 0}));
    }
    result = ops::Reshape(scope.WithName("Reshape"), result, SizesOf(shape));
    const Scope inner = scope.SubScope("mul");
    return ops::Mul(scope.WithName(inner.prefix()),
                    AsTensor(inner, gain, dtype, "x"), result);
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
    // The column of the diagonal in the first row of the part.
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
