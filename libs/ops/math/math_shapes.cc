#include "libs/ops/math/math_shapes.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft::math_shapes {
namespace {

// Integers of an int32 or int64 tensor; nullopt for other types.
std::optional<std::vector<int64_t>> Integers(const Tensor& tensor) {
  std::vector<int64_t> values;
  if (tensor.dtype() == DT_INT32) {
    for (int32_t value : tensor.flat<int32_t>()) values.push_back(value);
  } else if (tensor.dtype() == DT_INT64) {
    for (int64_t value : tensor.flat<int64_t>()) values.push_back(value);
  } else {
    return std::nullopt;
  }
  return values;
}

absl::StatusOr<int64_t> CheckedAxis(int64_t axis, int rank,
                                    absl::string_view what) {
  if (axis < -rank || axis >= rank) {
    return absl::InvalidArgumentError(absl::StrCat("Invalid ", what, " (", axis,
                                                   " for input with ", rank,
                                                   " dimension(s)"));
  }
  return axis < 0 ? axis + rank : axis;
}

absl::StatusOr<PartialShape> Merge(const PartialShape& a,
                                   const PartialShape& b) {
  return a.MergeWith(b);
}

// The last two sizes, transposed if `transpose` is set.
std::pair<int64_t, int64_t> MatrixDims(const PartialShape& shape,
                                       bool transpose) {
  const int64_t rows = shape.dim(shape.rank() - 2);
  const int64_t cols = shape.dim(shape.rank() - 1);
  return transpose ? std::pair(cols, rows) : std::pair(rows, cols);
}

PartialShape BatchDims(const PartialShape& shape) {
  return PartialShape(
      Dims(shape.dims().begin(), shape.dims().end() - (shape.rank() ? 2 : 0)));
}

using CombineBatches = absl::StatusOr<PartialShape> (*)(const PartialShape&,
                                                        const PartialShape&);

absl::Status BatchMatMulWith(InferenceContext& c, CombineBatches combine) {
  ASSIGN_OR_RETURN(PartialShape x, c.InputWithRankAtLeast(0, 2));
  ASSIGN_OR_RETURN(PartialShape y, c.InputWithRankAtLeast(1, 2));
  ASSIGN_OR_RETURN(bool adj_x, c.GetAttr<bool>("adj_x"));
  ASSIGN_OR_RETURN(bool adj_y, c.GetAttr<bool>("adj_y"));
  if (!x.has_rank() || !y.has_rank()) {
    c.set_output(0, PartialShape::UnknownRank());
    return absl::OkStatus();
  }
  const auto [rows, inner] = MatrixDims(x, adj_x);
  const auto [inner_y, cols] = MatrixDims(y, adj_y);
  RETURN_IF_ERROR(InferenceContext::MergeDims(inner, inner_y).status());
  ASSIGN_OR_RETURN(PartialShape out, combine(BatchDims(x), BatchDims(y)));
  if (out.has_rank()) {
    out.AddDim(rows);
    out.AddDim(cols);
  }
  c.set_output(0, std::move(out));
  return absl::OkStatus();
}

// (last - first) / step rounded up, or -1 for values that the kernel rejects.
template <typename T>
int64_t RangeSize(T first, T last, T step) {
  if (step == 0) return PartialShape::kUnknown;
  if constexpr (std::is_integral_v<T>) {
    const absl::int128 distance = absl::int128(last) - first;
    if (distance != 0 && (distance < 0) != (step < 0)) {
      return PartialShape::kUnknown;
    }
    const absl::int128 size = distance / step + (distance % step != 0 ? 1 : 0);
    return size > INT64_MAX ? PartialShape::kUnknown
                            : static_cast<int64_t>(size);
  } else {
    // As in the kernel, computed in that type: 0.3f / 0.1f is 3.
    const T size = std::ceil((last - first) / step);
    if (!(size >= 0) || size > T{9e15}) return PartialShape::kUnknown;
    return static_cast<int64_t>(size);
  }
}

template <typename T>
int64_t RangeSize(const Tensor& start, const Tensor& limit,
                  const Tensor& delta) {
  return RangeSize<T>(start.scalar<T>(), limit.scalar<T>(), delta.scalar<T>());
}

int64_t RangeSize(const Tensor& start, const Tensor& limit,
                  const Tensor& delta) {
  for (const Tensor* input : {&start, &limit, &delta}) {
    if (input->num_elements() != 1) return PartialShape::kUnknown;
  }
  switch (start.dtype()) {
    case DT_FLOAT:
      return RangeSize<float>(start, limit, delta);
    case DT_DOUBLE:
      return RangeSize<double>(start, limit, delta);
    case DT_INT32:
      return RangeSize<int32_t>(start, limit, delta);
    case DT_INT64:
      return RangeSize<int64_t>(start, limit, delta);
    default:
      return PartialShape::kUnknown;
  }
}

}  // namespace

