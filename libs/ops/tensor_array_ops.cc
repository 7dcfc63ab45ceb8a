// Ops on what lives as long as a step: arrays of tensors and stacks.
#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/standard_ops.h"

namespace weft {
namespace {

absl::Status HandleAndFlowShape(InferenceContext& c) {
  c.set_output(0, PartialShape::Scalar());
  c.set_output(1, PartialShape::Scalar());
  return absl::OkStatus();
}

absl::Status WriteShape(InferenceContext& c) {
  c.set_output(0, PartialShape::Scalar());
  return absl::OkStatus();
}

absl::Status GatherShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialShape indices, c.InputWithRank(1, 1));
  ASSIGN_OR_RETURN(const PartialShape element,
                   c.GetAttr<PartialShape>("element_shape"));
  if (!element.has_rank()) return absl::OkStatus();
  Dims dims = {indices.has_rank() ? indices.dim(0) : PartialShape::kUnknown};
  dims.insert(dims.end(), element.dims().begin(), element.dims().end());
  c.set_output(0, PartialShape(std::move(dims)));
  return absl::OkStatus();
}

absl::Status ConcatShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialShape element,
                   c.GetAttr<PartialShape>("element_shape_except0"));
  c.set_output(1, PartialShape::Vector(PartialShape::kUnknown));
  if (!element.has_rank()) return absl::OkStatus();
  Dims dims = {PartialShape::kUnknown};
  dims.insert(dims.end(), element.dims().begin(), element.dims().end());
  c.set_output(0, PartialShape(std::move(dims)));
  return absl::OkStatus();
}

absl::Status PushShape(InferenceContext& c) {
  c.set_output(0, c.input(1));
  return absl::OkStatus();
}

void AddArrays(OpRegistry& registry) {
  registry.Add(OpDefBuilder("TensorArrayV3")
                   .Input("size: int32")
                   .Output("handle: resource")
                   .Output("flow: float")
                   .Attr("dtype: type")
                   .Attr("element_shape: shape = { unknown_rank: true }")
                   .Attr("dynamic_size: bool = false")
                   .Attr("clear_after_read: bool = true")
                   .Attr("identical_element_shapes: bool = false")
                   .Attr("tensor_array_name: string = ''")
                   .Stateful()
                   .Doc("An array of tensors that lives as long as the step.")
                   .Shape(HandleAndFlowShape));
  registry.Add(OpDefBuilder("TensorArrayGradV3")
                   .Input("handle: resource")
                   .Input("flow_in: float")
                   .Output("grad_handle: resource")
                   .Output("flow_out: float")
                   .Attr("source: string")
                   .Stateful()
                   .Doc("The array of the gradients of another one.")
                   .Shape(HandleAndFlowShape));
  registry.Add(OpDefBuilder("TensorArrayReadV3")
                   .Input("handle: resource")
                   .Input("index: int32")
                   .Input("flow_in: float")
                   .Output("value: dtype")
                   .Attr("dtype: type")
                   .Stateful()
                   .Doc("One element.")
                   .Shape(shapes::Unknown));
  registry.Add(OpDefBuilder("TensorArrayWriteV3")
                   .Input("handle: resource")
                   .Input("index: int32")
                   .Input("value: T")
                   .Input("flow_in: float")
                   .Output("flow_out: float")
                   .Attr("T: type")
                   .Stateful()
                   .Doc("Sets one element.")
                   .Shape(WriteShape));
  registry.Add(OpDefBuilder("TensorArrayGatherV3")
                   .Input("handle: resource")
                   .Input("indices: int32")
                   .Input("flow_in: float")
                   .Output("value: dtype")
                   .Attr("dtype: type")
                   .Attr("element_shape: shape = { unknown_rank: true }")
                   .Stateful()
                   .Doc("Some elements, as the rows of a tensor.")
                   .Shape(GatherShape));
  registry.Add(OpDefBuilder("TensorArrayScatterV3")
                   .Input("handle: resource")
                   .Input("indices: int32")
                   .Input("value: T")
                   .Input("flow_in: float")
                   .Output("flow_out: float")
                   .Attr("T: type")
                   .Stateful()
                   .Doc("Sets elements to the rows of a tensor.")
                   .Shape(WriteShape));
  registry.Add(
      OpDefBuilder("TensorArrayConcatV3")
          .Input("handle: resource")
          .Input("flow_in: float")
          .Output("value: dtype")
          .Output("lengths: int64")
          .Attr("dtype: type")
          .Attr("element_shape_except0: shape = { unknown_rank: true }")
          .Stateful()
          .Doc("All elements, joined along the first dimension.")
          .Shape(ConcatShape));
  registry.Add(OpDefBuilder("TensorArraySplitV3")
                   .Input("handle: resource")
                   .Input("value: T")
                   .Input("lengths: int64")
                   .Input("flow_in: float")
                   .Output("flow_out: float")
                   .Attr("T: type")
                   .Stateful()
                   .Doc("Sets elements to parts of a tensor.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("TensorArraySizeV3")
                   .Input("handle: resource")
                   .Input("flow_in: float")
                   .Output("size: int32")
                   .Stateful()
                   .Doc("The number of elements.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("TensorArrayCloseV3")
                   .Input("handle: resource")
                   .Stateful()
                   .Doc("Forgets all elements.")
                   .Shape(shapes::NoOutputs));
}

void AddStacks(OpRegistry& registry) {
  registry.Add(OpDefBuilder("StackV2")
                   .Input("max_size: int32")
                   .Output("handle: resource")
                   .Attr("elem_type: type")
                   .Attr("stack_name: string = ''")
                   .Stateful()
                   .Doc("A stack of tensors that lives as long as the step.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("StackPushV2")
                   .Input("handle: resource")
                   .Input("elem: T")
                   .Output("output: T")
                   .Attr("T: type")
                   .Attr("swap_memory: bool = false")
                   .Stateful()
                   .Doc("Puts a tensor on a stack and passes it on.")
                   .Shape(PushShape));
  registry.Add(OpDefBuilder("StackPopV2")
                   .Input("handle: resource")
                   .Output("elem: elem_type")
                   .Attr("elem_type: type")
                   .Stateful()
                   .Doc("Takes the last tensor from a stack.")
                   .Shape(shapes::Unknown));
  registry.Add(OpDefBuilder("StackCloseV2")
                   .Input("handle: resource")
                   .Stateful()
                   .Doc("Forgets what a stack holds.")
                   .Shape(shapes::NoOutputs));
}

}  // namespace

void RegisterTensorArrayOps(OpRegistry& registry) {
  AddArrays(registry);
  AddStacks(registry);
}

}  // namespace weft
