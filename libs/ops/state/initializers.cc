#include "libs/ops/state/initializers.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/ops/adapt_value.h"

namespace weft::ops::initializers {
namespace {

// Larger tensors are filled at run time, not stored in the graph.
constexpr int64_t kMaxConstElements = 1000;
// tf.constant_initializer creates a Const of any size, for which TensorFlow
// stores the repeated element only once. Weft does so up to this size.
constexpr int64_t kMaxRepeatedBytes = 1 << 20;
// The maximum size of a Const in a GraphDef.
constexpr int64_t kMaxConstBytes = std::numeric_limits<int32_t>::max();

bool IsLargerThan(int64_t bytes, const TensorShape& shape, DataType dtype) {
  const auto size = std::max<int64_t>(1, DataTypeSize(dtype));
  return shape.num_elements() > bytes / size;
}

Tensor ShapeTensor(const TensorShape& shape) {
  Dims dims(shape.dims().begin(), shape.dims().end());
  const bool fits = std::all_of(dims.begin(), dims.end(),
                                [](int64_t size) { return size <= INT32_MAX; });
  if (!fits) return Tensor::Vector(absl::Span<const int64_t>(dims));
  const std::vector<int32_t> narrow(dims.begin(), dims.end());
  return Tensor::Vector(absl::Span<const int32_t>(narrow));
}

// A scalar of `dtype`; an error sticks.
std::optional<Tensor> ScalarOf(const Scope& scope, double value,
                               DataType dtype) {
  absl::StatusOr<Tensor> scalar = AdaptValue(Tensor::Scalar(value), dtype);
  if (scalar.ok()) return *std::move(scalar);
  scope.UpdateStatus(scalar.status());
  return std::nullopt;
}

// `shape` filled with the only element of `scalar`.
Tensor Filled(const Tensor& scalar, const TensorShape& shape) {
  Tensor result(scalar.dtype(), shape);
  const size_t size = DataTypeSize(scalar.dtype());
  const auto* from = static_cast<const char*>(scalar.data());
  auto* to = static_cast<char*>(result.mutable_data());
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    std::copy(from, from + size, to + i * size);
  }
  return result;
}

// array_ops.zeros and ones: a Const, or a Fill when that is smaller.
Output FillWith(const Scope& scope, absl::string_view name, const Tensor& value,
                const TensorShape& shape) {
  if (shape.num_elements() < kMaxConstElements) {
    return scope.WithName(name).ToOutput(Filled(value, shape));
  }
  const Scope inner = scope.SubScope(name);
  Output dims = inner.ToOutput(ShapeTensor(shape), "shape_as_tensor");
  Output one = inner.ToOutput(value, "Const");
  return scope.WithName(inner.prefix()).AddOutput("Fill", {dims, one});
}

Output FillWithNumber(const Scope& scope, absl::string_view name, double number,
                      const TensorShape& shape, DataType dtype) {
  if (dtype == DT_BOOL) {
    return FillWith(scope, name, Tensor::Scalar(number != 0), shape);
  }
  if (dtype == DT_STRING && number == 0) {
    if (shape.num_elements() >= kMaxConstElements) {
      return FillWith(scope, name, Tensor::Scalar(std::string()), shape);
    }
    return scope.WithName(name).ToOutput(Tensor(DT_STRING, shape));
  }
  std::optional<Tensor> value = ScalarOf(scope, number, dtype);
  return value ? FillWith(scope, name, *value, shape) : Output();
}

// `values` reshaped to `shape`, with the last one repeated.
absl::StatusOr<Tensor> Spread(const Tensor& values, const TensorShape& shape) {
  const int64_t given = values.num_elements(), wanted = shape.num_elements();
  if (given == wanted) return values.Reshaped(shape);
  if (given > wanted || given == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("Too many elements provided. Needed at most ", wanted,
                     ", but received ", given));
  }
  if (IsLargerThan(kMaxConstBytes, shape, values.dtype())) {
    return absl::InvalidArgumentError(
        absl::StrCat("Constant: ", given, " values cannot be repeated to fill ",
                     shape.ToString(), ": a constant holds up to 2 GiB"));
  }
  if (DataTypeSize(values.dtype()) == 0) {
    if (values.dtype() != DT_STRING) {
      return absl::InvalidArgumentError(
          "Constant: values of this type cannot be repeated");
    }
    Tensor strings(DT_STRING, shape);
    for (int64_t i = 0; i < wanted; ++i) {
      strings.mutable_flat<std::string>()[i] =
          values.flat<std::string>()[std::min(i, given - 1)];
    }
    return strings;
  }
  Tensor result(values.dtype(), shape);
  const size_t size = DataTypeSize(values.dtype());
  const auto* from = static_cast<const char*>(values.data());
  auto* to = static_cast<char*>(result.mutable_data());
  for (int64_t i = 0; i < wanted; ++i) {
    const char* element = from + std::min(i, given - 1) * size;
    std::copy(element, element + size, to + i * size);
  }
  return result;
}