absl::Status Equality(InferenceContext& c) {
  ASSIGN_OR_RETURN(bool strict, c.GetAttr<bool>("incompatible_shape_error"));
  absl::StatusOr<PartialShape> shape =
      shapes::Broadcast(c.input(0), c.input(1));
  if (strict) {
    RETURN_IF_ERROR(shape.status());
    c.set_output(0, *std::move(shape));
  } else if (!shape.ok()) {
    c.set_output(0, PartialShape::Scalar());
  } else if (c.input(0).IsFullyDefined() && c.input(1).IsFullyDefined()) {
    c.set_output(0, *std::move(shape));
  }
  return absl::OkStatus();
}

absl::Status AllSame(InferenceContext& c) {
  PartialShape shape;
  for (int i = 0; i < c.num_inputs(); ++i) {
    ASSIGN_OR_RETURN(shape, Merge(shape, c.input(i)));
  }
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status Reduction(InferenceContext& c) {
  const PartialShape& input = c.input(0);
  ASSIGN_OR_RETURN(bool keep_dims, c.GetAttr<bool>("keep_dims"));
  if (!input.has_rank()) return absl::OkStatus();
  std::optional<std::vector<int64_t>> axes;
  if (c.input_tensor(1)) axes = Integers(*c.input_tensor(1));
  if (!axes) {
    if (keep_dims) c.set_output(0, PartialShape::OfRank(input.rank()));
    // TensorFlow takes a known, single axis to remove one dimension.
    if (!keep_dims && c.input(1).num_elements() == 1 && input.rank() > 0) {
      c.set_output(0, PartialShape::OfRank(input.rank() - 1));
    }
    return absl::OkStatus();
  }
  std::vector<bool> reduced(input.rank());
  for (int64_t axis : *axes) {
    ASSIGN_OR_RETURN(axis,
                     CheckedAxis(axis, input.rank(), "reduction dimension"));
    reduced[axis] = true;
  }
  Dims dims;
  for (int i = 0; i < input.rank(); ++i) {
    if (!reduced[i]) dims.push_back(input.dim(i));
    if (reduced[i] && keep_dims) dims.push_back(1);
  }
  c.set_output(0, PartialShape(std::move(dims)));
  return absl::OkStatus();
}

absl::Status ArgReduction(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape input, c.InputWithRankAtLeast(0, 1));
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  if (!input.has_rank()) return absl::OkStatus();
  const std::optional<int64_t> axis = c.input_scalar(1);
  if (!axis) {
    c.set_output(0, PartialShape::OfRank(input.rank() - 1));
    return absl::OkStatus();
  }
  if (*axis < -input.rank() || *axis >= input.rank()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Dimension (", *axis, ") must be in the range [", -input.rank(), ", ",
        input.rank(), "), where rank is the rank of the input"));
  }
  const int64_t removed = *axis < 0 ? *axis + input.rank() : *axis;
  Dims dims;
  for (int i = 0; i < input.rank(); ++i) {
    if (i != removed) dims.push_back(input.dim(i));
  }
  c.set_output(0, PartialShape(std::move(dims)));
  return absl::OkStatus();
}

absl::Status Scan(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  return shapes::Unchanged(c);
}

absl::Status MatMul(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape a, c.InputWithRank(0, 2));
  ASSIGN_OR_RETURN(PartialShape b, c.InputWithRank(1, 2));
  ASSIGN_OR_RETURN(bool transpose_a, c.GetAttr<bool>("transpose_a"));
  ASSIGN_OR_RETURN(bool transpose_b, c.GetAttr<bool>("transpose_b"));
  if (!a.has_rank()) a = PartialShape::OfRank(2);
  if (!b.has_rank()) b = PartialShape::OfRank(2);
  const auto [rows, inner] = MatrixDims(a, transpose_a);
  const auto [inner_b, cols] = MatrixDims(b, transpose_b);
  RETURN_IF_ERROR(InferenceContext::MergeDims(inner, inner_b).status());
  c.set_output(0, PartialShape::Matrix(rows, cols));
  return absl::OkStatus();
}

absl::Status BatchMatMul(InferenceContext& c) {
  return BatchMatMulWith(c, Merge);
}

