// Array ops that read and write slices, rows and single elements.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/array/array_shapes.h"
#include "libs/ops/array/op_groups.h"
#include "libs/ops/array/strided_slice.h"

namespace weft {
namespace {

using array_shapes::Concatenate;
using array_shapes::Integers;
using array_shapes::MakeIntegers;
using array_shapes::Subshape;

// The size of dimension `i` of a slice.
absl::StatusOr<int64_t> SlicedSize(int i, int64_t whole, int64_t begin,
                                   int64_t size) {
  if (begin < 0 || size < -1) {
    return absl::InvalidArgumentError(
        absl::StrCat("Negative begin or size in dimension ", i, " of a slice"));
  }
  if (whole == PartialShape::kUnknown) return size;
  if (begin > whole || (size != -1 && size > whole - begin)) {
    return absl::InvalidArgumentError(
        absl::StrCat("Expected size[", i, "] in [0, ",
                     std::max<int64_t>(0, whole - begin), "], but got ", size));
  }
  return size == -1 ? whole - begin : size;
}

absl::Status SliceShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape begin_shape, c.InputWithRank(1, 1));
  ASSIGN_OR_RETURN(PartialShape size_shape, c.InputWithRank(2, 1));
  ASSIGN_OR_RETURN(int64_t entries, InferenceContext::MergeDims(
                                        begin_shape.dim(0), size_shape.dim(0)));
  PartialShape input = c.input(0);
  if (!input.has_rank()) {
    if (entries == PartialShape::kUnknown || entries > kMaxRank)
      return absl::OkStatus();
    input = PartialShape::OfRank(static_cast<int>(entries));
  }
  RETURN_IF_ERROR(InferenceContext::MergeDims(entries, input.rank()).status());
  const std::optional<Dims> begin = Integers(c, 1);
  const std::optional<Dims> size = Integers(c, 2);
  const auto rank = static_cast<size_t>(input.rank());
  if (!begin || !size || begin->size() != rank || size->size() != rank) {
    // Sizes other than -1 do not depend on the start of the slice.
    c.set_output(0, PartialShape::OfRank(input.rank()));
    PartialShape sizes = c.input_as_shape(2);
    if (sizes.has_rank()) c.set_output(0, sizes);
    return absl::OkStatus();
  }
  PartialShape result = PartialShape::Scalar();
  for (int i = 0; i < input.rank(); ++i) {
    ASSIGN_OR_RETURN(int64_t length,
                     SlicedSize(i, input.dim(i), (*begin)[i], (*size)[i]));
    result.AddDim(length);
  }
  c.set_output(0, std::move(result));
  return absl::OkStatus();
}

// Returns the value of a slice of a vector.
std::optional<Tensor> SliceValue(InferenceContext& c) {
  const std::optional<Dims> values = Integers(c, 0);
  const std::optional<Dims> begin = Integers(c, 1);
  const std::optional<Dims> size = Integers(c, 2);
  if (!values || c.input_tensor(0)->rank() != 1 || !begin || !size ||
      begin->size() != 1 || size->size() != 1) {
    return std::nullopt;
  }
  absl::StatusOr<int64_t> length = SlicedSize(
      0, static_cast<int64_t>(values->size()), (*begin)[0], (*size)[0]);
  if (!length.ok()) return std::nullopt;
  return MakeIntegers(
      c.output_type(0), {*length},
      absl::Span<const int64_t>(*values).subspan((*begin)[0], *length));
}

absl::StatusOr<StridedSliceMasks> GetMasks(const InferenceContext& c) {
  StridedSliceMasks masks;
  ASSIGN_OR_RETURN(masks.begin, c.GetAttr<int64_t>("begin_mask"));
  ASSIGN_OR_RETURN(masks.end, c.GetAttr<int64_t>("end_mask"));
  ASSIGN_OR_RETURN(masks.ellipsis, c.GetAttr<int64_t>("ellipsis_mask"));
  ASSIGN_OR_RETURN(masks.new_axis, c.GetAttr<int64_t>("new_axis_mask"));
  ASSIGN_OR_RETURN(masks.shrink_axis, c.GetAttr<int64_t>("shrink_axis_mask"));
  return masks;
}