absl::StatusOr<Output> ConstantOf(const Scope& scope, const Input& value,
                                  const TensorShape& shape, DataType dtype) {
  if (!value.value()) {
    return absl::InvalidArgumentError("Constant needs a value, not an output");
  }
  Tensor tensor = *value.value();
  if (tensor.dtype() != dtype) {
    ASSIGN_OR_RETURN(tensor, AdaptValue(tensor, dtype));
  }
  if (tensor.num_elements() == 1 &&
      IsLargerThan(kMaxRepeatedBytes, shape, dtype)) {
    ASSIGN_OR_RETURN(tensor, tensor.Reshaped(TensorShape()));
    return FillWith(scope, "Const", tensor, shape);
  }
  ASSIGN_OR_RETURN(tensor, Spread(tensor, shape));
  return scope.ToOutput(std::move(tensor));
}

struct RandomOp {
  const char* name;  // of the scope and of the last node
  const char* op;
  const char* first;  // names of the parameters
  const char* second;
};
constexpr RandomOp kUniform = {"random_uniform", "RandomUniform", "min", "max"};
constexpr RandomOp kNormal = {"random_normal", "RandomStandardNormal", "mean",
                              "stddev"};
constexpr RandomOp kTruncated = {"truncated_normal", "TruncatedNormal", "mean",
                                 "stddev"};

// op(shape) * scale + offset, where scale is max - min for a uniform
// distribution. Names and order, which determine the op's seed, are those of
// TensorFlow's random_ops.
Output Random(const Scope& scope, const RandomOp& random, double first,
              double second, std::optional<int64_t> seed,
              const TensorShape& shape, DataType dtype) {
  std::optional<Tensor> a = ScalarOf(scope, first, dtype);
  std::optional<Tensor> b = ScalarOf(scope, second, dtype);
  if (!a || !b) return Output();
  const Scope inner = scope.SubScope(random.name);
  Output dims = inner.ToOutput(ShapeTensor(shape), "shape");
  Output offset = inner.ToOutput(*a, random.first);
  Output scale = inner.ToOutput(*b, random.second);
  const auto [seed1, seed2] = inner.GetSeeds(seed);
  Output draw = inner.AddOutput(
      random.op, {dims}, {{"dtype", dtype}, {"seed", seed1}, {"seed2", seed2}});
  if (absl::string_view(random.op) == "RandomUniform") {
    scale = inner.WithName("sub").AddOutput("Sub", {scale, offset});
  }
  Output scaled = inner.WithName("mul").AddOutput("Mul", {draw, scale});
  return scope.WithName(inner.prefix()).AddOutput("AddV2", {scaled, offset});
}

// A random initializer of floating-point variables.
Initializer RandomInitializer(const RandomOp& random, double first,
                              double second, std::optional<int64_t> seed) {
  return [random, first, second, seed](const Scope& scope,
                                       const TensorShape& shape, DataType dtype,
                                       const PartitionInfo*) -> Output {
    if (!IsFloatingType(dtype)) {
      scope.UpdateStatus(absl::InvalidArgumentError(
          absl::StrCat("Expected floating point type, got ",
                       DataTypeName(dtype), " for ", random.name)));
      return Output();
    }
    return Random(scope, random, first, second, seed, shape, dtype);
  };
}

