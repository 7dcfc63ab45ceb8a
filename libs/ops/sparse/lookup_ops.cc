// Ops that passes substitute for lookups of sparse ids
// (libs/passes/lookup_fusion.h). Clients do not use them.
#include <string>

#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/sparse/op_groups.h"
#include "libs/ops/standard_ops.h"

namespace weft {
namespace {

constexpr int64_t kUnknown = PartialShape::kUnknown;

absl::Status RowIdsShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 2).status());
  RETURN_IF_ERROR(c.InputWithRank(1, 1).status());
  RETURN_IF_ERROR(c.InputWithRank(2, 1).status());
  RETURN_IF_ERROR(c.InputWithRank(3, 0).status());
  for (int i = 0; i < c.num_outputs(); ++i) {
    c.set_output(i, PartialShape::Vector(kUnknown));
  }
  return absl::OkStatus();
}

// A row for each of `rows`.
absl::Status RowsLike(InferenceContext& c, int64_t rows, int like) {
  for (const int vector : {1, 2, 3}) {
    RETURN_IF_ERROR(c.InputWithRank(vector, 1).status());
  }
  ASSIGN_OR_RETURN(const PartialShape matrix, c.InputWithRank(like, 2));
  c.set_output(0, PartialShape::Matrix(
                      rows, matrix.has_rank() ? matrix.dim(1) : kUnknown));
  return absl::OkStatus();
}

int64_t SizeOf(const PartialShape& shape) {
  return shape.has_rank() && shape.rank() > 0 ? shape.dim(0) : kUnknown;
}

absl::Status CombineShape(InferenceContext& c) {
  return RowsLike(c, SizeOf(c.input(3)), 0);
}

absl::Status CombineGradShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 2).status());
  return RowsLike(c, SizeOf(c.input(4)), 4);
}

absl::Status HashedShape(InferenceContext& c) {
  const PartialShape& text = c.input(0);
  c.set_output(0, PartialShape::Matrix(
                      kUnknown, text.has_rank() ? text.rank() : kUnknown));
  c.set_output(1, PartialShape::Vector(kUnknown));
  return absl::OkStatus();
}

// The last dimension then counts ids.
absl::Status CountsShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 2).status());
  // A single id may apply to all indices.
  if (!c.input(1).has_rank() || c.input(1).rank() != 0) {
    RETURN_IF_ERROR(c.InputWithRank(1, 1).status());
  }
  RETURN_IF_ERROR(c.InputWithRank(2, 1).status());
  ASSIGN_OR_RETURN(const auto depth, c.GetAttr<int64_t>("depth"));
  const int64_t rank = SizeOf(c.input(2));
  if (rank < 1 || rank > kMaxRank) {
    c.set_output(0, PartialShape::UnknownRank());
    return absl::OkStatus();
  }
  Dims dims(static_cast<size_t>(rank), kUnknown);
  dims.back() = depth;
  ASSIGN_OR_RETURN(PartialShape counts, PartialShape::Create(dims));
  c.set_output(0, std::move(counts));
  return absl::OkStatus();
}

// Adds the inputs for the ids of each example.
OpDefBuilder WithIds(OpDefBuilder builder) {
  return builder.Input("idx: int32")
      .Input("row_ids: int32")
      .Input("empty_rows: bool");
}

constexpr char kCombiner[] = "combiner: {'sum', 'mean', 'sqrtn'}";

}  // namespace

void RegisterSparseLookupOps(OpRegistry& registry) {
  registry.Add(OpDefBuilder("_UniqueRowIds")
                   .Input("indices: int64")
                   .Input("values: T")
                   .Input("dense_shape: int64")
                   .Input("default_value: T")
                   .Output("y: T")
                   .Output("idx: int32")
                   .Output("empty_rows: bool")
                   .Output("row_ids: int32")
                   .Attr("T: {int32, int64}")
                   .Doc("The unique non-negative ids of a sparse tensor; for "
                        "each id, in row order, its index in them and its row. "
                        "An empty row gets the default value.")
                   .Shape(RowIdsShape));
  registry.Add(WithIds(OpDefBuilder("_CombineRows").Input("data: T"))
                   .Output("output: T")
                   .Attr("T: {float, double}")
                   .Attr(kCombiner)
                   .Doc("The sum or mean of data[idx] for each row, by "
                        "row_ids; zeros for empty rows.")
                   .Shape(CombineShape));
  registry.Add(
      WithIds(OpDefBuilder("_CombineRowsGrad").Input("grad: T"))
          .Input("data: T")
          .Output("output: T")
          .Attr("T: {float, double}")
          .Attr(kCombiner)
          .Doc("The gradient of _CombineRows with respect to its data.")
          .Shape(CombineGradShape));
  registry.Add(OpDefBuilder("_WhereHashed")
                   .Input("input: string")
                   .Output("index: int64")
                   .Output("bucket: int64")
                   .Attr("num_buckets: int >= 1")
                   .Doc("The indices of nonempty strings, and their buckets as "
                        "in StringToHashBucketFast.")
                   .Shape(HashedShape));
  registry.Add(OpDefBuilder("_CountIds")
                   .Input("indices: int64")
                   .Input("values: T")
                   .Input("dense_shape: int64")
                   .Output("counts: float")
                   .Attr("depth: int >= 0")
                   .Attr("T: {int32, int64}")
                   .Doc("Counts each of the ids 0 to depth - 1 along the last "
                        "dimension of an ordered sparse tensor.")
                   .Shape(CountsShape));
}

}  // namespace weft
