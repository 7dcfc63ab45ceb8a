#include "libs/ops/array/array_shapes.h"

#include "absl/strings/str_cat.h"

namespace weft::array_shapes {
namespace {

template <typename T>
Dims Widen(const Tensor& tensor) {
  absl::Span<const T> values = tensor.flat<T>();
  return Dims(values.begin(), values.end());
}

template <typename T>
Tensor Narrow(const TensorShape& shape, absl::Span<const int64_t> values) {
  Tensor result(DataTypeOf<T>::value, shape);
  absl::Span<T> out = result.mutable_flat<T>();
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<T>(values[i]);
  return result;
}

}  // namespace

std::optional<Dims> Integers(const Tensor& tensor) {
  if (tensor.num_elements() > kMaxElements) return std::nullopt;
  if (tensor.dtype() == DT_INT32) return Widen<int32_t>(tensor);
  if (tensor.dtype() == DT_INT64) return Widen<int64_t>(tensor);
  return std::nullopt;
}

std::optional<Dims> Integers(InferenceContext& c, int input) {
  const std::optional<Tensor>& value = c.input_tensor(input);
  if (!value.has_value()) return std::nullopt;
  return Integers(*value);
}

Tensor MakeIntegers(DataType dtype, const TensorShape& shape,
                    absl::Span<const int64_t> values) {
  if (dtype == DT_INT32) return Narrow<int32_t>(shape, values);
  return Narrow<int64_t>(shape, values);
}

absl::StatusOr<int> NormalizeAxis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("Dimension must be in the range [", -rank, ", ", rank,
                     "), but is ", axis));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

PartialShape Subshape(const PartialShape& shape, int begin, int end) {
  PartialShape result = PartialShape::Scalar();
  for (int i = begin; i < end; ++i) result.AddDim(shape.dim(i));
  return result;
}

PartialShape Subshape(const PartialShape& shape, int begin) {
  return Subshape(shape, begin, shape.rank());
}

PartialShape Concatenate(const PartialShape& a, const PartialShape& b) {
  if (!a.has_rank() || !b.has_rank()) return PartialShape::UnknownRank();
  PartialShape result = a;
  for (int64_t size : b.dims()) result.AddDim(size);
  return result;
}

absl::StatusOr<int64_t> AddSizes(int64_t a, int64_t b) {
  if (a == PartialShape::kUnknown || b == PartialShape::kUnknown)
    return PartialShape::kUnknown;
  int64_t result;
  if (__builtin_add_overflow(a, b, &result) || result < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("Dimension size overflow from adding ", a, " and ", b));
  }
  return result;
}

absl::StatusOr<int64_t> MultiplySizes(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (a == PartialShape::kUnknown || b == PartialShape::kUnknown)
    return PartialShape::kUnknown;
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result) || result < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("Negative dimension size caused by overflow when "
                     "multiplying ",
                     a, " and ", b));
  }
  return result;
}

}  // namespace weft::array_shapes