// nullopt while the strides are unknown: the rank depends on their number.
absl::StatusOr<std::optional<StridedSlicePlan>> PlanFromInputs(
    InferenceContext& c) {
  StridedSliceSpec spec;
  ASSIGN_OR_RETURN(spec.masks, GetMasks(c));
  const std::optional<Dims> strides = Integers(c, 3);
  if (!strides) return std::nullopt;
  spec.begin = Integers(c, 1);
  spec.end = Integers(c, 2);
  spec.strides = *strides;
  ASSIGN_OR_RETURN(StridedSlicePlan plan, PlanStridedSlice(spec, c.input(0)));
  return plan;
}

absl::Status StridedSliceShape(InferenceContext& c) {
  for (int i = 1; i < 4; ++i) RETURN_IF_ERROR(c.InputWithRank(i, 1).status());
  ASSIGN_OR_RETURN(std::optional<StridedSlicePlan> plan, PlanFromInputs(c));
  if (plan) c.set_output(0, plan->final_shape);
  return absl::OkStatus();
}

// Returns the value of a slice of a vector.
std::optional<Tensor> StridedSliceValue(InferenceContext& c) {
  const std::optional<Dims> values = Integers(c, 0);
  if (!values || c.input_tensor(0)->rank() != 1 ||
      !c.input(0).IsFullyDefined()) {
    return std::nullopt;
  }
  // Without known indices, the plan only has sizes.
  if (!Integers(c, 1) || !Integers(c, 2)) return std::nullopt;
  absl::StatusOr<std::optional<StridedSlicePlan>> found = PlanFromInputs(c);
  if (!found.ok() || !found->has_value()) return std::nullopt;
  const StridedSlicePlan& plan = **found;
  if (!plan.final_shape.IsFullyDefined()) return std::nullopt;
  Dims result;
  for (int64_t i = 0; i < plan.processing_shape.dim(0); ++i) {
    result.push_back((*values)[plan.begin[0] + i * plan.strides[0]]);
  }
  return MakeIntegers(c.output_type(0), plan.final_shape.ToShape(), result);
}

absl::Status ShapeFromFirstInput(InferenceContext& c) {
  c.set_output(0, c.input_as_shape(0));
  return absl::OkStatus();
}

absl::Status GatherShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape params, c.InputWithRankAtLeast(0, 1));
  if (!params.has_rank()) return absl::OkStatus();
  c.set_output(0, Concatenate(c.input(1), Subshape(params, 1)));
  return absl::OkStatus();
}

absl::Status CheckBatchDims(const PartialShape& params,
                            const PartialShape& indices, int64_t batch_dims,
                            int axis) {
  if (batch_dims < 0 || batch_dims > axis || batch_dims > indices.rank()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "batch_dims ", batch_dims, " must be in [0, axis = ", axis,
        "] and at most ", indices.rank(), ", the rank of indices"));
  }
  for (int i = 0; i < batch_dims; ++i) {
    RETURN_IF_ERROR(
        InferenceContext::MergeDims(params.dim(i), indices.dim(i)).status());
  }
  return absl::OkStatus();
}

