// Array ops that reduce the rows of each segment.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/array_op_groups.h"
#include "libs/ops/array_shapes.h"

namespace weft {
namespace {

using array_shapes::Concatenate;
using array_shapes::Subshape;

constexpr int64_t kUnknown = PartialShape::kUnknown;

// `rows` of what is in the rows of input 0.
absl::Status RowsOfFirstInput(InferenceContext& c, int64_t rows) {
  ASSIGN_OR_RETURN(PartialShape data, c.InputWithRankAtLeast(0, 1));
  if (!data.has_rank()) return absl::OkStatus();
  c.set_output(0, Concatenate(PartialShape::Vector(rows), Subshape(data, 1)));
  return absl::OkStatus();
}

absl::Status SegmentShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape ids, c.InputWithRank(1, 1));
  const PartialShape& data = c.input(0);
  if (data.has_rank() && data.rank() > 0) {
    RETURN_IF_ERROR(
        InferenceContext::MergeDims(data.dim(0), ids.dim(0)).status());
  }
  return RowsOfFirstInput(c, kUnknown);
}

absl::Status SparseSegmentShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape indices, c.InputWithRank(1, 1));
  ASSIGN_OR_RETURN(PartialShape ids, c.InputWithRank(2, 1));
  RETURN_IF_ERROR(indices.MergeWith(ids).status());
  return RowsOfFirstInput(c, kUnknown);
}

absl::Status SparseSegmentGradShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape indices, c.InputWithRank(1, 1));
  ASSIGN_OR_RETURN(PartialShape ids, c.InputWithRank(2, 1));
  RETURN_IF_ERROR(indices.MergeWith(ids).status());
  RETURN_IF_ERROR(c.InputWithRank(3, 0).status());
  const std::optional<int64_t> rows = c.input_scalar(3);
  if (rows && *rows < 0) {
    return absl::InvalidArgumentError(
        "Cannot specify a negative value for dim0");
  }
  return RowsOfFirstInput(c, rows.value_or(kUnknown));
}

// The rows that are not zero, and which those are.
absl::Status SparseSegmentGradV2Shape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape indices, c.InputWithRank(1, 1));
  ASSIGN_OR_RETURN(PartialShape ids, c.InputWithRank(2, 1));
  RETURN_IF_ERROR(indices.MergeWith(ids).status());
  RETURN_IF_ERROR(c.InputWithRank(3, 0).status());
  c.set_output(1, PartialShape::Vector(kUnknown));
  return RowsOfFirstInput(c, kUnknown);
}

absl::Status UnsortedSegmentShape(InferenceContext& c) {
  const PartialShape& data = c.input(0);
  const PartialShape& ids = c.input(1);
  RETURN_IF_ERROR(c.InputWithRank(2, 0).status());
  const std::optional<int64_t> segments = c.input_scalar(2);
  if (segments && *segments < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Dimension size, given by scalar input 2 must be non-negative but is ",
        *segments));
  }
  if (!data.has_rank() || !ids.has_rank()) return absl::OkStatus();
  if (ids.rank() > data.rank() ||
      !Subshape(data, 0, ids.rank()).IsCompatibleWith(ids)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "data.shape = ", data.ToString(),
        " does not start with segment_ids.shape = ", ids.ToString()));
  }
  c.set_output(0, Concatenate(PartialShape::Vector(segments.value_or(kUnknown)),
                              Subshape(data, ids.rank())));
  return absl::OkStatus();
}

}  // namespace

