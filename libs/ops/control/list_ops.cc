// Ops on lists of tensors and on optionals, which functional loops and branches
// use to pass values from the forward to the backward pass. The values are
// variants.
#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/control/op_groups.h"

namespace weft {
namespace {

absl::Status ListAndElement(InferenceContext& c) {
  c.set_output(0, PartialShape::Scalar());
  c.set_output(1, c.input_as_shape(1));
  return absl::OkStatus();
}

absl::Status FromTensorShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRankAtLeast(0, 1).status());
  return shapes::Scalar(c);
}

absl::Status ItemShape(InferenceContext& c) {
  c.set_output(0, c.input_as_shape(2));
  return absl::OkStatus();
}

absl::Status StackShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const int64_t num_elements,
                   c.GetAttr<int64_t>("num_elements"));
  const PartialShape element = c.input_as_shape(1);
  if (!element.has_rank()) return absl::OkStatus();
  std::vector<int64_t> dims = {num_elements < 0 ? PartialShape::kUnknown
                                                : num_elements};
  dims.insert(dims.end(), element.dims().begin(), element.dims().end());
  ASSIGN_OR_RETURN(PartialShape shape, PartialShape::Create(dims));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

void RegisterMakers(OpRegistry& registry) {
  registry.Add(OpDefBuilder("EmptyTensorList")
                   .Input("element_shape: shape_type")
                   .Input("max_num_elements: int32")
                   .Output("handle: variant")
                   .Attr("element_dtype: type")
                   .Attr("shape_type: {int32, int64}")
                   .Doc("Creates an empty list of tensors.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("TensorListReserve")
                   .Input("element_shape: shape_type")
                   .Input("num_elements: int32")
                   .Output("handle: variant")
                   .Attr("element_dtype: type")
                   .Attr("shape_type: {int32, int64}")
                   .Doc("Creates a list of uninitialized tensors.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("TensorListFromTensor")
                   .Input("tensor: element_dtype")
                   .Input("element_shape: shape_type")
                   .Output("output_handle: variant")
                   .Attr("element_dtype: type")
                   .Attr("shape_type: {int32, int64}")
                   .Doc("Creates a list of the rows of a tensor.")
                   .Shape(FromTensorShape));
}

void RegisterChanges(OpRegistry& registry) {
  registry.Add(OpDefBuilder("TensorListPushBack")
                   .Input("input_handle: variant")
                   .Input("tensor: element_dtype")
                   .Output("output_handle: variant")
                   .Attr("element_dtype: type")
                   .Doc("Appends a tensor to a list.")
                   .Shape(shapes::Scalar));
  registry.Add(
      OpDefBuilder("TensorListPopBack")
          .Input("input_handle: variant")
          .Input("element_shape: int32")
          .Output("output_handle: variant")
          .Output("tensor: element_dtype")
          .Attr("element_dtype: type")
          .Doc("Returns the list without its last tensor, and that tensor.")
          .Shape(ListAndElement));
  registry.Add(OpDefBuilder("TensorListSetItem")
                   .Input("input_handle: variant")
                   .Input("index: int32")
                   .Input("item: element_dtype")
                   .Output("output_handle: variant")
                   .Attr("element_dtype: type")
                   .Attr("resize_if_index_out_of_bounds: bool = false")
                   .Doc("Replaces the tensor at an index of a list.")
                   .Shape(shapes::Scalar));
}

void RegisterReads(OpRegistry& registry) {
  registry.Add(OpDefBuilder("TensorListLength")
                   .Input("input_handle: variant")
                   .Output("length: int32")
                   .Doc("Returns the number of tensors in a list.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("TensorListElementShape")
                   .Input("input_handle: variant")
                   .Output("element_shape: shape_type")
                   .Attr("shape_type: {int32, int64}")
                   .Doc("Returns the common element shape of a list, as far as "
                        "it is known.")
                   .Shape(shapes::Unknown));
  registry.Add(OpDefBuilder("TensorListGetItem")
                   .Input("input_handle: variant")
                   .Input("index: int32")
                   .Input("element_shape: Tshape")
                   .Output("item: element_dtype")
                   .Attr("element_dtype: type")
                   .Attr("Tshape: {int32, int64} = DT_INT32")
                   .Doc("Returns the tensor at an index of a list.")
                   .Shape(ItemShape));
  registry.Add(OpDefBuilder("TensorListStack")
                   .Input("input_handle: variant")
                   .Input("element_shape: int32")
                   .Output("tensor: element_dtype")
                   .Attr("element_dtype: type")
                   .Attr("num_elements: int = -1")
                   .Doc("Stacks the tensors of a list.")
                   .Shape(StackShape));
}

absl::Status ListGatherShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialShape indices, c.InputWithRank(1, 1));
  const PartialShape element = c.input_as_shape(2);
  if (!element.has_rank()) return absl::OkStatus();
  std::vector<int64_t> dims = {indices.has_rank() ? indices.dim(0)
                                                  : PartialShape::kUnknown};
  dims.insert(dims.end(), element.dims().begin(), element.dims().end());
  ASSIGN_OR_RETURN(PartialShape shape, PartialShape::Create(dims));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

// In the first version, the elements' shape is an attr.
absl::Status ListConcatShape(InferenceContext& c) {
  c.set_output(1, *PartialShape::Create({PartialShape::kUnknown}));
  PartialShape element;
  if (c.num_inputs() > 1) {
    element = c.input_as_shape(1);
  } else {
    ASSIGN_OR_RETURN(element, c.GetAttr<PartialShape>("element_shape"));
  }
  if (!element.has_rank() || element.rank() == 0) return absl::OkStatus();
  std::vector<int64_t> dims(element.dims().begin(), element.dims().end());
  dims[0] = PartialShape::kUnknown;
  ASSIGN_OR_RETURN(PartialShape shape, PartialShape::Create(dims));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status ListSplitShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRankAtLeast(0, 1).status());
  RETURN_IF_ERROR(c.InputWithRank(2, 1).status());
  return shapes::Scalar(c);
}

absl::Status ScatterShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRankAtLeast(1, 1).status());
  RETURN_IF_ERROR(c.InputWithRank(2, 1).status());
  return shapes::Scalar(c);
}