absl::Status GatherV2Shape(InferenceContext& c) {
  ASSIGN_OR_RETURN(int64_t batch_dims, c.GetAttr<int64_t>("batch_dims"));
  RETURN_IF_ERROR(c.InputWithRank(2, 0).status());
  const PartialShape& params = c.input(0);
  const PartialShape& indices = c.input(1);
  const std::optional<int64_t> value = c.input_scalar(2);
  if (!params.has_rank() || !indices.has_rank()) return absl::OkStatus();
  RETURN_IF_ERROR(c.InputWithRankAtLeast(0, 1).status());
  if (batch_dims < 0) batch_dims += indices.rank();
  if (!value) {
    if (batch_dims < 0 || batch_dims > indices.rank()) return absl::OkStatus();
    const int64_t rank = params.rank() - 1 + indices.rank() - batch_dims;
    if (rank <= kMaxRank) {
      c.set_output(0, PartialShape::OfRank(static_cast<int>(rank)));
    }
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(int axis,
                   array_shapes::NormalizeAxis(*value, params.rank()));
  RETURN_IF_ERROR(CheckBatchDims(params, indices, batch_dims, axis));
  const PartialShape outer = Subshape(params, 0, axis);
  const PartialShape middle = Subshape(indices, static_cast<int>(batch_dims));
  c.set_output(
      0, Concatenate(Concatenate(outer, middle), Subshape(params, axis + 1)));
  return absl::OkStatus();
}

// From vectors, with a scalar or vector of indices.
std::optional<Tensor> GatherValue(InferenceContext& c) {
  const std::optional<Dims> params = Integers(c, 0);
  const std::optional<Dims> indices = Integers(c, 1);
  if (!params || !indices || c.input_tensor(0)->rank() != 1) {
    return std::nullopt;
  }
  if (c.num_inputs() == 3) {
    const std::optional<int64_t> axis = c.input_scalar(2);
    const absl::StatusOr<int64_t> batch_dims = c.GetAttr<int64_t>("batch_dims");
    if (!axis || (*axis != 0 && *axis != -1)) return std::nullopt;
    if (!batch_dims.ok() || *batch_dims != 0) return std::nullopt;
  }
  Dims result;
  for (int64_t index : *indices) {
    if (index < 0 || index >= static_cast<int64_t>(params->size())) {
      return std::nullopt;
    }
    result.push_back((*params)[index]);
  }
  return MakeIntegers(c.output_type(0), c.input_tensor(1)->shape(), result);
}

absl::Status GatherNdShape(InferenceContext& c) {
  const PartialShape& params = c.input(0);
  ASSIGN_OR_RETURN(PartialShape indices, c.InputWithRankAtLeast(1, 1));
  if (!params.has_rank() || !indices.has_rank()) return absl::OkStatus();
  const int last = indices.rank() - 1;
  const int64_t depth = indices.dim(last);
  if (depth == PartialShape::kUnknown) return absl::OkStatus();
  if (depth > params.rank()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "indices.shape[-1] must be <= params.rank, but saw indices shape: ",
        indices.ToString(), " and params shape: ", params.ToString()));
  }
  c.set_output(0, Concatenate(Subshape(indices, 0, last),
                              Subshape(params, static_cast<int>(depth))));
  return absl::OkStatus();
}

absl::Status ScatterNdShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(2, 1).status());
  RETURN_IF_ERROR(c.InputWithRankAtLeast(0, 1).status());
  c.set_output(0, c.input_as_shape(2));
  return absl::OkStatus();
}

void AddTensorScatter(OpRegistry& registry, const char* name, const char* how) {
  registry.Add(
      OpDefBuilder(name)
          .Input("tensor: T")
          .Input("indices: Tindices")
          .Input("updates: T")
          .Output("output: T")
          .Attr("T: type")
          .Attr("Tindices: {int32, int64}")
          .Attr("bad_indices_policy: string = ''")
          .Doc(absl::StrCat("A tensor ", how, " some elements or slices."))
          .Shape(shapes::Unchanged));
}

}  // namespace