absl::Status BatchMatMulV2(InferenceContext& c) {
  return BatchMatMulWith(c, shapes::Broadcast);
}

absl::Status Select(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape data, Merge(c.input(1), c.input(2)));
  const PartialShape& condition = c.input(0);
  c.set_output(0, data);
  if (!condition.has_rank() || !data.has_rank() || condition.rank() == 0) {
    return absl::OkStatus();
  }
  // A vector selects rows; any other condition has the shape of the data.
  if (condition.rank() == 1 && data.rank() > 1) {
    return InferenceContext::MergeDims(condition.dim(0), data.dim(0)).status();
  }
  ASSIGN_OR_RETURN(data, Merge(data, condition));
  c.set_output(0, std::move(data));
  return absl::OkStatus();
}

absl::Status SelectV2(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape data,
                   shapes::Broadcast(c.input(1), c.input(2)));
  ASSIGN_OR_RETURN(data, shapes::Broadcast(c.input(0), data));
  c.set_output(0, std::move(data));
  return absl::OkStatus();
}

absl::Status Range(InferenceContext& c) {
  int64_t size = PartialShape::kUnknown;
  for (int i = 0; i < 3; ++i) {
    RETURN_IF_ERROR(c.InputWithRank(i, 0).status());
  }
  if (c.input_tensor(0) && c.input_tensor(1) && c.input_tensor(2)) {
    size =
        RangeSize(*c.input_tensor(0), *c.input_tensor(1), *c.input_tensor(2));
  }
  c.set_output(0, PartialShape::Vector(size));
  return absl::OkStatus();
}

absl::Status LinSpace(InferenceContext& c) {
  for (int i = 0; i < 3; ++i) {
    RETURN_IF_ERROR(c.InputWithRank(i, 0).status());
  }
  const std::optional<int64_t> size = c.input_scalar(2);
  if (size && *size <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("Requires num > 0: ", *size));
  }
  c.set_output(0, PartialShape::Vector(size.value_or(PartialShape::kUnknown)));
  return absl::OkStatus();
}

absl::Status BroadcastArgs(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape a, c.InputWithRank(0, 1));
  ASSIGN_OR_RETURN(PartialShape b, c.InputWithRank(1, 1));
  int64_t size = PartialShape::kUnknown;
  if (a.IsFullyDefined() && b.IsFullyDefined()) {
    size = a.dim(0) < b.dim(0) ? b.dim(0) : a.dim(0);
  }
  c.set_output(0, PartialShape::Vector(size));
  return absl::OkStatus();
}

absl::Status BroadcastGradientArgs(InferenceContext& c) {
  for (int i = 0; i < 2; ++i) {
    RETURN_IF_ERROR(c.InputWithRank(i, 1).status());
    c.set_output(i, PartialShape::Vector(PartialShape::kUnknown));
  }
  return absl::OkStatus();
}

absl::Status ClipByValue(InferenceContext& c) {
  PartialShape shape = c.input(0);
  for (int i = 1; i < 3; ++i) {
    const bool is_scalar = c.input(i).has_rank() && c.input(i).rank() == 0;
    if (!is_scalar && c.input(i).has_rank()) {
      ASSIGN_OR_RETURN(shape, Merge(shape, c.input(i)));
    }
  }
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status Bincount(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  const std::optional<int64_t> size = c.input_scalar(1);
  if (size && *size < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("size (", *size, ") must be non-negative"));
  }
  c.set_output(0, PartialShape::Vector(size.value_or(PartialShape::kUnknown)));
  return absl::OkStatus();
}

absl::Status DenseBincount(InferenceContext& c) {
  RETURN_IF_ERROR(Bincount(c));
  const PartialShape& input = c.input(0);
  if (!input.has_rank()) {
    c.set_output(0, PartialShape::UnknownRank());
    return absl::OkStatus();
  }
  if (input.rank() > 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Shape must be at most rank 2 but is rank ", input.rank()));
  }
  if (input.rank() < 2) return absl::OkStatus();
  c.set_output(0,
               PartialShape::Matrix(input.dim(0), c.output_shapes()[0].dim(0)));
  return absl::OkStatus();
}

absl::Status Cross(InferenceContext& c) {
  RETURN_IF_ERROR(AllSame(c));
  const PartialShape& shape = c.output_shapes()[0];
  if (!shape.has_rank()) return absl::OkStatus();
  if (shape.rank() < 1) {
    return absl::InvalidArgumentError("inputs must be at least vectors");
  }
  return InferenceContext::MergeDims(shape.dim(shape.rank() - 1), 3).status();
}

}  // namespace weft::math_shapes
