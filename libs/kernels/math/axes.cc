#include "libs/kernels/math/axes.h"

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {
namespace {

template <typename T>
absl::InlinedVector<int64_t, 8> Widen(const Tensor& tensor) {
  const absl::Span<const T> values = tensor.flat<T>();
  return {values.begin(), values.end()};
}

}  // namespace

absl::StatusOr<absl::InlinedVector<int64_t, 8>> IntegerValues(
    const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DT_INT32:
      return Widen<int32_t>(tensor);
    case DT_INT64:
      return Widen<int64_t>(tensor);
    case DT_INT16:
      return Widen<int16_t>(tensor);
    case DT_UINT16:
      return Widen<uint16_t>(tensor);
    default:
      return absl::InvalidArgumentError(absl::StrCat(
          "must be integers, but are of type ", DataTypeName(tensor.dtype())));
  }
}

absl::StatusOr<int64_t> IntegerScalar(const Tensor& tensor,
                                      absl::string_view what) {
  if (tensor.rank() != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, " must be a scalar, but has shape ", tensor.shape().ToString()));
  }
  auto values = IntegerValues(tensor);
  if (!values.ok()) return Annotate(values.status(), what);
  return (*values)[0];
}

absl::StatusOr<int> ScanAxis(const Tensor& axis, int rank) {
  ASSIGN_OR_RETURN(const int64_t value, IntegerScalar(axis, "ScanOp: axis"));
  if (value < -rank || value >= rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("ScanOp: Expected scan axis in the range [", -rank, ", ",
                     rank, "), but got ", value));
  }
  return static_cast<int>(value < 0 ? value + rank : value);
}

absl::StatusOr<ReductionPlan> ReductionPlan::Make(const TensorShape& input,
                                                  const Tensor& axes,
                                                  bool keep_dims) {
  ReductionPlan plan;
  absl::InlinedVector<bool, 8> reduced(input.rank());
  ASSIGN_OR_RETURN(auto values, IntegerValues(axes));
  for (int64_t value : values) {
    const int64_t axis = value < 0 ? value + input.rank() : value;
    if (axis < 0 || axis >= input.rank()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Invalid reduction dimension (", value,
                       " for input with ", input.rank(), " dimension(s)"));
    }
    if (reduced[axis]) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Invalid reduction arguments: Axes contains duplicate dimension: ",
          value));
    }
    reduced[axis] = true;
  }
  Dims dims;
  for (int i = 0; i < input.rank(); ++i) {
    if (!reduced[i]) {
      dims.push_back(input.dim(i));
    } else if (keep_dims) {
      dims.push_back(1);
    }
  }
  // Without the reduced sizes, one of which may be 0, the shape may overflow.
  ASSIGN_OR_RETURN(plan.output_shape_, TensorShape::Create(dims));
  plan.Join(input, reduced);
  return plan;
}

void ReductionPlan::Join(const TensorShape& input,
                         absl::Span<const bool> reduced) {
  bool has_inner = false;
  bool last_reduced = false;
  int64_t stride = 1;
  for (int i = input.rank() - 1; i >= 0; --i) {
    const int64_t size = input.dim(i);
    if (reduced[i]) reduced_count_ *= size;
    if (size == 1) continue;
    DimList& outer = reduced[i] ? outer_reduced_ : outer_kept_;
    if (!has_inner) {
      inner_is_reduced_ = reduced[i];
      inner_size_ = size;
    } else if (last_reduced != reduced[i]) {
      outer.push_back({size, stride});
    } else if (stride == inner_size_) {
      inner_size_ *= size;
    } else {
      outer.back().size *= size;
    }
    has_inner = true;
    last_reduced = reduced[i];
    stride *= size;
  }
  is_copy_ = outer_reduced_.empty() && !(has_inner && inner_is_reduced_);
}

DimWalker::DimWalker(const ReductionPlan::DimList& dims, int64_t start)
    : dims_(dims), position_(dims.size()) {
  for (size_t d = 0; d < dims.size(); ++d) {
    position_[d] = start % dims[d].size;
    start /= dims[d].size;
    offset_ += position_[d] * dims[d].stride;
  }
}

int64_t DimWalker::Count(const ReductionPlan::DimList& dims) {
  int64_t count = 1;
  for (const ReductionPlan::Dim& dim : dims) count *= dim.size;
  return count;
}

void DimWalker::Next() {
  for (size_t d = 0; d < dims_.size(); ++d) {
    offset_ += dims_[d].stride;
    if (++position_[d] < dims_[d].size) return;
    offset_ -= dims_[d].size * dims_[d].stride;
    position_[d] = 0;
  }
}

}  // namespace weft
