// Array ops that reduce the rows of each segment.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/array/array_shapes.h"
#include "libs/ops/array/op_groups.h"

namespace weft {
namespace {

using array_shapes::Concatenate;
using array_shapes::Subshape;

constexpr char kNumbers[] = "T: numbertype";
constexpr char kRealNumbers[] = "T: realnumbertype";
constexpr char kFloatingTypes[] = "T: {bfloat16, half, float, double}";

// `rows` rows of the shape of a row of input 0.
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
  return RowsOfFirstInput(c, PartialShape::kUnknown);
}

// One segment for each chosen row.
absl::Status CheckChosenRows(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape indices, c.InputWithRank(1, 1));
  ASSIGN_OR_RETURN(PartialShape ids, c.InputWithRank(2, 1));
  return indices.MergeWith(ids).status();
}

absl::Status SparseSegmentShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckChosenRows(c));
  return RowsOfFirstInput(c, PartialShape::kUnknown);
}

absl::Status NumberedSegmentsShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckChosenRows(c));
  RETURN_IF_ERROR(c.InputWithRank(3, 0).status());
  const std::optional<int64_t> segments = c.input_scalar(3);
  if (segments && *segments < 0) {
    return absl::InvalidArgumentError(
        "Cannot specify a negative value for num_segments");
  }
  return RowsOfFirstInput(c, segments.value_or(PartialShape::kUnknown));
}

absl::Status SparseSegmentGradShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckChosenRows(c));
  RETURN_IF_ERROR(c.InputWithRank(3, 0).status());
  const std::optional<int64_t> rows = c.input_scalar(3);
  if (rows && *rows < 0) {
    return absl::InvalidArgumentError(
        "Cannot specify a negative value for dim0");
  }
  return RowsOfFirstInput(c, rows.value_or(PartialShape::kUnknown));
}

// The nonzero rows, and their indices.
absl::Status SparseSegmentGradV2Shape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckChosenRows(c));
  RETURN_IF_ERROR(c.InputWithRank(3, 0).status());
  c.set_output(1, PartialShape::Vector(PartialShape::kUnknown));
  return RowsOfFirstInput(c, PartialShape::kUnknown);
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
  c.set_output(0, Concatenate(PartialShape::Vector(
                                  segments.value_or(PartialShape::kUnknown)),
                              Subshape(data, ids.rank())));
  return absl::OkStatus();
}

void AddSorted(OpRegistry& registry, const char* name, const char* types,
               const char* what) {
  registry.Add(OpDefBuilder(name)
                   .Input("data: T")
                   .Input("segment_ids: Tindices")
                   .Output("output: T")
                   .Attr(types)
                   .Attr("Tindices: {int32, int64}")
                   .Doc(absl::StrCat(
                       what, " of the rows of each segment; ids are sorted."))
                   .Shape(SegmentShape));
}

void AddUnsorted(OpRegistry& registry, const char* name, const char* types,
                 const char* index_types, const char* what) {
  registry.Add(OpDefBuilder(name)
                   .Input("data: T")
                   .Input("segment_ids: Tindices")
                   .Input("num_segments: Tnumsegments")
                   .Output("output: T")
                   .Attr(types)
                   .Attr(index_types)
                   .Attr("Tnumsegments: {int32, int64} = DT_INT32")
                   .Doc(absl::StrCat(what, " of the rows of each segment."))
                   .Shape(UnsortedSegmentShape));
}

void AddSparse(OpRegistry& registry, const char* name, const char* types,
               const char* what) {
  registry.Add(OpDefBuilder(name)
                   .Input("data: T")
                   .Input("indices: Tidx")
                   .Input("segment_ids: Tsegmentids")
                   .Output("output: T")
                   .Attr(types)
                   .Attr("Tidx: {int32, int64} = DT_INT32")
                   .Attr("Tsegmentids: {int32, int64} = DT_INT32")
                   .Attr("sparse_gradient: bool = false")
                   .Doc(absl::StrCat(what, " of chosen rows by segment."))
                   .Shape(SparseSegmentShape));
}

