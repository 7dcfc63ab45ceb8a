// Array ops that search values: in sorted rows, in unsorted rows, in ranges.
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/array/op_groups.h"

namespace weft {
namespace {

absl::Status BoundShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 2).status());
  ASSIGN_OR_RETURN(PartialShape values, c.InputWithRank(1, 2));
  c.set_output(0, std::move(values));
  return absl::OkStatus();
}

absl::Status NthElementShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialShape input, c.InputWithRankAtLeast(0, 1));
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  if (!input.has_rank()) return absl::OkStatus();
  const auto n = c.input_scalar(1);
  if (n && *n < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("Dimension size, given by scalar input 1, must be "
                     "non-negative but is ",
                     *n));
  }
  const int64_t size = input.dim(input.rank() - 1);
  if (n && size >= 0 && size <= *n) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Input must have last dimension > n = ", *n, " but is ", size));
  }
  c.set_output(
      0, PartialShape(Dims(input.dims().begin(), input.dims().end() - 1)));
  return absl::OkStatus();
}

absl::Status UnravelShape(InferenceContext& c) {
  const PartialShape& indices = c.input(0);
  ASSIGN_OR_RETURN(const PartialShape dims, c.InputWithRank(1, 1));
  if (!indices.has_rank()) return absl::OkStatus();
  if (indices.rank() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "The indices can only be scalar or vector, got ", indices.ToString()));
  }
  const int64_t rank = dims.has_rank() ? dims.dim(0) : PartialShape::kUnknown;
  c.set_output(0, indices.rank() == 0
                      ? PartialShape::Vector(rank)
                      : PartialShape::Matrix(rank, indices.dim(0)));
  return absl::OkStatus();
}

absl::Status HistogramShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 1).status());
  RETURN_IF_ERROR(c.InputWithRank(2, 0).status());
  const int64_t bins = c.input_scalar(2).value_or(PartialShape::kUnknown);
  c.set_output(0,
               PartialShape::Vector(bins > 0 ? bins : PartialShape::kUnknown));
  return absl::OkStatus();
}

void AddBound(OpRegistry& registry, const char* name, const char* doc) {
  registry.Add(OpDefBuilder(name)
                   .Input("sorted_inputs: T")
                   .Input("values: T")
                   .Output("output: out_type")
                   .Attr("T: type")
                   .Attr("out_type: {int32, int64} = DT_INT32")
                   .Doc(doc)
                   .Shape(BoundShape));
}

}  // namespace

void RegisterArraySearchOps(OpRegistry& registry) {
  AddBound(registry, "LowerBound",
           "Counts the numbers of a sorted row that are less than each value.");
  AddBound(registry, "UpperBound",
           "Counts the numbers of a sorted row that are not greater than each "
           "value.");
  registry.Add(OpDefBuilder("NthElement")
                   .Input("input: T")
                   .Input("n: int32")
                   .Output("values: T")
                   .Attr("reverse: bool = false")
                   .Attr("T: realnumbertype")
                   .Doc("Returns the number at index n of each sorted row.")
                   .Shape(NthElementShape));
  registry.Add(OpDefBuilder("UnravelIndex")
                   .Input("indices: Tidx")
                   .Input("dims: Tidx")
                   .Output("output: Tidx")
                   .Attr("Tidx: {int32, int64} = DT_INT32")
                   .Doc("Converts flat indices to coordinates.")
                   .Shape(UnravelShape));
  registry.Add(OpDefBuilder("HistogramFixedWidth")
                   .Input("values: T")
                   .Input("value_range: T")
                   .Input("nbins: int32")
                   .Output("out: dtype")
                   .Attr("T: {int32, int64, float, double}")
                   .Attr("dtype: {int32, int64} = DT_INT32")
                   .Doc("Counts the values in equal-width bins of a range.")
                   .Shape(HistogramShape));
}

}  // namespace weft