void RegisterArraySegmentOps(OpRegistry& registry) {
  registry.Add(OpDefBuilder("SegmentSum")
                   .Input("data: T")
                   .Input("segment_ids: Tindices")
                   .Output("output: T")
                   .Attr("T: numbertype")
                   .Attr("Tindices: {int32, int64}")
                   .Doc("Sums of the rows of each segment; ids are sorted.")
                   .Shape(SegmentShape));
  registry.Add(OpDefBuilder("SegmentMean")
                   .Input("data: T")
                   .Input("segment_ids: Tindices")
                   .Output("output: T")
                   .Attr("T: numbertype")
                   .Attr("Tindices: {int32, int64}")
                   .Doc("Means of the rows of each segment; ids are sorted.")
                   .Shape(SegmentShape));
  registry.Add(OpDefBuilder("SegmentProd")
                   .Input("data: T")
                   .Input("segment_ids: Tindices")
                   .Output("output: T")
                   .Attr("T: numbertype")
                   .Attr("Tindices: {int32, int64}")
                   .Doc("Products of the rows of each segment; ids are sorted.")
                   .Shape(SegmentShape));
  registry.Add(OpDefBuilder("SegmentMin")
                   .Input("data: T")
                   .Input("segment_ids: Tindices")
                   .Output("output: T")
                   .Attr("T: realnumbertype")
                   .Attr("Tindices: {int32, int64}")
                   .Doc("Minima of the rows of each segment; ids are sorted.")
                   .Shape(SegmentShape));
  registry.Add(OpDefBuilder("SegmentMax")
                   .Input("data: T")
                   .Input("segment_ids: Tindices")
                   .Output("output: T")
                   .Attr("T: realnumbertype")
                   .Attr("Tindices: {int32, int64}")
                   .Doc("Maxima of the rows of each segment; ids are sorted.")
                   .Shape(SegmentShape));
  registry.Add(OpDefBuilder("UnsortedSegmentSum")
                   .Input("data: T")
                   .Input("segment_ids: Tindices")
                   .Input("num_segments: Tnumsegments")
                   .Output("output: T")
                   .Attr("T: numbertype")
                   .Attr("Tindices: {int16, int32, int64}")
                   .Attr("Tnumsegments: {int32, int64} = DT_INT32")
                   .Doc("Sums of the rows of each segment.")
                   .Shape(UnsortedSegmentShape));
  registry.Add(OpDefBuilder("UnsortedSegmentProd")
                   .Input("data: T")
                   .Input("segment_ids: Tindices")
                   .Input("num_segments: Tnumsegments")
                   .Output("output: T")
                   .Attr("T: numbertype")
                   .Attr("Tindices: {int32, int64}")
                   .Attr("Tnumsegments: {int32, int64} = DT_INT32")
                   .Doc("Products of the rows of each segment.")
                   .Shape(UnsortedSegmentShape));
  registry.Add(OpDefBuilder("UnsortedSegmentMin")
                   .Input("data: T")
                   .Input("segment_ids: Tindices")
                   .Input("num_segments: Tnumsegments")
                   .Output("output: T")
                   .Attr("T: realnumbertype")
                   .Attr("Tindices: {int32, int64}")
                   .Attr("Tnumsegments: {int32, int64} = DT_INT32")
                   .Doc("Minima of the rows of each segment.")
                   .Shape(UnsortedSegmentShape));
  registry.Add(OpDefBuilder("UnsortedSegmentMax")
                   .Input("data: T")
                   .Input("segment_ids: Tindices")
                   .Input("num_segments: Tnumsegments")
                   .Output("output: T")
                   .Attr("T: realnumbertype")
                   .Attr("Tindices: {int32, int64}")
                   .Attr("Tnumsegments: {int32, int64} = DT_INT32")
                   .Doc("Maxima of the rows of each segment.")
                   .Shape(UnsortedSegmentShape));
  registry.Add(OpDefBuilder("SparseSegmentSum")
                   .Input("data: T")
                   .Input("indices: Tidx")
                   .Input("segment_ids: Tsegmentids")
                   .Output("output: T")
                   .Attr("T: realnumbertype")
                   .Attr("Tidx: {int32, int64} = DT_INT32")
                   .Attr("Tsegmentids: {int32, int64} = DT_INT32")
                   .Attr("sparse_gradient: bool = false")
                   .Doc("Sums of chosen rows by segment.")
                   .Shape(SparseSegmentShape));
  registry.Add(OpDefBuilder("SparseSegmentMean")
                   .Input("data: T")
                   .Input("indices: Tidx")
                   .Input("segment_ids: Tsegmentids")
                   .Output("output: T")
                   .Attr("T: {bfloat16, half, float, double}")
                   .Attr("Tidx: {int32, int64} = DT_INT32")
                   .Attr("Tsegmentids: {int32, int64} = DT_INT32")
                   .Attr("sparse_gradient: bool = false")
                   .Doc("Means of chosen rows by segment.")
                   .Shape(SparseSegmentShape));
  registry.Add(OpDefBuilder("SparseSegmentSqrtN")
                   .Input("data: T")
                   .Input("indices: Tidx")
                   .Input("segment_ids: Tsegmentids")
                   .Output("output: T")
                   .Attr("T: {bfloat16, half, float, double}")
                   .Attr("Tidx: {int32, int64} = DT_INT32")
                   .Attr("Tsegmentids: {int32, int64} = DT_INT32")
                   .Attr("sparse_gradient: bool = false")
                   .Doc("Sums, divided by the root of their number, of chosen "
                        "rows by segment.")
                   .Shape(SparseSegmentShape));
  registry.Add(OpDefBuilder("SparseSegmentSumGrad")
                   .Input("grad: T")
                   .Input("indices: Tidx")
                   .Input("segment_ids: Tsegmentids")
                   .Input("output_dim0: int32")
                   .Output("output: T")
                   .Attr("T: {bfloat16, half, float, double}")
                   .Attr("Tidx: {int32, int64} = DT_INT32")
                   .Attr("Tsegmentids: {int32, int64} = DT_INT32")
                   .Doc("The gradient of SparseSegmentSum.")
                   .Shape(SparseSegmentGradShape));
  registry.Add(OpDefBuilder("SparseSegmentMeanGrad")
                   .Input("grad: T")
                   .Input("indices: Tidx")
                   .Input("segment_ids: Tsegmentids")
                   .Input("output_dim0: int32")
                   .Output("output: T")
                   .Attr("T: {bfloat16, half, float, double}")
                   .Attr("Tidx: {int32, int64} = DT_INT32")
                   .Attr("Tsegmentids: {int32, int64} = DT_INT32")
                   .Doc("The gradient of SparseSegmentMean.")
                   .Shape(SparseSegmentGradShape));
  registry.Add(OpDefBuilder("SparseSegmentSqrtNGrad")
                   .Input("grad: T")
                   .Input("indices: Tidx")
                   .Input("segment_ids: Tsegmentids")
                   .Input("output_dim0: int32")
                   .Output("output: T")
                   .Attr("T: {bfloat16, half, float, double}")
                   .Attr("Tidx: {int32, int64} = DT_INT32")
                   .Attr("Tsegmentids: {int32, int64} = DT_INT32")
                   .Doc("The gradient of SparseSegmentSqrtN.")
                   .Shape(SparseSegmentGradShape));
  for (const bool mean : {false, true}) {
    registry.Add(OpDefBuilder(mean ? "SparseSegmentMeanGradV2"
                                   : "SparseSegmentSumGradV2")
                     .Input("grad: T")
                     .Input("indices: Tidx")
                     .Input("segment_ids: Tsegmentids")
                     .Input("dense_output_dim0: int32")
                     .Output("output: T")
                     .Output("sorted_unique_indices: Tidx")
                     .Attr("T: {bfloat16, half, float, double}")
                     .Attr("Tidx: {int32, int64} = DT_INT32")
                     .Attr("Tsegmentids: {int32, int64} = DT_INT32")
                     .Doc("The rows of the gradient that are not zero.")
                     .Shape(SparseSegmentGradV2Shape));
  }
}

}  // namespace weft