void AddSparseOfCount(OpRegistry& registry, const char* name, const char* types,
                      const char* what) {
  registry.Add(OpDefBuilder(name)
                   .Input("data: T")
                   .Input("indices: Tidx")
                   .Input("segment_ids: Tsegmentids")
                   .Input("num_segments: Tnumsegments")
                   .Output("output: T")
                   .Attr(types)
                   .Attr("Tidx: {int32, int64} = DT_INT32")
                   .Attr("Tnumsegments: {int32, int64} = DT_INT32")
                   .Attr("Tsegmentids: {int32, int64} = DT_INT32")
                   .Attr("sparse_gradient: bool = false")
                   .Doc(absl::StrCat(what,
                                     " of chosen rows by segment, of "
                                     "which there may be empty ones."))
                   .Shape(NumberedSegmentsShape));
}

void AddSparseGradient(OpRegistry& registry, const char* name) {
  registry.Add(OpDefBuilder(name)
                   .Input("grad: T")
                   .Input("indices: Tidx")
                   .Input("segment_ids: Tsegmentids")
                   .Input("output_dim0: int32")
                   .Output("output: T")
                   .Attr(kFloatingTypes)
                   .Attr("Tidx: {int32, int64} = DT_INT32")
                   .Attr("Tsegmentids: {int32, int64} = DT_INT32")
                   .Doc(absl::StrCat("The gradient of ",
                                     absl::StripSuffix(name, "Grad"), "."))
                   .Shape(SparseSegmentGradShape));
}

void AddSparseGradientV2(OpRegistry& registry, const char* name) {
  registry.Add(OpDefBuilder(name)
                   .Input("grad: T")
                   .Input("indices: Tidx")
                   .Input("segment_ids: Tsegmentids")
                   .Input("dense_output_dim0: int32")
                   .Output("output: T")
                   .Output("sorted_unique_indices: Tidx")
                   .Attr(kFloatingTypes)
                   .Attr("Tidx: {int32, int64} = DT_INT32")
                   .Attr("Tsegmentids: {int32, int64} = DT_INT32")
                   .Doc("Returns the rows of the gradient that are not zero.")
                   .Shape(SparseSegmentGradV2Shape));
}

}  // namespace

void RegisterArraySegmentOps(OpRegistry& registry) {
  AddSorted(registry, "SegmentSum", kNumbers, "Sums");
  AddSorted(registry, "SegmentMean", kNumbers, "Means");
  AddSorted(registry, "SegmentProd", kNumbers, "Products");
  AddSorted(registry, "SegmentMin", kRealNumbers, "Minima");
  AddSorted(registry, "SegmentMax", kRealNumbers, "Maxima");

  const char* const any_index = "Tindices: {int16, int32, int64}";
  const char* const index = "Tindices: {int32, int64}";
  AddUnsorted(registry, "UnsortedSegmentSum", kNumbers, any_index, "Sums");
  AddUnsorted(registry, "UnsortedSegmentProd", kNumbers, index, "Products");
  AddUnsorted(registry, "UnsortedSegmentMin", kRealNumbers, index, "Minima");
  AddUnsorted(registry, "UnsortedSegmentMax", kRealNumbers, index, "Maxima");

  AddSparse(registry, "SparseSegmentSum", kRealNumbers, "Sums");
  AddSparse(registry, "SparseSegmentMean", kFloatingTypes, "Means");
  AddSparse(registry, "SparseSegmentSqrtN", kFloatingTypes,
            "Sums, divided by the root of their number,");
  AddSparseOfCount(registry, "SparseSegmentSumWithNumSegments", kRealNumbers,
                   "Sums");
  AddSparseOfCount(registry, "SparseSegmentMeanWithNumSegments", kFloatingTypes,
                   "Means");
  AddSparseOfCount(registry, "SparseSegmentSqrtNWithNumSegments",
                   kFloatingTypes,
                   "Sums, divided by the root of their number,");
  for (const char* name : {"SparseSegmentSumGrad", "SparseSegmentMeanGrad",
                           "SparseSegmentSqrtNGrad"}) {
    AddSparseGradient(registry, name);
  }
  for (const char* name : {"SparseSegmentSumGradV2", "SparseSegmentMeanGradV2",
                           "SparseSegmentSqrtNGradV2"}) {
    AddSparseGradientV2(registry, name);
  }
}

}  // namespace weft
