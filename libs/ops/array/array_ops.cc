// Array ops that create or forward values. The rest of the family is in
// array_*_ops.cc.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/array/array_shapes.h"
#include "libs/ops/array/op_groups.h"
#include "libs/ops/standard_ops.h"

namespace weft {
namespace {

using array_shapes::Integers;
using array_shapes::MakeIntegers;

std::optional<Tensor> FirstInputValue(InferenceContext& c) {
  return c.input_tensor(0);
}

absl::Status ConstShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(Tensor value, c.GetAttr<Tensor>("value"));
  ASSIGN_OR_RETURN(DataType dtype, c.GetAttr<DataType>("dtype"));
  if (value.dtype() != dtype) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Inconsistent values for attr 'dtype' ", DataTypeName(dtype),
        " vs. the value's type ", DataTypeName(value.dtype())));
  }
  c.set_output(0, value.shape());
  return absl::OkStatus();
}

std::optional<Tensor> ConstValue(InferenceContext& c) {
  absl::StatusOr<Tensor> value = c.GetAttr<Tensor>("value");
  if (!value.ok()) return std::nullopt;
  return *std::move(value);
}

absl::Status ShapeFromAttr(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.GetAttr<PartialShape>("shape"));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status DefaultFitsAttr(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.GetAttr<PartialShape>("shape"));
  RETURN_IF_ERROR(c.input(0).MergeWith(shape).status());
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status MergeInputWithAttr(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.GetAttr<PartialShape>("shape"));
  ASSIGN_OR_RETURN(PartialShape merged, c.input(0).MergeWith(shape));
  c.set_output(0, std::move(merged));
  return absl::OkStatus();
}

absl::Status AllUnchanged(InferenceContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, c.input(i));
  return absl::OkStatus();
}

absl::Status FillShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 1).status());
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  c.set_output(0, c.input_as_shape(0));
  return absl::OkStatus();
}

std::optional<Tensor> FillValue(InferenceContext& c) {
  const std::optional<Dims> dims = Integers(c, 0);
  const std::optional<Dims> value = Integers(c, 1);
  if (!dims || !value || value->size() != 1) return std::nullopt;
  absl::StatusOr<TensorShape> shape = TensorShape::Create(*dims);
  if (!shape.ok() || shape->num_elements() > array_shapes::kMaxElements) {
    return std::nullopt;
  }
  return MakeIntegers(c.output_type(0), *shape,
                      Dims(shape->num_elements(), (*value)[0]));
}

template <int64_t kValue>
std::optional<Tensor> LikeValue(InferenceContext& c) {
  if (!c.input(0).IsFullyDefined()) return std::nullopt;
  if (c.output_type(0) != DT_INT32 && c.output_type(0) != DT_INT64) {
    return std::nullopt;
  }
  const TensorShape shape = c.input(0).ToShape();
  if (shape.num_elements() > array_shapes::kMaxElements) return std::nullopt;
  return MakeIntegers(c.output_type(0), shape,
                      Dims(shape.num_elements(), kValue));
}

// The depth becomes a dimension at `axis`; -1 is after the last.
absl::Status OneHotShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(int64_t axis, c.GetAttr<int64_t>("axis"));
  if (axis < -1) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis must be >= -1, but is ", axis));
  }
  for (int i = 1; i < 4; ++i) RETURN_IF_ERROR(c.InputWithRank(i, 0).status());
  std::optional<int64_t> depth = c.input_scalar(1);
  if (depth && *depth < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("depth must be non-negative, got: ", *depth));
  }
  const PartialShape& indices = c.input(0);
  if (!indices.has_rank()) return absl::OkStatus();
  const int rank = indices.rank();
  if (axis > rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("Expected axis to be -1 or between [0, ", rank + 1,
                     ").  But received: ", axis));
  }
  const int at = axis == -1 ? rank : static_cast<int>(axis);
  PartialShape shape = array_shapes::Subshape(indices, 0, at);
  shape.AddDim(depth.value_or(PartialShape::kUnknown));
  c.set_output(
      0, array_shapes::Concatenate(shape, array_shapes::Subshape(indices, at)));
  return absl::OkStatus();
}

// For a larger type, the elements of the last dimension become one. For a
// smaller type, a dimension is added.
absl::Status BitcastShape(InferenceContext& c) {
  const auto from = static_cast<int64_t>(DataTypeSize(c.input_type(0)));
  const auto to = static_cast<int64_t>(DataTypeSize(c.output_type(0)));
  if (from >= to) {
    PartialShape shape = c.input(0);
    if (shape.has_rank() && from > to) shape.AddDim(from / to);
    c.set_output(0, std::move(shape));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const PartialShape input, c.InputWithRankAtLeast(0, 1));
  if (!input.has_rank()) return absl::OkStatus();
  const int64_t last = input.dim(input.rank() - 1);
  if (last != PartialShape::kUnknown && last != to / from) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Cannot bitcast from ", c.input_type(0), " to ", c.output_type(0),
        " due to shape. ", last, " does not match ", to / from));
  }
  c.set_output(0, array_shapes::Subshape(input, 0, input.rank() - 1));
  return absl::OkStatus();
}

}  // namespace

