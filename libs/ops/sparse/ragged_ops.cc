// Ops on ragged tensors: values, and the row splits of at least one dimension.
#include <string>
#include <utility>
#include <vector>

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

// All row splits are vectors, including those of the result.
absl::Status RaggedGatherShape(InferenceContext& c) {
  const int splits = c.num_inputs() - 2;
  for (int i = 0; i < splits; ++i) {
    RETURN_IF_ERROR(c.InputWithRank(i, 1).status());
  }
  ASSIGN_OR_RETURN(PartialShape values, c.InputWithRankAtLeast(splits, 1));
  for (int i = 0; i + 1 < c.num_outputs(); ++i) {
    c.set_output(i, PartialShape::Vector(PartialShape::kUnknown));
  }
  if (!values.has_rank()) return absl::OkStatus();
  Dims dims(values.dims().begin(), values.dims().end());
  dims[0] = PartialShape::kUnknown;
  c.set_output(c.num_outputs() - 1, PartialShape(std::move(dims)));
  return absl::OkStatus();
}

absl::Status ToSparseShape(InferenceContext& c) {
  const int splits = c.num_inputs() - 1;
  for (int i = 0; i < splits; ++i) {
    RETURN_IF_ERROR(c.InputWithRank(i, 1).status());
  }
  ASSIGN_OR_RETURN(const PartialShape values,
                   c.InputWithRankAtLeast(splits, 1));
  const int64_t rank =
      values.has_rank() ? values.rank() + splits : PartialShape::kUnknown;
  c.set_output(0, PartialShape::Matrix(PartialShape::kUnknown, rank));
  c.set_output(1, PartialShape::Vector(PartialShape::kUnknown));
  c.set_output(2, PartialShape::Vector(rank));
  return absl::OkStatus();
}

// The requested sizes, if known, followed by those of a row of values.
absl::Status ToTensorShape(InferenceContext& c) {
  const PartialShape& values = c.input(1);
  ASSIGN_OR_RETURN(const auto types,
                   c.GetAttr<std::vector<std::string>>("row_partition_types"));
  if (types.size() > 1 && types[0] == "FIRST_DIM_SIZE" &&
      types[1] != "VALUE_ROWIDS") {
    return absl::InvalidArgumentError(
        "FIRST_DIM_SIZE must be followed by VALUE_ROWIDS");
  }
  const auto ragged = static_cast<int>(types.size()) -
                      (!types.empty() && types[0] == "FIRST_DIM_SIZE");
  if (!values.has_rank() || values.rank() < 1) return absl::OkStatus();
  Dims dims(static_cast<size_t>(ragged) + 1, PartialShape::kUnknown);
  dims.insert(dims.end(), values.dims().begin() + 1, values.dims().end());
  const PartialShape& shape = c.input(0);
  const PartialShape wanted = shape.has_rank() && shape.rank() == 1
                                  ? c.input_as_shape(0)
                                  : PartialShape::UnknownRank();
  if (wanted.has_rank()) {
    if (wanted.rank() != static_cast<int>(dims.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat("rt_input.shape and shape=", wanted.ToString(),
                       " are incompatible: rt_input.rank = ", dims.size(),
                       " but shape.rank = ", wanted.rank()));
    }
    for (int d = 0; d < wanted.rank(); ++d) {
      if (wanted.dim(d) >= 0) dims[d] = wanted.dim(d);
    }
  }
  c.set_output(0, PartialShape(std::move(dims)));
  return absl::OkStatus();
}

absl::Status RaggedFillEmptyRowsShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialShape rowids, c.InputWithRank(0, 1));
  RETURN_IF_ERROR(c.InputWithRank(1, 1).status());
  RETURN_IF_ERROR(c.InputWithRank(2, 0).status());
  RETURN_IF_ERROR(c.InputWithRank(3, 0).status());
  const int64_t rows = c.input_scalar(2).value_or(PartialShape::kUnknown);
  c.set_output(0, PartialShape::Vector(PartialShape::kUnknown));
  c.set_output(1, PartialShape::Vector(PartialShape::kUnknown));
  c.set_output(2, PartialShape::Vector(rows < 0 ? -1 : rows));
  c.set_output(3, rowids);
  return absl::OkStatus();
}

absl::Status RaggedFillEmptyRowsGradShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialShape reverse, c.InputWithRank(0, 1));
  RETURN_IF_ERROR(c.InputWithRank(1, 1).status());
  c.set_output(0, reverse);
  c.set_output(1, PartialShape::Scalar());
  return absl::OkStatus();
}

absl::Status ToVariantGradShape(InferenceContext& c) {
  c.set_output(0, c.input_as_shape(2));
  return absl::OkStatus();
}

