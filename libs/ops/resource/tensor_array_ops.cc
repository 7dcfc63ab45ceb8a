// Ops on tensor arrays, which live as long as a step, in three versions with
// different handles: a resource (TensorArrayV3, ...), two strings (V2) and a
// reference to two strings (without a version).
#include <utility>

#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/resource/handle_family.h"
#include "libs/ops/resource/op_groups.h"

namespace weft {
namespace {

// `rows` rows of the shape in attr `name`.
absl::Status RowsShape(InferenceContext& c, const char* name, int64_t rows) {
  ASSIGN_OR_RETURN(const PartialShape element, c.GetAttr<PartialShape>(name));
  if (!element.has_rank()) return absl::OkStatus();
  Dims dims = {rows};
  dims.insert(dims.end(), element.dims().begin(), element.dims().end());
  c.set_output(0, PartialShape(std::move(dims)));
  return absl::OkStatus();
}

absl::Status TensorArrayGatherShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialShape indices, c.InputWithRank(1, 1));
  return RowsShape(c, "element_shape", indices.dim(0));
}

absl::Status PackShape(InferenceContext& c) {
  return RowsShape(c, "element_shape", PartialShape::kUnknown);
}

absl::Status ArrayConcatShape(InferenceContext& c) {
  c.set_output(1, PartialShape::Vector(PartialShape::kUnknown));
  return RowsShape(c, "element_shape_except0", PartialShape::kUnknown);
}

void AddArrays(const HandleFamily& family) {
  OpDefBuilder array =
      family.Maker({"TensorArray", "TensorArrayV3", "TensorArrayV2"});
  array.Input("size: int32")
      .Attr("dtype: type")
      .Attr("element_shape: shape = { unknown_rank: true }")
      .Attr("dynamic_size: bool = false")
      .Attr("clear_after_read: bool = true")
      .Attr("tensor_array_name: string = ''")
      .Doc("An array of tensors that lives as long as the step.");
  OpDefBuilder gradients = family.Maker(
      {"TensorArrayGrad", "TensorArrayGradV3", "TensorArrayGradV2"},
      "grad_handle");
  // The other array is found by the value of its handle.
  gradients.Input(family.is_resource() ? "handle: resource" : "handle: string")
      .Input("flow_in: float")
      .Attr("source: string")
      .Doc("The array of the gradients of another array.");
  if (family.is_resource()) {
    array.Output("flow: float").Attr("identical_element_shapes: bool = false");
    gradients.Output("flow_out: float");
  }
  family.Add(array);
  family.Add(gradients);
}

void AddArrayReads(const HandleFamily& family) {
  family.Add(
      family.User({"TensorArrayRead", "TensorArrayReadV3", "TensorArrayReadV2"})
          .Input("index: int32")
          .Input("flow_in: float")
          .Output("value: dtype")
          .Attr("dtype: type")
          .Doc("Returns one element.")
          .Shape(shapes::Unknown));
  family.Add(family
                 .User({"TensorArrayGather", "TensorArrayGatherV3",
                        "TensorArrayGatherV2"})
                 .Input("indices: int32")
                 .Input("flow_in: float")
                 .Output("value: dtype")
                 .Attr("dtype: type")
                 .Attr("element_shape: shape = { unknown_rank: true }")
                 .Doc("Returns some elements as rows of a tensor.")
                 .Shape(TensorArrayGatherShape));
  family.Add(family
                 .User({"TensorArrayConcat", "TensorArrayConcatV3",
                        "TensorArrayConcatV2"})
                 .Input("flow_in: float")
                 .Output("value: dtype")
                 .Output("lengths: int64")
                 .Attr("dtype: type")
                 .Attr("element_shape_except0: shape = { unknown_rank: true }")
                 .Doc("Concatenates all elements along the first dimension.")
                 .Shape(ArrayConcatShape));
}

void AddWrites(const HandleFamily& family) {
  family.Add(family
                 .User({"TensorArrayWrite", "TensorArrayWriteV3",
                        "TensorArrayWriteV2"})
                 .Input("index: int32")
                 .Input("value: T")
                 .Input("flow_in: float")
                 .Output("flow_out: float")
                 .Attr("T: type")
                 .Doc("Sets one element.")
                 .Shape(shapes::Scalar));
  family.Add(family
                 .User({"TensorArrayScatter", "TensorArrayScatterV3",
                        "TensorArrayScatterV2"})
                 .Input("indices: int32")
                 .Input("value: T")
                 .Input("flow_in: float")
                 .Output("flow_out: float")
                 .Attr("T: type")
                 .Doc("Sets elements to rows of a tensor.")
                 .Shape(shapes::Scalar));
  family.Add(family
                 .User({"TensorArraySplit", "TensorArraySplitV3",
                        "TensorArraySplitV2"})
                 .Input("value: T")
                 .Input("lengths: int64")
                 .Input("flow_in: float")
                 .Output("flow_out: float")
                 .Attr("T: type")
                 .Doc("Sets elements to parts of a tensor.")
                 .Shape(shapes::Scalar));
}

void AddArrayState(const HandleFamily& family) {
  family.Add(
      family.User({"TensorArraySize", "TensorArraySizeV3", "TensorArraySizeV2"})
          .Input("flow_in: float")
          .Output("size: int32")
          .Doc("Returns the number of elements.")
          .Shape(shapes::Scalar));
  family.Add(family
                 .User({"TensorArrayClose", "TensorArrayCloseV3",
                        "TensorArrayCloseV2"})
                 .Doc("Deletes all elements.")
                 .Shape(shapes::NoOutputs));
}

// For the first version only.
void AddPacks(const HandleFamily& family) {
  family.Add(family.User({"TensorArrayPack"})
                 .Input("flow_in: float")
                 .Output("value: dtype")
                 .Attr("dtype: type")
                 .Attr("element_shape: shape = { unknown_rank: true }")
                 .Doc("Returns all elements as rows of a tensor.")
                 .Shape(PackShape));
  family.Add(family.User({"TensorArrayUnpack"})
                 .Input("value: T")
                 .Input("flow_in: float")
                 .Output("flow_out: float")
                 .Attr("T: type")
                 .Doc("Sets all elements to rows of a tensor.")
                 .Shape(shapes::Scalar));
}

}  // namespace

void RegisterTensorArrayOps(OpRegistry& registry) {
  const HandleFamily references(registry, HandleKind::kReference);
  const HandleFamily strings(registry, HandleKind::kStrings);
  const HandleFamily resources(registry, HandleKind::kResource);
  for (const HandleFamily& family : {references, strings, resources}) {
    AddArrays(family);
    AddArrayReads(family);
    AddWrites(family);
    AddArrayState(family);
  }
  AddPacks(references);
}

}  // namespace weft
