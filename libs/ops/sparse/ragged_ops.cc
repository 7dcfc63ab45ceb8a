// Ragged tensors: values, and row splits of one dimension or more.
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/sparse/op_groups.h"

namespace weft {
namespace {

int64_t OneMore(int64_t size) {
  constexpr int64_t kMost = int64_t{1} << 62;
  return size < 0 || size > kMost ? PartialShape::kUnknown : size + 1;
}
int64_t OneLess(int64_t size) {
  return size <= 0 ? PartialShape::kUnknown : size - 1;
}

absl::Status ToVariantShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const bool is_batched, c.GetAttr<bool>("batched_input"));
  const int last = c.num_inputs() - 1;
  for (int i = 0; i < last; ++i) {
    RETURN_IF_ERROR(c.InputWithRank(i, 1).status());
  }
  if (!is_batched) return shapes::Scalar(c);
  const PartialShape& rows = c.input(0);
  int64_t count = PartialShape::kUnknown;
  if (rows.has_rank() && rows.rank() == 0) {
    return absl::InvalidArgumentError(
        "Ragged values must have rank >= 1, but are a scalar");
  }
  if (rows.has_rank()) count = last == 0 ? rows.dim(0) : OneLess(rows.dim(0));
  c.set_output(0, PartialShape::Vector(count));
  return absl::OkStatus();
}

absl::Status FromVariantShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const auto inner, c.GetAttr<int64_t>("input_ragged_rank"));
  ASSIGN_OR_RETURN(const auto outer, c.GetAttr<int64_t>("output_ragged_rank"));
  const PartialShape& encoded = c.input(0);
  if (encoded.has_rank() && inner >= 0 && inner + encoded.rank() != outer) {
    return absl::InvalidArgumentError(absl::StrCat(
        "output_ragged_rank must be equal to input_ragged_rank + the rank of "
        "encoded_ragged; output_ragged_rank: ",
        outer, ", input_ragged_rank: ", inner,
        ", encoded_ragged: ", encoded.ToString()));
  }
  for (int i = 0; i < c.num_outputs(); ++i) {
    c.set_output(i, PartialShape::Vector(PartialShape::kUnknown));
  }
  if (encoded.has_rank() && encoded.rank() > 0) {
    c.set_output(0, PartialShape::Vector(OneMore(encoded.dim(0))));
  }
  c.set_output(c.num_outputs() - 1, PartialShape::UnknownRank());
  return absl::OkStatus();
}

absl::Status RangeShape(InferenceContext& c) {
  int64_t rows = PartialShape::kUnknown;
  bool are_scalars = true;
  for (int i = 0; i < 3; ++i) {
    const PartialShape& shape = c.input(i);
    if (!shape.has_rank()) {
      are_scalars = false;
      continue;
    }
    if (shape.rank() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("Shape must be at most rank 1 but is rank ",
                       shape.rank(), " for input ", i));
    }
    if (shape.rank() == 0) continue;
    are_scalars = false;
    ASSIGN_OR_RETURN(rows, InferenceContext::MergeDims(rows, shape.dim(0)));
  }
  c.set_output(0, PartialShape::Vector(are_scalars ? 2 : OneMore(rows)));
  c.set_output(1, PartialShape::Vector(PartialShape::kUnknown));
  return absl::OkStatus();
}

}  // namespace

void RegisterRaggedOps(OpRegistry& registry) {
  registry.Add(OpDefBuilder("RaggedTensorToVariant")
                   .Input("rt_nested_splits: RAGGED_RANK * Tsplits")
                   .Input("rt_dense_values: Tvalues")
                   .Output("encoded_ragged: variant")
                   .Attr("RAGGED_RANK: int >= 0")
                   .Attr("Tvalues: type")
                   .Attr("Tsplits: {int32, int64} = DT_INT64")
                   .Attr("batched_input: bool")
                   .Doc("A ragged tensor, or each of its rows, as a variant.")
                   .Shape(ToVariantShape));
  registry.Add(OpDefBuilder("RaggedTensorFromVariant")
                   .Input("encoded_ragged: variant")
                   .Output("output_nested_splits: output_ragged_rank * Tsplits")
                   .Output("output_dense_values: Tvalues")
                   .Attr("input_ragged_rank: int >= -1")
                   .Attr("output_ragged_rank: int >= 0")
                   .Attr("Tvalues: type")
                   .Attr("Tsplits: {int32, int64} = DT_INT64")
                   .Doc("Ragged tensors of RaggedTensorToVariant, stacked.")
                   .Shape(FromVariantShape));
  registry.Add(
      OpDefBuilder("RaggedRange")
          .Input("starts: T")
          .Input("limits: T")
          .Input("deltas: T")
          .Output("rt_nested_splits: Tsplits")
          .Output("rt_dense_values: T")
          .Attr("T: {bfloat16, float, double, int32, int64} = DT_INT32")
          .Attr("Tsplits: {int32, int64} = DT_INT64")
          .Doc("Ranges of numbers, a row each.")
          .Shape(RangeShape));
}

}  // namespace weft
