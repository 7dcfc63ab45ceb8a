#include "libs/ops/nn/embedding_params.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "libs/base/status.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"

namespace weft::nn {
namespace {

// Returns whether rows of these shapes can be equal.
bool RowsAgree(const PartialShape& a, const PartialShape& b) {
  if (!a.has_rank() || !b.has_rank()) return true;
  if (a.rank() != b.rank()) return false;
  for (int i = 1; i < a.rank(); ++i) {
    if (a.dim(i) >= 0 && b.dim(i) >= 0 && a.dim(i) != b.dim(i)) return false;
  }
  return true;
}

}  // namespace

EmbeddingParams::EmbeddingParams(const ops::PartitionedVariable& table)
    : EmbeddingParams(table.parts()) {
  if (table.is_partitioned()) axis_ = table.axis();
}

EmbeddingParams::EmbeddingParams(const ops::Variable& table)
    : parts_{{table, Output()}} {}

EmbeddingParams::EmbeddingParams(const Output& table)
    : parts_{{ops::Variable(), table}} {}

EmbeddingParams::EmbeddingParams(const std::vector<ops::Variable>& parts) {
  for (const ops::Variable& part : parts) parts_.push_back({part, Output()});
}

EmbeddingParams::EmbeddingParams(const std::vector<Output>& parts) {
  for (const Output& part : parts) parts_.push_back({ops::Variable(), part});
}

PartialShape EmbeddingParams::Part::Shape() const {
  return variable ? variable.shape() : tensor.shape();
}

DataType EmbeddingParams::Part::Type() const {
  return variable ? variable.dtype() : RemoveRefType(tensor.dtype());
}

absl::Status EmbeddingParams::CheckPart(int i) const {
  const Part& part = parts_[i];
  if (part.IsNull()) {
    return absl::InvalidArgumentError(absl::StrCat("params[", i, "] is null"));
  }
  if (part.Shape().has_rank() && part.Shape().rank() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("params[", i, "] is a scalar and has no rows"));
  }
  if (part.Type() == parts_[0].Type() &&
      RowsAgree(part.Shape(), parts_[0].Shape())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "params[", i, "] is ", DataTypeName(part.Type()), " ",
      part.Shape().ToString(), ", which does not match params[0], ",
      DataTypeName(parts_[0].Type()), " ", parts_[0].Shape().ToString()));
}

absl::Status EmbeddingParams::Check() const {
  if (parts_.empty()) {
    return absl::InvalidArgumentError("Need at least one param");
  }
  for (int i = 0; i < num_parts(); ++i) RETURN_IF_ERROR(CheckPart(i));
  if (axis_ == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", parts_[0].variable.name(), "' is cut along dimension ",
                   axis_, "; a lookup needs parts of whole rows (axis 0)"));
}

DataType EmbeddingParams::dtype() const { return parts_[0].Type(); }

// Parts of a partitioned variable are named "NAME/part_0" and so on.
std::string EmbeddingParams::name() const {
  const Part& first = parts_[0];
  const std::string name =
      first.variable ? first.variable.name() : first.tensor.name();
  return std::string(absl::StripSuffix(name, "/part_0"));
}

PartialShape EmbeddingParams::shape() const {
  PartialShape shape = parts_[0].Shape();
  if (!shape.has_rank()) return shape;
  Dims dims(shape.dims().begin(), shape.dims().end());
  for (int i = 1; i < num_parts(); ++i) {
    const PartialShape part = parts_[i].Shape();
    const int64_t rows = part.has_rank() ? part.dim(0) : -1;
    dims[0] = dims[0] < 0 || rows < 0 ? PartialShape::kUnknown : dims[0] + rows;
  }
  return PartialShape(std::move(dims));
}

Output EmbeddingParams::RowsOf(const Scope& scope, int i,
                               DataType dtype) const {
  const Part& part = parts_[i];
  const Output at = part.variable ? part.variable.handle() : part.tensor;
  const Scope beside = scope.ColocateWith(at);
  const Output sizes =
      part.variable && part.variable.is_resource()
          ? beside.AddOutput("VariableShape", {at}, {{"out_type", dtype}})
          : ops::Shape(beside, part.variable ? part.variable.value() : at,
                       {.out_type = dtype});
  return ops::StridedSlice(beside, sizes, {0}, {1}, {1},
                           {.shrink_axis_mask = 1});
}

Output EmbeddingParams::Gather(const Scope& scope, int i, const Input& rows,
                               const ops::SparseReadOptions& options) const {
  const Part& part = parts_[i];
  if (part.variable) return part.variable.SparseRead(scope, rows, options);
  if (const ops::Variable read = ops::FindVariableRead(scope, part.tensor)) {
    return read.SparseRead(scope, rows, options);
  }
  return ops::GatherV2(scope.ColocateWith(part.tensor), part.tensor, rows, 0);
}

}  // namespace weft::nn
