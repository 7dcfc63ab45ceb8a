// Ops on variables, for both kinds: references (VariableV2, Assign, ScatterAdd,
// ...) and resources (VarHandleOp, AssignVariableOp, ResourceScatterAdd, ...).
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/standard_ops.h"
#include "libs/ops/state/variable_shapes.h"

namespace weft {
namespace {

absl::Status DeclaredByAttr(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.GetAttr<PartialShape>("shape"));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

// Before VariableV2, a scalar shape meant an unknown shape.
absl::Status OldVariableShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.GetAttr<PartialShape>("shape"));
  const bool is_known = shape.has_rank() && shape.rank() > 0;
  c.set_output(0, is_known ? shape : PartialShape::UnknownRank());
  return absl::OkStatus();
}

absl::Status AssignShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(bool validate_shape, c.GetAttr<bool>("validate_shape"));
  if (!validate_shape) {
    c.set_output(0, c.input(1));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(PartialShape merged,
                   MergeInputShapes(c.input(0), 0, c.input(1), 1));
  c.set_output(0, std::move(merged));
  return absl::OkStatus();
}

absl::Status UpdateShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape merged,
                   MergeInputShapes(c.input(0), 0, c.input(1), 1));
  c.set_output(0, std::move(merged));
  return absl::OkStatus();
}

absl::Status ScalarVariableShape(InferenceContext& c) {
  const PartialShape variable = DeclaredShape(c, 0);
  if (variable.has_rank() && variable.rank() != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Shape must be rank 0 but is rank ", variable.rank(), " for input 0"));
  }
  c.set_output(0, PartialShape::Scalar());
  return absl::OkStatus();
}

absl::Status ReadShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckDeclaredType(c, 0, "dtype"));
  c.set_output(0, DeclaredShape(c, 0));
  return absl::OkStatus();
}

absl::Status ResourceUpdateShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckDeclaredType(c, 0, "dtype"));
  return MergeInputShapes(DeclaredShape(c, 0), 0, c.input(1), 1).status();
}

absl::Status VariableShapeShape(InferenceContext& c) {
  const PartialShape shape = DeclaredShape(c, 0);
  c.set_output(0,
               PartialShape::Vector(shape.has_rank() ? shape.rank()
                                                     : PartialShape::kUnknown));
  return absl::OkStatus();
}

absl::Status ResourceGatherShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckDeclaredType(c, 0, "dtype"));
  ASSIGN_OR_RETURN(int64_t batch_dims, c.GetAttr<int64_t>("batch_dims"));
  const PartialShape variable = DeclaredShape(c, 0);
  if (variable.has_rank() && variable.rank() <= batch_dims) {
    return absl::InvalidArgumentError(
        absl::StrCat("Shape must be at least rank ", batch_dims + 1,
                     " but is rank ", variable.rank(), " for input 0"));
  }
  c.set_output(0, ConcatenateShapes(c.input(1), variable,
                                    static_cast<int>(batch_dims) + 1));
  return absl::OkStatus();
}

absl::Status ScatterShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckScatterShapes(c));
  c.set_output(0, c.input(0));
  return absl::OkStatus();
}

absl::Status ResourceScatterShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckDeclaredType(c, 0, "dtype"));
  return CheckScatterShapes(c);
}

