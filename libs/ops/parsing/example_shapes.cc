#include "libs/ops/parsing/example_shapes.h"

#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {

void ExampleShapes::SetSparse(int64_t count, int own_rank) {
  const int64_t rank =
      batch_.has_rank() ? batch_.rank() + own_rank : PartialShape::kUnknown;
  SetAll(count, PartialShape::Matrix(PartialShape::kUnknown, rank));
  SetVectors(count);
  SetAll(count, PartialShape::Vector(rank));
}

absl::Status ExampleShapes::SetDense(absl::string_view shapes, int64_t count,
                                     const PartialShape& prefix) {
  ASSIGN_OR_RETURN(const auto dense_shapes,
                   c_.GetAttr<std::vector<PartialShape>>(shapes));
  if (static_cast<int64_t>(dense_shapes.size()) != count) {
    return absl::InvalidArgumentError(
        absl::StrCat("len(dense_keys) != len(", shapes, ")"));
  }
  for (int64_t i = 0; i < count; ++i) {
    const PartialShape& dense = dense_shapes[i];
    bool is_known = dense.has_rank();
    for (int d = 1; is_known && d < dense.rank(); ++d) {
      is_known = dense.dim(d) != PartialShape::kUnknown;
    }
    if (!is_known) {
      return absl::InvalidArgumentError(absl::StrCat(
          shapes, "[", i, "] has unknown rank or unknown inner dimensions: ",
          dense.ToString()));
    }
    PartialShape all = prefix;
    if (all.has_rank()) {
      for (const int64_t size : dense.dims()) all.AddDim(size);
    }
    c_.set_output(next_++, all);
  }
  return absl::OkStatus();
}

void ExampleShapes::SetVectors(int64_t count) {
  SetAll(count, PartialShape::Vector(PartialShape::kUnknown));
}

void ExampleShapes::SetSplits(int64_t count) {
  PartialShape splits = batch_;
  if (splits.has_rank() && splits.rank() == 1 &&
      splits.dim(0) != PartialShape::kUnknown) {
    splits.set_dim(0, splits.dim(0) == std::numeric_limits<int64_t>::max()
                          ? PartialShape::kUnknown
                          : splits.dim(0) + 1);
  }
  SetAll(count, splits);
}

void ExampleShapes::SetAll(int64_t count, const PartialShape& shape) {
  for (int64_t i = 0; i < count; ++i) c_.set_output(next_++, shape);
}

}  // namespace weft
