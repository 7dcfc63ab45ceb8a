#include "libs/kernels/sparse/sparse_tensor.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"

namespace weft {

absl::StatusOr<SparseView> SparseView::Of(const Tensor& indices,
                                          const Tensor* values,
                                          const Tensor& shape) {
  ASSIGN_OR_RETURN(SparseView view, OfAnySizes(indices, values, shape));
  ASSIGN_OR_RETURN(view.shape_, TensorShape::Create(view.sizes_));
  return view;
}

absl::StatusOr<SparseView> SparseView::OfAnySizes(const Tensor& indices,
                                                  const Tensor* values,
                                                  const Tensor& shape) {
  if (!indices.shape().IsMatrix()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Input indices must be a matrix but received shape ",
                     indices.shape().ToString()));
  }
  if (!shape.shape().IsVector() || shape.dim(0) != indices.dim(1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Input shape must be a vector of as many sizes as indices has columns, "
        "but the shapes are ",
        shape.shape().ToString(), " and ", indices.shape().ToString()));
  }
  if (shape.dim(0) > kMaxRank) {
    return absl::InvalidArgumentError(
        absl::StrCat("A sparse tensor has at most ", kMaxRank,
                     " dimensions, but this one has ", shape.dim(0)));
  }
  if (values != nullptr &&
      (!values->shape().IsVector() || values->dim(0) != indices.dim(0))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Input values must be a vector with one value for each of the ",
        indices.dim(0), " indices, but received shape ",
        values->shape().ToString()));
  }
  SparseView view;
  view.indices_ = indices.flat<int64_t>().data();
  view.count_ = indices.dim(0);
  const auto sizes = shape.flat<int64_t>();
  view.sizes_.assign(sizes.begin(), sizes.end());
  return view;
}

absl::Status SparseView::CheckBounds() const {
  // Indices of a scalar take no memory, so there may be any number of them.
  if (rank() == 0) return absl::OkStatus();
  for (int64_t i = 0; i < count_; ++i) {
    if (!IsInBounds(i)) return OutOfBounds(i, i);
  }
  return absl::OkStatus();
}

absl::Status SparseView::OutOfBounds(int64_t i, int64_t number) const {
  return absl::InvalidArgumentError(
      absl::StrCat("indices[", number, "] = [", absl::StrJoin(position(i), ","),
                   "] is out of bounds: need 0 <= index < [",
                   absl::StrJoin(sizes_, ","), "]"));
}

absl::Status SparseView::CheckOrder() const {
  RETURN_IF_ERROR(CheckBounds());
  for (int64_t i = 1; i < count_; ++i) {
    const auto before = position(i - 1);
    const auto here = position(i);
    if (std::lexicographical_compare(before.begin(), before.end(), here.begin(),
                                     here.end())) {
      continue;
    }
    const std::string at =
        absl::StrCat("indices[", i, "] = [", absl::StrJoin(here, ","), "]");
    if (before == here) {
      return absl::InvalidArgumentError(absl::StrCat(at, " is repeated"));
    }
    return absl::InvalidArgumentError(
        absl::StrCat(at,
                     " is out of order. Many sparse ops require sorted "
                     "indices.\n  Use `SparseReorder` to create a correctly "
                     "ordered copy.\n\n"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int64_t>> SparseView::Order(
    HeapCharge& charge) const {
  const auto count = static_cast<size_t>(count_);
  RETURN_IF_ERROR(charge.AddObjects(count, sizeof(int64_t)));
  std::vector<int64_t> order(count);
  absl::c_iota(order, 0);
  const auto is_before = [this](int64_t a, int64_t b) {
    return absl::c_lexicographical_compare(position(a), position(b));
  };
  if (absl::c_is_sorted(order, is_before)) return order;
  // Charges the copy that the sort makes.
  RETURN_IF_ERROR(charge.AddObjects(count, sizeof(int64_t)));
  absl::c_stable_sort(order, is_before);
  return order;
}

int64_t SparseView::FlatPosition(int64_t i) const {
  int64_t flat = 0;
  for (int d = 0; d < rank(); ++d) flat = flat * shape_.dim(d) + index(i, d);
  return flat;
}

absl::Status RowOutOfBounds(int64_t i, int64_t row, int64_t num_rows) {
  return absl::InvalidArgumentError(
      absl::StrCat("indices(", i, ", 0) is invalid: ", row, " >= ", num_rows));
}

absl::Status SetVector(OpKernelContext& context, int i,
                       absl::Span<const int64_t> values) {
  ASSIGN_OR_RETURN(
      Tensor * output,
      context.AllocateOutput(i, {static_cast<int64_t>(values.size())}));
  std::copy(values.begin(), values.end(),
            output->mutable_flat<int64_t>().begin());
  return absl::OkStatus();
}

absl::Status SetChosen(OpKernelContext& context, int i, const Tensor& values,
                       absl::Span<const int64_t> rows) {
  ASSIGN_OR_RETURN(
      Tensor * output,
      context.AllocateOutput(i, {static_cast<int64_t>(rows.size())}));
  HeapCharge charge(context.host_allocator());
  for (size_t j = 0; j < rows.size(); ++j) {
    RETURN_IF_ERROR(CopyElements(charge, values, rows[j], 1, *output,
                                 static_cast<int64_t>(j)));
  }
  return absl::OkStatus();
}

}  // namespace weft