void RegisterArraySliceOps(OpRegistry& registry) {
  registry.Add(OpDefBuilder("Slice")
                   .Input("input: T")
                   .Input("begin: Index")
                   .Input("size: Index")
                   .Output("output: T")
                   .Attr("T: type")
                   .Attr("Index: {int32, int64}")
                   .Doc("Extracts a block of a tensor.")
                   .Shape(SliceShape)
                   .Value(SliceValue));
  registry.Add(
      OpDefBuilder("StridedSlice")
          .Input("input: T")
          .Input("begin: Index")
          .Input("end: Index")
          .Input("strides: Index")
          .Output("output: T")
          .Attr("T: type")
          .Attr("Index: {int16, int32, int64}")
          .Attr("begin_mask: int = 0")
          .Attr("end_mask: int = 0")
          .Attr("ellipsis_mask: int = 0")
          .Attr("new_axis_mask: int = 0")
          .Attr("shrink_axis_mask: int = 0")
          .Doc("Extracts a slice of a tensor, as in Python's slice notation.")
          .Shape(StridedSliceShape)
          .Value(StridedSliceValue));
  registry.Add(OpDefBuilder("StridedSliceGrad")
                   .Input("shape: Index")
                   .Input("begin: Index")
                   .Input("end: Index")
                   .Input("strides: Index")
                   .Input("dy: T")
                   .Output("output: T")
                   .Attr("T: type")
                   .Attr("Index: {int32, int64}")
                   .Attr("begin_mask: int = 0")
                   .Attr("end_mask: int = 0")
                   .Attr("ellipsis_mask: int = 0")
                   .Attr("new_axis_mask: int = 0")
                   .Attr("shrink_axis_mask: int = 0")
                   .Doc("The gradient of StridedSlice.")
                   .Shape(ShapeFromFirstInput));
  registry.Add(OpDefBuilder("Gather")
                   .Input("params: Tparams")
                   .Input("indices: Tindices")
                   .Output("output: Tparams")
                   .Attr("validate_indices: bool = true")
                   .Attr("Tparams: type")
                   .Attr("Tindices: {int32, int64}")
                   .Doc("Gathers rows of a tensor by index.")
                   .Shape(GatherShape)
                   .Value(GatherValue));
  registry.Add(
      OpDefBuilder("GatherV2")
          .Input("params: Tparams")
          .Input("indices: Tindices")
          .Input("axis: Taxis")
          .Output("output: Tparams")
          .Attr("batch_dims: int = 0")
          .Attr("Tparams: type")
          .Attr("Tindices: {int16, int32, int64}")
          .Attr("Taxis: {int32, int64}")
          .Doc("Gathers slices of a tensor along one dimension by index.")
          .Shape(GatherV2Shape)
          .Value(GatherValue));
  registry.Add(
      OpDefBuilder("GatherNd")
          .Input("params: Tparams")
          .Input("indices: Tindices")
          .Output("output: Tparams")
          .Attr("Tparams: type")
          .Attr("Tindices: {int16, int32, int64}")
          .Attr("bad_indices_policy: string = ''")
          .Doc("Gathers elements or slices of a tensor by index tuples.")
          .Shape(GatherNdShape));
  registry.Add(OpDefBuilder("ScatterNd")
                   .Input("indices: Tindices")
                   .Input("updates: T")
                   .Input("shape: Tindices")
                   .Output("output: T")
                   .Attr("T: type")
                   .Attr("Tindices: {int16, int32, int64}")
                   .Attr("bad_indices_policy: string = ''")
                   .Doc("Adds updates to zeros by index tuples.")
                   .Shape(ScatterNdShape));
  registry.Add(OpDefBuilder("TensorScatterUpdate")
                   .Input("tensor: T")
                   .Input("indices: Tindices")
                   .Input("updates: T")
                   .Output("output: T")
                   .Attr("T: type")
                   .Attr("Tindices: {int16, int32, int64, uint16}")
                   .Attr("bad_indices_policy: string = ''")
                   .Doc("Replaces some elements or slices of a tensor.")
                   .Shape(shapes::Unchanged));
  AddTensorScatter(registry, "TensorScatterAdd", "with updates added to");
  AddTensorScatter(registry, "TensorScatterSub",
                   "with updates subtracted from");
  AddTensorScatter(registry, "TensorScatterMin",
                   "with the lesser of an update and the old value in");
  AddTensorScatter(registry, "TensorScatterMax",
                   "with the greater of an update and the old value in");
  registry.Add(OpDefBuilder("ScatterNdNonAliasingAdd")
                   .Input("input: T")
                   .Input("indices: Tindices")
                   .Input("updates: T")
                   .Output("output: T")
                   .Attr("T: {float, double, int32, uint8, int16, int8, "
                         "complex64, int64, bfloat16, uint16, complex128, "
                         "half, uint32, uint64, bool}")
                   .Attr("Tindices: {int32, int64}")
                   .Attr("bad_indices_policy: string = ''")
                   .Doc("Adds updates to some elements or slices of a tensor; "
                        "in place if the tensor has no other owner.")
                   .Shape(shapes::Unchanged));
}

}  // namespace weft