void AddReferenceVariables(OpRegistry& registry) {
  for (const bool old : {true, false}) {
    registry.Add(OpDefBuilder(old ? "Variable" : "VariableV2")
                     .Output("ref: Ref(dtype)")
                     .Attr("shape: shape")
                     .Attr("dtype: type")
                     .Attr("container: string = ''")
                     .Attr("shared_name: string = ''")
                     .Stateful()
                     .Doc("A reference variable.")
                     .Shape(old ? OldVariableShape : DeclaredByAttr));
  }
  registry.Add(OpDefBuilder("IsVariableInitialized")
                   .Input("ref: Ref(dtype)")
                   .Output("is_initialized: bool")
                   .Attr("dtype: type")
                   .AllowsUninitializedInput()
                   .Doc("Returns whether a variable is initialized.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("WaitForRefVariable")
                   .Input("ref: Ref(dtype)")
                   .Attr("dtype: type")
                   .Stateful()
                   .AllowsUninitializedInput()
                   .Doc("Completes when the variable has a value.")
                   .Shape(shapes::NoOutputs));
  registry.Add(OpDefBuilder("Assign")
                   .Input("ref: Ref(T)")
                   .Input("value: T")
                   .Output("output_ref: Ref(T)")
                   .Attr("T: type")
                   .Attr("validate_shape: bool = true")
                   .Attr("use_locking: bool = true")
                   .AllowsUninitializedInput()
                   .Doc("Replaces a variable's value.")
                   .Shape(AssignShape));
  for (const char* op : {"AssignAdd", "AssignSub"}) {
    registry.Add(OpDefBuilder(op)
                     .Input("ref: Ref(T)")
                     .Input("value: T")
                     .Output("output_ref: Ref(T)")
                     .Attr("T: numbertype")
                     .Attr("use_locking: bool = false")
                     .Doc("Adds to or subtracts from a variable.")
                     .Shape(UpdateShape));
  }
  registry.Add(OpDefBuilder("RefIdentity")
                   .Input("input: Ref(T)")
                   .Output("output: Ref(T)")
                   .Attr("T: type")
                   .AllowsUninitializedInput()
                   .Doc("Forwards a reference.")
                   .Shape(shapes::Unchanged));
  registry.Add(
      OpDefBuilder("CountUpTo")
          .Input("ref: Ref(T)")
          .Output("output: T")
          .Attr("limit: int")
          .Attr("T: {int32, int64}")
          .Doc("Increments a scalar variable, and returns the previous value.")
          .Shape(ScalarVariableShape));
}

void AddScatter(OpRegistry& registry, const char* op, const std::string& types,
                bool use_locking) {
  registry.Add(OpDefBuilder(op)
                   .Input("ref: Ref(T)")
                   .Input("indices: Tindices")
                   .Input("updates: T")
                   .Output("output_ref: Ref(T)")
                   .Attr(types)
                   .Attr("Tindices: {int32, int64}")
                   .Attr(absl::StrCat("use_locking: bool = ",
                                      use_locking ? "true" : "false"))
                   .Doc("Updates some rows of a variable.")
                   .Shape(ScatterShape));
}

void AddReferenceScatters(OpRegistry& registry) {
  for (const char* op :
       {"ScatterAdd", "ScatterSub", "ScatterMul", "ScatterDiv"}) {
    AddScatter(registry, op, "T: numbertype", false);
  }
  for (const char* op : {"ScatterMin", "ScatterMax"}) {
    AddScatter(registry, op, "T: {half, bfloat16, float, double, int32, int64}",
               false);
  }
  AddScatter(registry, "ScatterUpdate", "T: type", true);
}

void AddResourceVariables(OpRegistry& registry) {
  registry.Add(OpDefBuilder("VarHandleOp")
                   .Output("resource: resource")
                   .Attr("container: string = ''")
                   .Attr("shared_name: string = ''")
                   .Attr("debug_name: string = ''")
                   .Attr("dtype: type")
                   .Attr("shape: shape")
                   .Attr("allowed_devices: list(string) = []")
                   .Stateful()
                   .Doc("The handle of a variable.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("ReadVariableOp")
                   .Input("resource: resource")
                   .Output("value: dtype")
                   .Attr("dtype: type")
                   .Stateful()
                   .Doc("Returns the value of a variable.")
                   .Shape(ReadShape));
  registry.Add(
      OpDefBuilder("AssignVariableOp")
          .Input("resource: resource")
          .Input("value: dtype")
          .Attr("dtype: type")
          .Attr("validate_shape: bool = false")
          .Stateful()
          .Doc("Assigns a variable, and creates it if it does not exist.")
          .Shape(ResourceUpdateShape));
  for (const char* op : {"AssignAddVariableOp", "AssignSubVariableOp"}) {
    registry.Add(OpDefBuilder(op)
                     .Input("resource: resource")
                     .Input("value: dtype")
                     .Attr("dtype: type")
                     .Stateful()
                     .Doc("Adds to or subtracts from a variable.")
                     .Shape(ResourceUpdateShape));
  }
  registry.Add(OpDefBuilder("VarIsInitializedOp")
                   .Input("resource: resource")
                   .Output("is_initialized: bool")
                   .Stateful()
                   .Doc("Returns whether the variable exists and has a value.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("WaitForVariable")
                   .Input("resource: resource")
                   .Stateful()
                   .Doc("Completes when the variable has a value.")
                   .Shape(shapes::NoOutputs));
  registry.Add(OpDefBuilder("VariableShape")
                   .Input("input: resource")
                   .Output("output: out_type")
                   .Attr("out_type: {int32, int64} = DT_INT32")
                   .Stateful()
                   .Doc("Returns the shape of a variable's value.")
                   .Shape(VariableShapeShape));
  registry.Add(OpDefBuilder("DestroyResourceOp")
                   .Input("resource: resource")
                   .Attr("ignore_lookup_error: bool = true")
                   .Stateful()
                   .Doc("Deletes the resource of a handle.")
                   .Shape(shapes::NoOutputs));
  registry.Add(OpDefBuilder("DisableCopyOnRead")
                   .Input("resource: resource")
                   .Stateful()
                   .Doc("Does nothing, because reads never copy.")
                   .Shape(shapes::NoOutputs));
  registry.Add(
      OpDefBuilder("ResourceCountUpTo")
          .Input("resource: resource")
          .Output("output: T")
          .Attr("limit: int")
          .Attr("T: {int32, int64}")
          .Stateful()
          .Doc("Increments a scalar variable, and returns the previous value.")
          .Shape(ScalarVariableShape));
}

void AddResourceRows(OpRegistry& registry) {
  registry.Add(OpDefBuilder("ResourceGather")
                   .Input("resource: resource")
                   .Input("indices: Tindices")
                   .Output("output: dtype")
                   .Attr("batch_dims: int = 0")
                   .Attr("validate_indices: bool = true")
                   .Attr("dtype: type")
                   .Attr("Tindices: {int32, int64}")
                   .Stateful()
                   .Doc("Gathers rows of a variable.")
                   .Shape(ResourceGatherShape));
  for (const char* op :
       {"ResourceScatterAdd", "ResourceScatterSub", "ResourceScatterMul",
        "ResourceScatterDiv", "ResourceScatterMin", "ResourceScatterMax",
        "ResourceScatterUpdate"}) {
    const bool any = absl::string_view(op) == "ResourceScatterUpdate";
    registry.Add(OpDefBuilder(op)
                     .Input("resource: resource")
                     .Input("indices: Tindices")
                     .Input("updates: dtype")
                     .Attr(any ? "dtype: type" : "dtype: numbertype")
                     .Attr("Tindices: {int32, int64}")
                     .Stateful()
                     .Doc("Updates some rows of a variable.")
                     .Shape(ResourceScatterShape));
  }
}

// The common part of these ops.
OpDefBuilder ScatterNd(const char* name, const char* variable,
                       const char* types, bool use_locking) {
  OpDefBuilder builder(name);
  builder.Input(variable)
      .Input("indices: Tindices")
      .Input("updates: T")
      .Attr(types)
      .Attr("Tindices: {int32, int64}")
      .Attr(use_locking ? "use_locking: bool = true"
                        : "use_locking: bool = false")
      .Attr("bad_indices_policy: string = ''")
      .Doc("Updates slices of a variable.");
  return builder;
}

void AddScatterNds(OpRegistry& registry) {
  const auto add = [&](const char* name, const char* types, bool use_locking) {
    registry.Add(ScatterNd(name, "ref: Ref(T)", types, use_locking)
                     .Output("output_ref: Ref(T)")
                     .Shape(shapes::Unchanged));
  };
  add("ScatterNdUpdate", "T: type", /*use_locking=*/true);
  add("ScatterNdAdd", "T: numbertype", /*use_locking=*/false);
  add("ScatterNdSub", "T: numbertype", /*use_locking=*/false);
  for (const char* name : {"ResourceScatterNdUpdate", "ResourceScatterNdAdd",
                           "ResourceScatterNdSub"}) {
    registry.Add(ScatterNd(name, "ref: resource", "T: type",
                           /*use_locking=*/true)
                     .Stateful()
                     .Shape(shapes::NoOutputs));
  }
}

// The common part of both ops.
OpDefBuilder SliceAssign(const char* name, const char* variable) {
  OpDefBuilder builder(name);
  builder.Input(variable)
      .Input("begin: Index")
      .Input("end: Index")
      .Input("strides: Index")
      .Input("value: T")
      .Attr("T: type")
      .Attr("Index: {int32, int64}");
  for (const char* mask : {"begin_mask", "end_mask", "ellipsis_mask",
                           "new_axis_mask", "shrink_axis_mask"}) {
    builder.Attr(absl::StrCat(mask, ": int = 0"));
  }
  builder.Doc("Replaces a slice of a variable.");
  return builder;
}

void AddSliceAssigns(OpRegistry& registry) {
  registry.Add(SliceAssign("StridedSliceAssign", "ref: Ref(T)")
                   .Output("output_ref: Ref(T)")
                   .Shape(shapes::Unchanged));
  registry.Add(SliceAssign("ResourceStridedSliceAssign", "ref: resource")
                   .Stateful()
                   .Shape(shapes::NoOutputs));
}

void AddTemporaryVariables(OpRegistry& registry) {
  registry.Add(OpDefBuilder("TemporaryVariable")
                   .Output("ref: Ref(dtype)")
                   .Attr("shape: shape")
                   .Attr("dtype: type")
                   .Attr("var_name: string = ''")
                   .Stateful()
                   .Doc("A variable that lives as long as the step.")
                   .Shape(DeclaredByAttr));
  registry.Add(OpDefBuilder("DestroyTemporaryVariable")
                   .Input("ref: Ref(T)")
                   .Output("value: T")
                   .Attr("T: type")
                   .Attr("var_name: string")
                   .Doc("Deletes a temporary variable and returns its value.")
                   .Shape(shapes::Unchanged));
}

}  // namespace

void RegisterStateOps(OpRegistry& registry) {
  AddReferenceVariables(registry);
  AddReferenceScatters(registry);
  AddResourceVariables(registry);
  AddResourceRows(registry);
  AddScatterNds(registry);
  AddSliceAssigns(registry);
  AddTemporaryVariables(registry);
}

}  // namespace weft
