// Ops on arrays of tensors that live as long as a step, in three versions with
// other handles: a resource (TensorArrayV3, ...), two strings (V2) and a
// reference to two strings (those without a version).
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/standard_ops.h"
#include "libs/ops/tensor_array_op_groups.h"

namespace weft {
namespace {

// The handle, and the flow of the version that has it.
absl::Status HandleShape(InferenceContext& c) {
  const bool is_resource = c.output_type(0) == DT_RESOURCE;
  c.set_output(0,
               is_resource ? PartialShape::Scalar() : PartialShape::Vector(2));
  if (c.num_outputs() > 1) c.set_output(1, PartialShape::Scalar());
  return absl::OkStatus();
}

// `rows` of what attr `name` says of one.
absl::Status RowsShape(InferenceContext& c, const char* name, int64_t rows) {
  ASSIGN_OR_RETURN(const PartialShape element, c.GetAttr<PartialShape>(name));
  if (!element.has_rank()) return absl::OkStatus();
  Dims dims = {rows};
  dims.insert(dims.end(), element.dims().begin(), element.dims().end());
  c.set_output(0, PartialShape(std::move(dims)));
  return absl::OkStatus();
}

absl::Status GatherShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialShape indices, c.InputWithRank(1, 1));
  return RowsShape(c, "element_shape", indices.dim(0));
}

absl::Status PackShape(InferenceContext& c) {
  return RowsShape(c, "element_shape", PartialShape::kUnknown);
}

absl::Status ConcatShape(InferenceContext& c) {
  c.set_output(1, PartialShape::Vector(PartialShape::kUnknown));
  return RowsShape(c, "element_shape_except0", PartialShape::kUnknown);
}

class Family {
 public:
  // "", "V2" or "V3".
  Family(OpRegistry& registry, std::string version)
      : registry_(registry), version_(std::move(version)) {}

  bool is_resource() const { return version_ == "V3"; }

  // Makes an array from the input that `spec` says; `handle` is the output.
  OpDefBuilder Maker(const char* name, const char* handle) const {
    OpDefBuilder builder(absl::StrCat(name, version_));
    builder.Output(absl::StrCat(handle, ": ", HandleType())).Stateful();
    return builder.Shape(HandleShape);
  }
  // The gradients' array is found by the value of a handle.
  std::string HandleValue() const {
    return is_resource() ? "handle: resource" : "handle: string";
  }

  // Takes an array.
  OpDefBuilder Use(const char* name) const {
    OpDefBuilder builder(absl::StrCat(name, version_));
    builder.Input(absl::StrCat("handle: ", HandleType()));
    if (is_resource()) builder.Stateful();
    return builder;
  }

  void Add(const OpDefBuilder& builder) const { registry_.Add(builder); }

 private:
  const char* HandleType() const {
    if (is_resource()) return "resource";
    return version_.empty() ? "Ref(string)" : "string";
  }

  OpRegistry& registry_;
  const std::string version_;
};

void AddArrays(const Family& family) {
  OpDefBuilder array = family.Maker("TensorArray", "handle");
  array.Input("size: int32")
      .Attr("dtype: type")
      .Attr("element_shape: shape = { unknown_rank: true }")
      .Attr("dynamic_size: bool = false")
      .Attr("clear_after_read: bool = true")
      .Attr("tensor_array_name: string = ''")
      .Doc("An array of tensors that lives as long as the step.");
  OpDefBuilder gradients = family.Maker("TensorArrayGrad", "grad_handle");
  gradients.Input(family.HandleValue())
      .Input("flow_in: float")
      .Attr("source: string")
      .Doc("The array of the gradients of another one.");
  if (family.is_resource()) {
    array.Output("flow: float").Attr("identical_element_shapes: bool = false");
    gradients.Output("flow_out: float");
  }
  family.Add(array);
  family.Add(gradients);
}

void AddReads(const Family& family) {
  family.Add(family.Use("TensorArrayRead")
                 .Input("index: int32")
                 .Input("flow_in: float")
                 .Output("value: dtype")
                 .Attr("dtype: type")
                 .Doc("One element.")
                 .Shape(shapes::Unknown));
  family.Add(family.Use("TensorArrayGather")
                 .Input("indices: int32")
                 .Input("flow_in: float")
                 .Output("value: dtype")
                 .Attr("dtype: type")
                 .Attr("element_shape: shape = { unknown_rank: true }")
                 .Doc("Some elements, as the rows of a tensor.")
                 .Shape(GatherShape));
  family.Add(family.Use("TensorArrayConcat")
                 .Input("flow_in: float")
                 .Output("value: dtype")
                 .Output("lengths: int64")
                 .Attr("dtype: type")
                 .Attr("element_shape_except0: shape = { unknown_rank: true }")
                 .Doc("All elements, joined along the first dimension.")
                 .Shape(ConcatShape));
}

void AddWrites(const Family& family) {
  family.Add(family.Use("TensorArrayWrite")
                 .Input("index: int32")
                 .Input("value: T")
                 .Input("flow_in: float")
                 .Output("flow_out: float")
                 .Attr("T: type")
                 .Doc("Sets one element.")
                 .Shape(shapes::Scalar));
  family.Add(family.Use("TensorArrayScatter")
                 .Input("indices: int32")
                 .Input("value: T")
                 .Input("flow_in: float")
                 .Output("flow_out: float")
                 .Attr("T: type")
                 .Doc("Sets elements to the rows of a tensor.")
                 .Shape(shapes::Scalar));
  family.Add(family.Use("TensorArraySplit")
                 .Input("value: T")
                 .Input("lengths: int64")
                 .Input("flow_in: float")
                 .Output("flow_out: float")
                 .Attr("T: type")
                 .Doc("Sets elements to parts of a tensor.")
                 .Shape(shapes::Scalar));
}

void AddState(const Family& family) {
  family.Add(family.Use("TensorArraySize")
                 .Input("flow_in: float")
                 .Output("size: int32")
                 .Doc("The number of elements.")
                 .Shape(shapes::Scalar));
  family.Add(family.Use("TensorArrayClose")
                 .Doc("Forgets all elements.")
                 .Shape(shapes::NoOutputs));
}

// Of the first version only.
void AddPacks(const Family& family) {
  family.Add(family.Use("TensorArrayPack")
                 .Input("flow_in: float")
                 .Output("value: dtype")
                 .Attr("dtype: type")
                 .Attr("element_shape: shape = { unknown_rank: true }")
                 .Doc("All elements, as the rows of a tensor.")
                 .Shape(PackShape));
  family.Add(family.Use("TensorArrayUnpack")
                 .Input("value: T")
                 .Input("flow_in: float")
                 .Output("flow_out: float")
                 .Attr("T: type")
                 .Doc("Sets all elements to the rows of a tensor.")
                 .Shape(shapes::Scalar));
}

}  // namespace

void RegisterTensorArrayOps(OpRegistry& registry) {
  for (const char* version : {"", "V2", "V3"}) {
    const Family family(registry, version);
    AddArrays(family);
    AddReads(family);
    AddWrites(family);
    AddState(family);
  }
  AddPacks(Family(registry, ""));
  RegisterStackOps(registry);
}

}  // namespace weft