void RegisterArrayOps(OpRegistry& registry) {
  registry.Add(OpDefBuilder("Const")
                   .Output("output: dtype")
                   .Attr("value: tensor")
                   .Attr("dtype: type")
                   .Doc("A constant.")
                   .Shape(ConstShape)
                   .Value(ConstValue));
  registry.Add(OpDefBuilder("Placeholder")
                   .Output("output: dtype")
                   .Attr("dtype: type")
                   .Attr("shape: shape = { unknown_rank: true }")
                   .Doc("A value that must be fed.")
                   .Shape(ShapeFromAttr));
  registry.Add(OpDefBuilder("PlaceholderV2")
                   .Output("output: dtype")
                   .Attr("dtype: type")
                   .Attr("shape: shape")
                   .Doc("A value that must be fed (deprecated form).")
                   .Shape(ShapeFromAttr));
  registry.Add(OpDefBuilder("PlaceholderWithDefault")
                   .Input("input: dtype")
                   .Output("output: dtype")
                   .Attr("dtype: type")
                   .Attr("shape: shape")
                   .Doc("Returns its input, unless the output is fed.")
                   .Shape(DefaultFitsAttr));
  registry.Add(OpDefBuilder("Identity")
                   .Input("input: T")
                   .Output("output: T")
                   .Attr("T: type")
                   .Doc("Returns its input.")
                   .Shape(shapes::Unchanged)
                   .Value(FirstInputValue));
  registry.Add(OpDefBuilder("IdentityN")
                   .Input("input: T")
                   .Output("output: T")
                   .Attr("T: list(type) >= 1")
                   .Doc("Returns its inputs.")
                   .Shape(AllUnchanged));
  registry.Add(OpDefBuilder("Snapshot")
                   .Input("input: T")
                   .Output("output: T")
                   .Attr("T: type")
                   .Doc("Returns a copy of its input.")
                   .Shape(shapes::Unchanged)
                   .Value(FirstInputValue));
  constexpr char kSizedTypes[] =
      "{bfloat16, half, float, double, int64, int32, uint8, uint16, uint32, "
      "uint64, int8, int16, complex64, complex128}";
  registry.Add(OpDefBuilder("Bitcast")
                   .Input("input: T")
                   .Output("output: type")
                   .Attr(absl::StrCat("T: ", kSizedTypes))
                   .Attr(absl::StrCat("type: ", kSizedTypes))
                   .Doc("Reinterprets the bits of its input as another type.")
                   .Shape(BitcastShape));
  registry.Add(OpDefBuilder("StopGradient")
                   .Input("input: T")
                   .Output("output: T")
                   .Attr("T: type")
                   .Doc("Returns its input, and blocks gradients.")
                   .Shape(shapes::Unchanged)
                   .Value(FirstInputValue));
  registry.Add(OpDefBuilder("PreventGradient")
                   .Input("input: T")
                   .Output("output: T")
                   .Attr("T: type")
                   .Attr("message: string = ''")
                   .Doc("Returns its input; requesting a gradient through it "
                        "is an error.")
                   .Shape(shapes::Unchanged));
  registry.Add(OpDefBuilder("EnsureShape")
                   .Input("input: T")
                   .Output("output: T")
                   .Attr("shape: shape")
                   .Attr("T: type")
                   .Doc("Returns its input, after checking its shape.")
                   .Shape(MergeInputWithAttr));
  registry.Add(OpDefBuilder("CheckNumerics")
                   .Input("tensor: T")
                   .Output("output: T")
                   .Attr("T: {bfloat16, half, float, double}")
                   .Attr("message: string")
                   .Stateful()
                   .Doc("Returns its input, after checking that it is finite.")
                   .Shape(shapes::Unchanged));
  registry.Add(OpDefBuilder("Fill")
                   .Input("dims: index_type")
                   .Input("value: T")
                   .Output("output: T")
                   .Attr("T: type")
                   .Attr("index_type: {int32, int64} = DT_INT32")
                   .Doc("Fills a tensor with one value.")
                   .Shape(FillShape)
                   .Value(FillValue));
  registry.Add(OpDefBuilder("ZerosLike")
                   .Input("x: T")
                   .Output("y: T")
                   .Attr("T: type")
                   .Doc("Zeros in the shape of the input.")
                   .Shape(shapes::Unchanged)
                   .Value(LikeValue<0>));
  registry.Add(
      OpDefBuilder("OnesLike")
          .Input("x: T")
          .Output("y: T")
          .Attr(
              "T: {bfloat16, half, float, double, int8, uint8, int16, uint16, "
              "int32, uint32, int64, uint64, complex64, complex128, bool}")
          .Doc("Ones in the shape of the input.")
          .Shape(shapes::Unchanged)
          .Value(LikeValue<1>));
  registry.Add(
      OpDefBuilder("OneHot")
          .Input("indices: TI")
          .Input("depth: int32")
          .Input("on_value: T")
          .Input("off_value: T")
          .Output("output: T")
          .Attr("axis: int = -1")
          .Attr("T: type")
          .Attr("TI: {uint8, int8, int32, int64} = DT_INT64")
          .Doc("Returns on_value at each index, and off_value elsewhere.")
          .Shape(OneHotShape));
  RegisterArrayShapeOps(registry);
  RegisterArrayJoinOps(registry);
  RegisterArraySliceOps(registry);
  RegisterArrayOrderOps(registry);
  RegisterArrayDiagonalOps(registry);
  RegisterArraySetOps(registry);
  RegisterArraySegmentOps(registry);
  RegisterArraySpaceOps(registry);
  RegisterArraySearchOps(registry);
}

}  // namespace weft