void RegisterRaggedParts(OpRegistry& registry) {
  registry.Add(OpDefBuilder("RaggedGather")
                   .Input("params_nested_splits: PARAMS_RAGGED_RANK * Tsplits")
                   .Input("params_dense_values: Tvalues")
                   .Input("indices: Tindices")
                   .Output("output_nested_splits: OUTPUT_RAGGED_RANK * Tsplits")
                   .Output("output_dense_values: Tvalues")
                   .Attr("Tvalues: type")
                   .Attr("Tindices: {int32, int64}")
                   .Attr("Tsplits: {int32, int64} = DT_INT64")
                   .Attr("PARAMS_RAGGED_RANK: int >= 1")
                   .Attr("OUTPUT_RAGGED_RANK: int >= 0")
                   .Doc("Gathers rows of a ragged tensor by index.")
                   .Shape(RaggedGatherShape));
  registry.Add(OpDefBuilder("RaggedTensorToSparse")
                   .Input("rt_nested_splits: RAGGED_RANK * Tsplits")
                   .Input("rt_dense_values: T")
                   .Output("sparse_indices: int64")
                   .Output("sparse_values: T")
                   .Output("sparse_dense_shape: int64")
                   .Attr("RAGGED_RANK: int >= 1")
                   .Attr("T: type")
                   .Attr("Tsplits: {int32, int64} = DT_INT64")
                   .Doc("Converts a ragged tensor to a sparse one.")
                   .Shape(ToSparseShape));
  registry.Add(
      OpDefBuilder("RaggedTensorToTensor")
          .Input("shape: Tshape")
          .Input("values: T")
          .Input("default_value: T")
          .Input("row_partition_tensors: num_row_partition_tensors * Tindex")
          .Output("result: T")
          .Attr("T: type")
          .Attr("Tindex: {int64, int32}")
          .Attr("Tshape: {int64, int32}")
          .Attr("num_row_partition_tensors: int >= 1")
          .Attr("row_partition_types: list(string)")
          .Doc("Converts a ragged tensor to a dense one, padded or cut to a "
               "shape.")
          .Shape(ToTensorShape));
  registry.Add(OpDefBuilder("RaggedFillEmptyRows")
                   .Input("value_rowids: int64")
                   .Input("values: T")
                   .Input("nrows: int64")
                   .Input("default_value: T")
                   .Output("output_value_rowids: int64")
                   .Output("output_values: T")
                   .Output("empty_row_indicator: bool")
                   .Output("reverse_index_map: int64")
                   .Attr("T: type")
                   .Doc("Adds a default value to each empty row.")
                   .Shape(RaggedFillEmptyRowsShape));
  registry.Add(OpDefBuilder("RaggedFillEmptyRowsGrad")
                   .Input("reverse_index_map: int64")
                   .Input("grad_values: T")
                   .Output("d_values: T")
                   .Output("d_default_value: T")
                   .Attr("T: type")
                   .Doc("The gradient of RaggedFillEmptyRows.")
                   .Shape(RaggedFillEmptyRowsGradShape));
  registry.Add(OpDefBuilder("RaggedTensorToVariantGradient")
                   .Input("encoded_ragged_grad: variant")
                   .Input("row_splits: Tsplits")
                   .Input("dense_values_shape: int32")
                   .Output("dense_values_grad: Tvalues")
                   .Attr("Tvalues: type")
                   .Attr("Tsplits: {int32, int64} = DT_INT64")
                   .Doc("The gradient of RaggedTensorToVariant.")
                   .Shape(ToVariantGradShape));
}

}  // namespace

void RegisterRaggedOps(OpRegistry& registry) {
  RegisterRaggedParts(registry);

  registry.Add(
      OpDefBuilder("RaggedTensorToVariant")
          .Input("rt_nested_splits: RAGGED_RANK * Tsplits")
          .Input("rt_dense_values: Tvalues")
          .Output("encoded_ragged: variant")
          .Attr("RAGGED_RANK: int >= 0")
          .Attr("Tvalues: type")
          .Attr("Tsplits: {int32, int64} = DT_INT64")
          .Attr("batched_input: bool")
          .Doc("Encodes a ragged tensor, or each of its rows, as a variant.")
          .Shape(ToVariantShape));
  registry.Add(
      OpDefBuilder("RaggedTensorFromVariant")
          .Input("encoded_ragged: variant")
          .Output("output_nested_splits: output_ragged_rank * Tsplits")
          .Output("output_dense_values: Tvalues")
          .Attr("input_ragged_rank: int >= -1")
          .Attr("output_ragged_rank: int >= 0")
          .Attr("Tvalues: type")
          .Attr("Tsplits: {int32, int64} = DT_INT64")
          .Doc("Decodes and stacks the results of RaggedTensorToVariant.")
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
          .Doc("Returns one range of numbers per row.")
          .Shape(RangeShape));
}

}  // namespace weft
