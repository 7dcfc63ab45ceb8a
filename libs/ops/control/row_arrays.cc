#include "libs/ops/control/row_arrays.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/resource/tensor_array_ops.h"

namespace weft::ops {
namespace {

PartialShape WithoutFirst(const PartialShape& shape) {
  if (!shape.has_rank() || shape.rank() == 0) return PartialShape();
  return PartialShape(Dims(shape.dims().begin() + 1, shape.dims().end()));
}

Output Rows(const Scope& scope, const Output& size) {
  return Range(scope, 0, size, 1);
}

}  // namespace

Output NumRows(const Scope& scope, const Output& tensor) {
  if (!tensor || !scope.ok()) return Output();
  const PartialShape& shape = tensor.shape();
  if (shape.has_rank() && shape.rank() == 0) {
    scope.UpdateStatus(absl::InvalidArgumentError(
        absl::StrCat("'", tensor.name(), "' is a scalar, and has no rows")));
    return Output();
  }
  if (shape.has_rank() && shape.dim(0) >= 0 &&
      shape.dim(0) <= std::numeric_limits<int32_t>::max()) {
    return scope.WithName("n").ToOutput(
        Tensor::Scalar(static_cast<int32_t>(shape.dim(0))));
  }
  return scope.WithName("n").AddOutput(
      "StridedSlice",
      {ops::Shape(scope, tensor), Tensor::Vector({0}), Tensor::Vector({1}),
       Tensor::Vector({1})},
      {{"shrink_axis_mask", 1}});
}

RowArrays RowArrays::Empty(const Scope& scope, const Output& size,
                           const DataTypeVector& dtypes,
                           const std::string& name) {
  RowArrays arrays;
  for (DataType dtype : dtypes) {
    const TensorArrayOutputs array = TensorArray(
        scope.WithName(name), size, dtype, {.identical_element_shapes = true});
    arrays.handles_.push_back(array.handle);
    arrays.flows_.push_back(array.flow);
  }
  arrays.dtypes_ = dtypes;
  arrays.row_shapes_.resize(dtypes.size());
  return arrays;
}

RowArrays RowArrays::Of(const Scope& scope, const Output& size,
                        const std::vector<Output>& tensors,
                        const std::string& name) {
  DataTypeVector dtypes;
  for (const Output& tensor : tensors) {
    dtypes.push_back(RemoveRefType(tensor.dtype()));
  }
  RowArrays arrays = Empty(scope, size, dtypes, name);
  for (size_t i = 0; i < tensors.size(); ++i) {
    arrays.row_shapes_[i] = WithoutFirst(tensors[i].shape());
    arrays.flows_[i] =
        TensorArrayScatter(scope, arrays.handles_[i], Rows(scope, size),
                           tensors[i], arrays.flows_[i]);
  }
  return arrays;
}

std::vector<Output> RowArrays::Read(const Scope& scope,
                                    const Output& index) const {
  std::vector<Output> rows;
  for (size_t i = 0; i < size(); ++i) {
    const Output row =
        TensorArrayRead(scope, handles_[i], index, flows_[i], dtypes_[i]);
    if (!row) return {};
    scope.UpdateStatus(
        scope.graph().RefineShape(row.output_tensor(), row_shapes_[i]));
    rows.push_back(row);
  }
  return rows;
}

std::vector<Output> RowArrays::Write(const Scope& scope, const Output& index,
                                     const std::vector<Output>& values,
                                     const std::vector<Output>& flows) {
  if (!scope.ok()) return {};
  if (values.size() != size()) {
    scope.UpdateStatus(absl::InvalidArgumentError(
        absl::StrCat(scope.prefix(), ": the function returns ", values.size(),
                     " values, not ", size())));
    return {};
  }
  std::vector<Output> after;
  for (size_t i = 0; i < size(); ++i) {
    if (!values[i] || RemoveRefType(values[i].dtype()) != dtypes_[i]) {
      scope.UpdateStatus(absl::InvalidArgumentError(
          absl::StrCat(scope.prefix(), ": value ", i, " of the function is ",
                       values[i] ? DataTypeName(values[i].dtype()) : "missing",
                       ", not ", DataTypeName(dtypes_[i]))));
      return {};
    }
    row_shapes_[i] = values[i].shape();
    after.push_back(
        TensorArrayWrite(scope, handles_[i], index, values[i], flows[i]));
  }
  return after;
}

std::vector<Output> RowArrays::Stack(const Scope& scope, const Output& size,
                                     const std::vector<Output>& flows) const {
  std::vector<Output> tensors;
  for (size_t i = 0; i < flows.size(); ++i) {
    tensors.push_back(TensorArrayGather(scope, handles_[i], Rows(scope, size),
                                        flows[i], dtypes_[i], row_shapes_[i]));
  }
  return tensors;
}

}  // namespace weft::ops