absl::Status PushBackBatchShape(InferenceContext& c) {
  c.set_output(0, c.input(0));
  return absl::OkStatus();
}

void RegisterSizes(OpRegistry& registry) {
  registry.Add(OpDefBuilder("TensorListResize")
                   .Input("input_handle: variant")
                   .Input("size: int32")
                   .Output("output_handle: variant")
                   .Doc("Changes the length of a list.")
                   .Shape(shapes::Scalar));
  for (const char* name : {"TensorListScatter", "TensorListScatterV2"}) {
    OpDefBuilder builder(name);
    builder.Input("tensor: element_dtype")
        .Input("indices: int32")
        .Input("element_shape: shape_type");
    if (name != std::string("TensorListScatter")) {
      builder.Input("num_elements: int32");
    }
    builder.Output("output_handle: variant")
        .Attr("element_dtype: type")
        .Attr("shape_type: {int32, int64}")
        .Doc("Creates a list with the rows of a tensor at the given indices.")
        .Shape(FromTensorShape);
    registry.Add(builder);
  }
  registry.Add(OpDefBuilder("TensorListConcatLists")
                   .Input("input_a: variant")
                   .Input("input_b: variant")
                   .Output("output: variant")
                   .Attr("element_dtype: type")
                   .Doc("Concatenates two lists.")
                   .Shape(PushBackBatchShape));
  registry.Add(OpDefBuilder("TensorListPushBackBatch")
                   .Input("input_handles: variant")
                   .Input("tensor: element_dtype")
                   .Output("output_handles: variant")
                   .Attr("element_dtype: type")
                   .Doc("Appends one row to each list of a batch.")
                   .Shape(PushBackBatchShape));
}

void RegisterJoins(OpRegistry& registry) {
  RegisterSizes(registry);
  registry.Add(OpDefBuilder("TensorListGather")
                   .Input("input_handle: variant")
                   .Input("indices: int32")
                   .Input("element_shape: int32")
                   .Output("values: element_dtype")
                   .Attr("element_dtype: type")
                   .Doc("Stacks the tensors at the given indices of a list.")
                   .Shape(ListGatherShape));
  registry.Add(
      OpDefBuilder("TensorListScatterIntoExistingList")
          .Input("input_handle: variant")
          .Input("tensor: element_dtype")
          .Input("indices: int32")
          .Output("output_handle: variant")
          .Attr("element_dtype: type")
          .Doc("Sets the rows of a tensor at the given indices of a list.")
          .Shape(ScatterShape));
  registry.Add(OpDefBuilder("TensorListConcat")
                   .Input("input_handle: variant")
                   .Output("tensor: element_dtype")
                   .Output("lengths: int64")
                   .Attr("element_dtype: type")
                   .Attr("element_shape: shape = { unknown_rank: true }")
                   .Doc("Concatenates the tensors of a list.")
                   .Shape(ListConcatShape));
  registry.Add(OpDefBuilder("TensorListConcatV2")
                   .Input("input_handle: variant")
                   .Input("element_shape: shape_type")
                   .Input("leading_dims: int64")
                   .Output("tensor: element_dtype")
                   .Output("lengths: int64")
                   .Attr("element_dtype: type")
                   .Attr("shape_type: {int32, int64}")
                   .Doc("Concatenates the tensors of a list.")
                   .Shape(ListConcatShape));
  registry.Add(
      OpDefBuilder("TensorListSplit")
          .Input("tensor: element_dtype")
          .Input("element_shape: shape_type")
          .Input("lengths: int64")
          .Output("output_handle: variant")
          .Attr("element_dtype: type")
          .Attr("shape_type: {int32, int64}")
          .Doc("Splits a tensor into a list of parts with the given lengths.")
          .Shape(ListSplitShape));
}

void RegisterOptionals(OpRegistry& registry) {
  registry.Add(OpDefBuilder("OptionalFromValue")
                   .Input("components: Toutput_types")
                   .Output("optional: variant")
                   .Attr("Toutput_types: list(type) >= 1")
                   .Doc("Creates an optional with values.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("OptionalNone")
                   .Output("optional: variant")
                   .Doc("Creates an optional without values.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("OptionalHasValue")
                   .Input("optional: variant")
                   .Output("has_value: bool")
                   .Doc("Returns whether an optional has values.")
                   .Shape(shapes::Scalar));
  registry.Add(
      OpDefBuilder("OptionalGetValue")
          .Input("optional: variant")
          .Output("components: output_types")
          .Attr("output_types: list(type) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Doc("Returns the values of an optional, which must have values.")
          .Shape(ComponentShapes));
}

}  // namespace

absl::Status ComponentShapes(InferenceContext& c) {
  ASSIGN_OR_RETURN(const auto shapes,
                   c.GetAttr<std::vector<PartialShape>>("output_shapes"));
  if (static_cast<int>(shapes.size()) != c.num_outputs()) {
    return absl::InvalidArgumentError(
        "`output_shapes` must be as long as `output_types`");
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, shapes[i]);
  return absl::OkStatus();
}

void RegisterListOps(OpRegistry& registry) {
  RegisterMakers(registry);
  RegisterChanges(registry);
  RegisterReads(registry);
  RegisterJoins(registry);
  RegisterOptionals(registry);
}

}  // namespace weft
