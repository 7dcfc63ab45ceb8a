// Array ops that query or change shapes.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/array/array_shapes.h"
#include "libs/ops/array/op_groups.h"

namespace weft {
namespace {

using array_shapes::Integers;
using array_shapes::MakeIntegers;
using array_shapes::Subshape;

int64_t RankOrUnknown(const PartialShape& shape) {
  return shape.has_rank() ? shape.rank() : PartialShape::kUnknown;
}

absl::Status ShapeShape(InferenceContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) {
    c.set_output(i, PartialShape::Vector(RankOrUnknown(c.input(i))));
  }
  return absl::OkStatus();
}

std::optional<Tensor> ShapeValue(InferenceContext& c) {
  const PartialShape& shape = c.input(0);
  if (!shape.IsFullyDefined()) return std::nullopt;
  return MakeIntegers(c.output_type(0), {shape.rank()}, shape.dims());
}

std::optional<Tensor> SizeValue(InferenceContext& c) {
  const int64_t size = c.input(0).num_elements();
  if (size == PartialShape::kUnknown) return std::nullopt;
  if (c.output_type(0) == DT_INT32 && size > INT32_MAX) return std::nullopt;
  return MakeIntegers(c.output_type(0), {}, {size});
}

std::optional<Tensor> RankValue(InferenceContext& c) {
  if (!c.input(0).has_rank()) return std::nullopt;
  return Tensor::Scalar<int32_t>(c.input(0).rank());
}

// Infers the one unknown size of `shape` from the number of elements; returns
// an error if they do not fit.
absl::StatusOr<PartialShape> FitShape(PartialShape shape, int64_t elements) {
  int64_t known = 1;
  int unknown_index = -1;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape.dim(i) == PartialShape::kUnknown) {
      if (unknown_index >= 0) return shape;
      unknown_index = i;
      continue;
    }
    ASSIGN_OR_RETURN(known, array_shapes::MultiplySizes(known, shape.dim(i)));
  }
  if (unknown_index < 0 && known != elements) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Cannot reshape a tensor with ", elements, " elements to shape ",
        shape.ToString(), " (", known, " elements)"));
  }
  if (unknown_index < 0 || known == 0) return shape;
  if (elements % known != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("Dimension size must be evenly divisible by ", known,
                     " but is ", elements, ": cannot reshape a tensor with ",
                     elements, " elements to shape ", shape.ToString()));
  }
  shape.set_dim(unknown_index, elements / known);
  return shape;
}

absl::Status ReshapeShape(InferenceContext& c) {
  PartialShape shape = c.input_as_shape(1);
  const int64_t elements = c.input(0).num_elements();
  if (shape.has_rank() && elements != PartialShape::kUnknown) {
    ASSIGN_OR_RETURN(shape, FitShape(std::move(shape), elements));
  }
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

// A known value, reshaped.
std::optional<Tensor> Reshaped(InferenceContext& c, const PartialShape& shape) {
  const std::optional<Tensor>& value = c.input_tensor(0);
  if (!value || !shape.IsFullyDefined()) return std::nullopt;
  absl::StatusOr<Tensor> result = value->Reshaped(shape.ToShape());
  if (!result.ok()) return std::nullopt;
  return *std::move(result);
}

std::optional<Tensor> ReshapeValue(InferenceContext& c) {
  const std::optional<Tensor>& value = c.input_tensor(0);
  const std::optional<Dims> dims = Integers(c, 1);
  if (!value || !dims) return std::nullopt;
  absl::StatusOr<PartialShape> shape = PartialShape::Create(*dims);
  if (!shape.ok()) return std::nullopt;
  shape = FitShape(*std::move(shape), value->num_elements());
  if (!shape.ok()) return std::nullopt;
  return Reshaped(c, *shape);
}

absl::StatusOr<PartialShape> ExpandedShape(InferenceContext& c) {
  const PartialShape& input = c.input(0);
  if (c.input(1).num_elements() != PartialShape::kUnknown &&
      c.input(1).num_elements() != 1) {
    return absl::InvalidArgumentError(
        "'dim' input must be a tensor with a single value");
  }
  if (!input.has_rank()) return PartialShape::UnknownRank();
  const std::optional<int64_t> dim = c.input_scalar(1);
  const int rank = input.rank();
  if (!dim) return PartialShape::OfRank(rank + 1);
  if (*dim < -rank - 1 || *dim > rank) {
    return absl::InvalidArgumentError(absl::StrCat(
        "dim ", *dim, " not in the interval [", -rank - 1, ", ", rank, "]."));
  }
  const int at = static_cast<int>(*dim < 0 ? *dim + rank + 1 : *dim);
  PartialShape shape = Subshape(input, 0, at);
  shape.AddDim(1);
  return array_shapes::Concatenate(shape, Subshape(input, at));
}

absl::Status ExpandDimsShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, ExpandedShape(c));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

std::optional<Tensor> ExpandDimsValue(InferenceContext& c) {
  absl::StatusOr<PartialShape> shape = ExpandedShape(c);
  if (!shape.ok()) return std::nullopt;
  return Reshaped(c, *shape);
}