// TensorFlow's _compute_fans: (in, out) of a dense layer or a convolution.
std::pair<double, double> Fans(const TensorShape& shape) {
  const std::vector<double> sizes(shape.dims().begin(), shape.dims().end());
  if (sizes.empty()) return {1, 1};
  if (sizes.size() == 1) return {sizes[0], sizes[0]};
  const double receptive_field = std::accumulate(
      sizes.begin(), sizes.end() - 2, 1.0, std::multiplies<double>());
  return {*(sizes.end() - 2) * receptive_field, sizes.back() * receptive_field};
}

double ScaledVariance(const VarianceScalingOptions& options,
                      const TensorShape& shape) {
  using Mode = VarianceScalingOptions::Mode;
  const auto [in, out] = Fans(shape);
  const double n = options.mode == Mode::kFanIn    ? in
                   : options.mode == Mode::kFanOut ? out
                                                   : (in + out) / 2;
  return options.scale / std::max(1.0, n);
}

}  // namespace

Initializer Zeros() {
  return [](const Scope& scope, const TensorShape& shape, DataType dtype,
            const PartitionInfo*) {
    return FillWithNumber(scope, "zeros", 0, shape, dtype);
  };
}

Initializer Ones() {
  return [](const Scope& scope, const TensorShape& shape, DataType dtype,
            const PartitionInfo*) {
    return FillWithNumber(scope, "ones", 1, shape, dtype);
  };
}

Initializer Constant(Input value) {
  return
      [value = std::move(value)](const Scope& scope, const TensorShape& shape,
                                 DataType dtype, const PartitionInfo*) {
        absl::StatusOr<Output> result = ConstantOf(scope, value, shape, dtype);
        if (result.ok()) return *result;
        scope.UpdateStatus(result.status());
        return Output();
      };
}

Initializer RandomUniform(double minval, double maxval,
                          std::optional<int64_t> seed) {
  return RandomInitializer(kUniform, minval, maxval, seed);
}

Initializer RandomNormal(double mean, double stddev,
                         std::optional<int64_t> seed) {
  return RandomInitializer(kNormal, mean, stddev, seed);
}

Initializer TruncatedNormal(double mean, double stddev,
                            std::optional<int64_t> seed) {
  return RandomInitializer(kTruncated, mean, stddev, seed);
}

Initializer VarianceScaling(const VarianceScalingOptions& options) {
  return [options](const Scope& scope, const TensorShape& shape, DataType dtype,
                   const PartitionInfo* partition) {
    using Distribution = VarianceScalingOptions::Distribution;
    const double variance = ScaledVariance(
        options, partition == nullptr ? shape : partition->full_shape);
    if (options.distribution == Distribution::kUniform) {
      const double limit = std::sqrt(3.0 * variance);
      return RandomUniform(-limit, limit, options.seed)(scope, shape, dtype,
                                                        partition);
    }
    if (options.distribution == Distribution::kUntruncatedNormal) {
      return RandomNormal(0, std::sqrt(variance), options.seed)(
          scope, shape, dtype, partition);
    }
    // The standard deviation that remains after truncation at two standard
    // deviations.
    constexpr double kTruncatedDeviation = .87962566103423978;
    return TruncatedNormal(0, std::sqrt(variance) / kTruncatedDeviation,
                           options.seed)(scope, shape, dtype, partition);
  };
}

Initializer GlorotUniform(std::optional<int64_t> seed) {
  return VarianceScaling(
      {.mode = VarianceScalingOptions::Mode::kFanAverage,
       .distribution = VarianceScalingOptions::Distribution::kUniform,
       .seed = seed});
}

Initializer GlorotNormal(std::optional<int64_t> seed) {
  return VarianceScaling(
      {.mode = VarianceScalingOptions::Mode::kFanAverage, .seed = seed});
}

}  // namespace weft::ops::initializers
