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
                   .Doc("A list of tensors without any.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("TensorListReserve")
                   .Input("element_shape: shape_type")
                   .Input("num_elements: int32")
                   .Output("handle: variant")
                   .Attr("element_dtype: type")
                   .Attr("shape_type: {int32, int64}")
                   .Doc("A list of so many tensors to be set.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("TensorListFromTensor")
                   .Input("tensor: element_dtype")
                   .Input("element_shape: shape_type")
                   .Output("output_handle: variant")
                   .Attr("element_dtype: type")
                   .Attr("shape_type: {int32, int64}")
                   .Doc("A list of the rows of a tensor.")
                   .Shape(FromTensorShape));
}

void RegisterChanges(OpRegistry& registry) {
  registry.Add(OpDefBuilder("TensorListPushBack")
                   .Input("input_handle: variant")
                   .Input("tensor: element_dtype")
                   .Output("output_handle: variant")
                   .Attr("element_dtype: type")
                   .Doc("The list with a tensor more at its end.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("TensorListPopBack")
                   .Input("input_handle: variant")
                   .Input("element_shape: int32")
                   .Output("output_handle: variant")
                   .Output("tensor: element_dtype")
                   .Attr("element_dtype: type")
                   .Doc("The list without its last tensor, and that.")
                   .Shape(ListAndElement));
  registry.Add(OpDefBuilder("TensorListSetItem")
                   .Input("input_handle: variant")
                   .Input("index: int32")
                   .Input("item: element_dtype")
                   .Output("output_handle: variant")
                   .Attr("element_dtype: type")
                   .Attr("resize_if_index_out_of_bounds: bool = false")
                   .Doc("The list with another tensor at that place.")
                   .Shape(shapes::Scalar));
}

void RegisterReads(OpRegistry& registry) {
  registry.Add(OpDefBuilder("TensorListLength")
                   .Input("input_handle: variant")
                   .Output("length: int32")
                   .Doc("How many tensors the list has.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("TensorListElementShape")
                   .Input("input_handle: variant")
                   .Output("element_shape: shape_type")
                   .Attr("shape_type: {int32, int64}")
                   .Doc("What the list knows of its tensors' shape.")
                   .Shape(shapes::Unknown));
  registry.Add(OpDefBuilder("TensorListGetItem")
                   .Input("input_handle: variant")
                   .Input("index: int32")
                   .Input("element_shape: Tshape")
                   .Output("item: element_dtype")
                   .Attr("element_dtype: type")
                   .Attr("Tshape: {int32, int64} = DT_INT32")
                   .Doc("The tensor at that place of the list.")
                   .Shape(ItemShape));
  registry.Add(OpDefBuilder("TensorListStack")
                   .Input("input_handle: variant")
                   .Input("element_shape: int32")
                   .Output("tensor: element_dtype")
                   .Attr("element_dtype: type")
                   .Attr("num_elements: int = -1")
                   .Doc("The tensors of the list as rows of one.")
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
                   .Doc("The list with so many tensors.")
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
        .Doc("A list with the rows of a tensor at those places.")
        .Shape(FromTensorShape);
    registry.Add(builder);
  }
  registry.Add(OpDefBuilder("TensorListConcatLists")
                   .Input("input_a: variant")
                   .Input("input_b: variant")
                   .Output("output: variant")
                   .Attr("element_dtype: type")
                   .Doc("The tensors of one list, then those of another.")
                   .Shape(PushBackBatchShape));
  registry.Add(OpDefBuilder("TensorListPushBackBatch")
                   .Input("input_handles: variant")
                   .Input("tensor: element_dtype")
                   .Output("output_handles: variant")
                   .Attr("element_dtype: type")
                   .Doc("Lists with a row each more at their ends.")
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
                   .Doc("The tensors at those places of the list, as rows.")
                   .Shape(ListGatherShape));
  registry.Add(OpDefBuilder("TensorListScatterIntoExistingList")
                   .Input("input_handle: variant")
                   .Input("tensor: element_dtype")
                   .Input("indices: int32")
                   .Output("output_handle: variant")
                   .Attr("element_dtype: type")
                   .Doc("The list with the rows of a tensor at those places.")
                   .Shape(ScatterShape));
  registry.Add(OpDefBuilder("TensorListConcat")
                   .Input("input_handle: variant")
                   .Output("tensor: element_dtype")
                   .Output("lengths: int64")
                   .Attr("element_dtype: type")
                   .Attr("element_shape: shape = { unknown_rank: true }")
                   .Doc("The list's tensors one after the other.")
                   .Shape(ListConcatShape));
  registry.Add(OpDefBuilder("TensorListConcatV2")
                   .Input("input_handle: variant")
                   .Input("element_shape: shape_type")
                   .Input("leading_dims: int64")
                   .Output("tensor: element_dtype")
                   .Output("lengths: int64")
                   .Attr("element_dtype: type")
                   .Attr("shape_type: {int32, int64}")
                   .Doc("The list's tensors one after the other.")
                   .Shape(ListConcatShape));
  registry.Add(OpDefBuilder("TensorListSplit")
                   .Input("tensor: element_dtype")
                   .Input("element_shape: shape_type")
                   .Input("lengths: int64")
                   .Output("output_handle: variant")
                   .Attr("element_dtype: type")
                   .Attr("shape_type: {int32, int64}")
                   .Doc("A list of parts of a tensor, of those lengths.")
                   .Shape(ListSplitShape));
}

void RegisterOptionals(OpRegistry& registry) {
  registry.Add(OpDefBuilder("OptionalFromValue")
                   .Input("components: Toutput_types")
                   .Output("optional: variant")
                   .Attr("Toutput_types: list(type) >= 1")
                   .Doc("Tensors that are there.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("OptionalNone")
                   .Output("optional: variant")
                   .Doc("Tensors that are not there.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("OptionalHasValue")
                   .Input("optional: variant")
                   .Output("has_value: bool")
                   .Doc("Whether the tensors are there.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("OptionalGetValue")
                   .Input("optional: variant")
                   .Output("components: output_types")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Doc("The tensors, which must be there.")
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