// The dimensions named by the attribute; all false if it names none.
absl::StatusOr<std::vector<bool>> NamedDims(InferenceContext& c, int rank) {
  ASSIGN_OR_RETURN(std::vector<int64_t> dims,
                   c.GetAttr<std::vector<int64_t>>("squeeze_dims"));
  std::vector<bool> named(rank, false);
  for (int64_t dim : dims) {
    if (dim < -rank || dim >= rank) {
      return absl::InvalidArgumentError(absl::StrCat(
          "squeeze_dims[", dim, "] not in [", -rank, ",", rank, ")."));
    }
    named[dim < 0 ? dim + rank : dim] = true;
  }
  return named;
}

absl::StatusOr<PartialShape> SqueezedShape(InferenceContext& c) {
  const PartialShape& input = c.input(0);
  if (!input.has_rank()) return PartialShape::UnknownRank();
  ASSIGN_OR_RETURN(std::vector<bool> named, NamedDims(c, input.rank()));
  const bool all = std::find(named.begin(), named.end(), true) == named.end();
  PartialShape result = PartialShape::Scalar();
  for (int i = 0; i < input.rank(); ++i) {
    const int64_t size = input.dim(i);
    // An unknown size may be 1, so the rank is unknown, too.
    if (all && size == PartialShape::kUnknown)
      return PartialShape::UnknownRank();
    if (named[i] && size != 1 && size != PartialShape::kUnknown) {
      return absl::InvalidArgumentError(
          absl::StrCat("Can not squeeze dim[", i,
                       "], expected a dimension of 1, got ", size));
    }
    if (all ? size != 1 : !named[i]) result.AddDim(size);
  }
  return result;
}

absl::Status SqueezeShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, SqueezedShape(c));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

std::optional<Tensor> SqueezeValue(InferenceContext& c) {
  absl::StatusOr<PartialShape> shape = SqueezedShape(c);
  if (!shape.ok()) return std::nullopt;
  return Reshaped(c, *shape);
}

absl::Status BroadcastToShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 1).status());
  PartialShape shape = c.input_as_shape(1);
  const PartialShape& input = c.input(0);
  c.set_output(0, shape);
  if (!shape.has_rank() || !input.has_rank()) return absl::OkStatus();
  if (input.rank() > shape.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Rank of input (", input.rank(),
                     ") must be no greater than rank of output shape (",
                     shape.rank(), ")."));
  }
  for (int i = 0; i < input.rank(); ++i) {
    const int64_t from = input.dim(i);
    const int64_t to = shape.dim(shape.rank() - input.rank() + i);
    if (from > 1 && to != PartialShape::kUnknown && from != to) {
      return absl::InvalidArgumentError(
          absl::StrCat("Incompatible shapes: ", input.ToString(), " vs. ",
                       shape.ToString()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

void RegisterArrayShapeOps(OpRegistry& registry) {
  registry.Add(OpDefBuilder("Shape")
                   .Input("input: T")
                   .Output("output: out_type")
                   .Attr("T: type")
                   .Attr("out_type: {int32, int64} = DT_INT32")
                   .Doc("Returns the shape of a tensor.")
                   .Shape(ShapeShape)
                   .Value(ShapeValue));
  registry.Add(OpDefBuilder("ShapeN")
                   .Input("input: N * T")
                   .Output("output: N * out_type")
                   .Attr("N: int >= 1")
                   .Attr("T: type")
                   .Attr("out_type: {int32, int64} = DT_INT32")
                   .Doc("Returns the shapes of several tensors.")
                   .Shape(ShapeShape));
  registry.Add(OpDefBuilder("Size")
                   .Input("input: T")
                   .Output("output: out_type")
                   .Attr("T: type")
                   .Attr("out_type: {int32, int64} = DT_INT32")
                   .Doc("Returns the number of elements.")
                   .Shape(shapes::Scalar)
                   .Value(SizeValue));
  registry.Add(OpDefBuilder("Rank")
                   .Input("input: T")
                   .Output("output: int32")
                   .Attr("T: type")
                   .Doc("Returns the number of dimensions.")
                   .Shape(shapes::Scalar)
                   .Value(RankValue));
  registry.Add(OpDefBuilder("Reshape")
                   .Input("tensor: T")
                   .Input("shape: Tshape")
                   .Output("output: T")
                   .Attr("T: type")
                   .Attr("Tshape: {int32, int64} = DT_INT32")
                   .Doc("Changes the shape, and keeps the elements.")
                   .Shape(ReshapeShape)
                   .Value(ReshapeValue));
  registry.Add(OpDefBuilder("ExpandDims")
                   .Input("input: T")
                   .Input("dim: Tdim")
                   .Output("output: T")
                   .Attr("T: type")
                   .Attr("Tdim: {int32, int64} = DT_INT32")
                   .Doc("Inserts a dimension of size 1.")
                   .Shape(ExpandDimsShape)
                   .Value(ExpandDimsValue));
  registry.Add(OpDefBuilder("Squeeze")
                   .Input("input: T")
                   .Output("output: T")
                   .Attr("T: type")
                   .Attr("squeeze_dims: list(int) >= 0 = []")
                   .Doc("Removes dimensions of size 1.")
                   .Shape(SqueezeShape)
                   .Value(SqueezeValue));
  registry.Add(OpDefBuilder("BroadcastTo")
                   .Input("input: T")
                   .Input("shape: Tidx")
                   .Output("output: T")
                   .Attr("T: type")
                   .Attr("Tidx: {int32, int64} = DT_INT32")
                   .Doc("Broadcasts a tensor to a shape.")
                   .Shape(BroadcastToShape));
}

}  // namespace weft
