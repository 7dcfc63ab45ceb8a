// Array ops that join, split, repeat and pad tensors.
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
using array_shapes::NormalizeAxis;
using array_shapes::Subshape;

// The largest known rank of inputs [begin, end); nullopt if none is known.
std::optional<int> KnownRank(const InferenceContext& c, int begin, int end) {
  for (int i = begin; i < end; ++i) {
    if (c.input(i).has_rank()) return c.input(i).rank();
  }
  return std::nullopt;
}

// Merges one more input into `result`; the sizes at `axis` add up.
absl::Status AddToConcat(const PartialShape& input, int axis, bool first,
                         PartialShape& result) {
  if (!input.has_rank()) {
    result.set_dim(axis, PartialShape::kUnknown);
    return absl::OkStatus();
  }
  if (input.rank() != result.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Shapes must be equal rank, but are ", result.rank(),
                     " and ", input.rank()));
  }
  for (int i = 0; i < input.rank(); ++i) {
    if (i == axis) continue;
    ASSIGN_OR_RETURN(int64_t size,
                     InferenceContext::MergeDims(result.dim(i), input.dim(i)));
    result.set_dim(i, size);
  }
  ASSIGN_OR_RETURN(
      int64_t sum,
      array_shapes::AddSizes(first ? 0 : result.dim(axis), input.dim(axis)));
  result.set_dim(axis, sum);
  return absl::OkStatus();
}

// Infers the shape of a concatenation of inputs [begin, end) along the axis in
// input `axis_input`.
absl::Status ConcatShapeOf(InferenceContext& c, int begin, int end,
                           int axis_input) {
  RETURN_IF_ERROR(c.InputWithRank(axis_input, 0).status());
  const std::optional<int> rank = KnownRank(c, begin, end);
  if (!rank) return absl::OkStatus();
  if (*rank == 0) {
    return absl::InvalidArgumentError(
        "Can't concatenate scalars (use tf.stack, ops::Stack, instead)");
  }
  PartialShape result = PartialShape::OfRank(*rank);
  const std::optional<int64_t> value = c.input_scalar(axis_input);
  if (value) {
    ASSIGN_OR_RETURN(int axis, NormalizeAxis(*value, *rank));
    for (int i = begin; i < end; ++i) {
      RETURN_IF_ERROR(AddToConcat(c.input(i), axis, i == begin, result));
    }
  }
  c.set_output(0, std::move(result));
  return absl::OkStatus();
}

absl::Status ConcatShape(InferenceContext& c) {
  return ConcatShapeOf(c, 1, c.num_inputs(), 0);
}

absl::Status ConcatV2Shape(InferenceContext& c) {
  return ConcatShapeOf(c, 0, c.num_inputs() - 1, c.num_inputs() - 1);
}

// The concatenated elements of integer inputs [begin, end).
std::optional<Dims> JoinedIntegers(InferenceContext& c, int begin, int end) {
  Dims all;
  for (int i = begin; i < end; ++i) {
    std::optional<Dims> part = Integers(c, i);
    if (!part || !c.input_tensor(i)) return std::nullopt;
    all.insert(all.end(), part->begin(), part->end());
  }
  return all;
}

// Joins vectors only, because shapes are vectors.
std::optional<Tensor> ConcatV2Value(InferenceContext& c) {
  const int count = c.num_inputs() - 1;
  for (int i = 0; i < count; ++i) {
    if (!c.input(i).has_rank() || c.input(i).rank() != 1) return std::nullopt;
  }
  std::optional<Dims> all = JoinedIntegers(c, 0, count);
  if (!all) return std::nullopt;
  return MakeIntegers(c.output_type(0), {static_cast<int64_t>(all->size())},
                      *all);
}

absl::Status ConcatOffsetShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  for (int i = 1; i < c.num_inputs(); ++i) {
    RETURN_IF_ERROR(c.InputWithRank(i, 1).status());
    c.set_output(i - 1, c.input(i));
  }
  return absl::OkStatus();
}

absl::Status PackShape(InferenceContext& c) {
  PartialShape each = c.input(0);
  for (int i = 1; i < c.num_inputs(); ++i) {
    absl::StatusOr<PartialShape> merged = each.MergeWith(c.input(i));
    if (!merged.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Shapes of all inputs must match: ", merged.status().message()));
    }
    each = *std::move(merged);
  }
  if (!each.has_rank()) return absl::OkStatus();
  ASSIGN_OR_RETURN(int64_t axis_attr, c.GetAttr<int64_t>("axis"));
  ASSIGN_OR_RETURN(int axis, NormalizeAxis(axis_attr, each.rank() + 1));
  PartialShape result = Subshape(each, 0, axis);
  result.AddDim(c.num_inputs());
  c.set_output(0, array_shapes::Concatenate(result, Subshape(each, axis)));
  return absl::OkStatus();
}

std::optional<Tensor> PackValue(InferenceContext& c) {
  if (!c.input(0).has_rank()) return std::nullopt;
  const bool scalars = c.input(0).rank() == 0;
  absl::StatusOr<int64_t> axis = c.GetAttr<int64_t>("axis");
  if (!axis.ok() || (!scalars && *axis != 0)) return std::nullopt;
  std::optional<Dims> all = JoinedIntegers(c, 0, c.num_inputs());
  if (!all) return std::nullopt;
  TensorShape shape = c.input_tensor(0)->shape();
  shape.InsertDim(0, c.num_inputs());
  if (shape.num_elements() != static_cast<int64_t>(all->size())) {
    return std::nullopt;
  }
  return MakeIntegers(c.output_type(0), shape, *all);
}

absl::Status UnpackShape(InferenceContext& c) {
  const PartialShape& input = c.input(0);
  if (!input.has_rank()) return absl::OkStatus();
  RETURN_IF_ERROR(c.InputWithRankAtLeast(0, 1).status());
  ASSIGN_OR_RETURN(int64_t axis_attr, c.GetAttr<int64_t>("axis"));
  ASSIGN_OR_RETURN(int axis, NormalizeAxis(axis_attr, input.rank()));
  RETURN_IF_ERROR(
      InferenceContext::MergeDims(input.dim(axis), c.num_outputs()).status());
  const PartialShape each = array_shapes::Concatenate(
      Subshape(input, 0, axis), Subshape(input, axis + 1));
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, each);
  return absl::OkStatus();
}

void SetAllOutputs(InferenceContext& c, const PartialShape& shape) {
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, shape);
}

absl::Status SplitShape(InferenceContext& c) {
  PartialShape each = c.input(1);
  if (!each.has_rank()) return absl::OkStatus();
  const std::optional<int64_t> value = c.input_scalar(0);
  if (!value) {
    SetAllOutputs(c, PartialShape::OfRank(each.rank()));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(int axis, NormalizeAxis(*value, each.rank()));
  const int64_t size = each.dim(axis);
  const int64_t count = c.num_outputs();
  if (size != PartialShape::kUnknown && size % count != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Number of ways to split should evenly divide the split dimension, "
        "but got split_dim ",
        axis, " (size = ", size, ") and num_split ", count));
  }
  if (size != PartialShape::kUnknown) each.set_dim(axis, size / count);
  SetAllOutputs(c, each);
  return absl::OkStatus();
}

// The sizes of the pieces, with -1 replaced by the remaining size.
absl::StatusOr<Dims> PieceSizes(Dims sizes, int64_t whole) {
  int64_t sum = 0;
  int rest = -1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == PartialShape::kUnknown && rest < 0) {
      rest = static_cast<int>(i);
    } else {
      ASSIGN_OR_RETURN(sum, array_shapes::AddSizes(sum, sizes[i]));
    }
  }
  if (sum == PartialShape::kUnknown || whole == PartialShape::kUnknown)
    return sizes;
  if (rest >= 0 ? sum > whole : sum != whole) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Sum of output sizes must match the size of the original Tensor along "
        "the split dimension or the sum of the positive sizes must be less if "
        "it contains a -1: ",
        sum, " vs. ", whole));
  }
  if (rest >= 0) sizes[rest] = whole - sum;
  return sizes;
}

absl::Status SplitVShape(InferenceContext& c) {
  PartialShape each = c.input(0);
  if (!each.has_rank()) return absl::OkStatus();
  const std::optional<int64_t> value = c.input_scalar(2);
  const std::optional<Dims> sizes = Integers(c, 1);
  if (!value) {
    SetAllOutputs(c, PartialShape::OfRank(each.rank()));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(int axis, NormalizeAxis(*value, each.rank()));
  const int64_t whole = each.dim(axis);
  each.set_dim(axis, PartialShape::kUnknown);
  SetAllOutputs(c, each);
  if (!sizes) return absl::OkStatus();
  if (sizes->size() != static_cast<size_t>(c.num_outputs())) {
    return absl::InvalidArgumentError(
        "Length of size_splits should be equal to num_outputs");
  }
  ASSIGN_OR_RETURN(Dims pieces, PieceSizes(*sizes, whole));
  for (int i = 0; i < c.num_outputs(); ++i) {
    each.set_dim(axis, pieces[i]);
    c.set_output(i, each);
  }
  return absl::OkStatus();
}

absl::Status TileShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 1).status());
  PartialShape result = c.input(0);
  const PartialShape multiples = c.input_as_shape(1);
  if (!result.has_rank() && multiples.has_rank()) {
    result = PartialShape::OfRank(multiples.rank());
  }
  if (!result.has_rank()) return absl::OkStatus();
  if (multiples.has_rank() && multiples.rank() != result.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Shape must be rank ", multiples.rank(), " but is rank ",
                     result.rank(), " for input 0"));
  }
  for (int i = 0; i < result.rank(); ++i) {
    const int64_t times =
        multiples.has_rank() ? multiples.dim(i) : PartialShape::kUnknown;
    ASSIGN_OR_RETURN(int64_t size,
                     array_shapes::MultiplySizes(result.dim(i), times));
    result.set_dim(i, size);
  }
  c.set_output(0, std::move(result));
  return absl::OkStatus();
}

// Adds the paddings to the sizes; `sign` is -1 for the gradient, which
// subtracts them.
absl::Status PaddedShape(InferenceContext& c, int sign) {
  ASSIGN_OR_RETURN(PartialShape paddings, c.InputWithRank(1, 2));
  RETURN_IF_ERROR(InferenceContext::MergeDims(paddings.dim(1), 2).status());
  PartialShape result = c.input(0);
  if (!result.has_rank()) {
    if (paddings.dim(0) == PartialShape::kUnknown) return absl::OkStatus();
    result = PartialShape::OfRank(static_cast<int>(paddings.dim(0)));
  }
  RETURN_IF_ERROR(
      InferenceContext::MergeDims(paddings.dim(0), result.rank()).status());
  const std::optional<Dims> values = Integers(c, 1);
  for (int i = 0; i < result.rank(); ++i) {
    const int64_t size = result.dim(i);
    if (!values || size == PartialShape::kUnknown) {
      result.set_dim(i, PartialShape::kUnknown);
      continue;
    }
    const size_t row = i;
    const int64_t before = (*values)[2 * row], after = (*values)[2 * row + 1];
    if (before < 0 || after < 0) {
      return absl::InvalidArgumentError("paddings must be non-negative");
    }
    ASSIGN_OR_RETURN(int64_t extra, array_shapes::AddSizes(before, after));
    if (sign < 0 && extra > size) {
      return absl::InvalidArgumentError("paddings exceed the padded size");
    }
    if (sign < 0) {
      result.set_dim(i, size - extra);
    } else {
      ASSIGN_OR_RETURN(int64_t padded, array_shapes::AddSizes(size, extra));
      result.set_dim(i, padded);
    }
  }
  c.set_output(0, std::move(result));
  return absl::OkStatus();
}

absl::Status PadShape(InferenceContext& c) { return PaddedShape(c, 1); }
absl::Status PadGradShape(InferenceContext& c) { return PaddedShape(c, -1); }

}  // namespace

void RegisterArrayJoinOps(OpRegistry& registry) {
  registry.Add(OpDefBuilder("Concat")
                   .Input("concat_dim: int32")
                   .Input("values: N * T")
                   .Output("output: T")
                   .Attr("N: int >= 2")
                   .Attr("T: type")
                   .Doc("Joins tensors along one dimension (deprecated form).")
                   .Shape(ConcatShape));
  registry.Add(OpDefBuilder("ConcatV2")
                   .Input("values: N * T")
                   .Input("axis: Tidx")
                   .Output("output: T")
                   .Attr("N: int >= 2")
                   .Attr("T: type")
                   .Attr("Tidx: {int32, int64} = DT_INT32")
                   .Doc("Joins tensors along one dimension.")
                   .Shape(ConcatV2Shape)
                   .Value(ConcatV2Value));
  registry.Add(OpDefBuilder("ConcatOffset")
                   .Input("concat_dim: int32")
                   .Input("shape: N * shape_type")
                   .Output("offset: N * shape_type")
                   .Attr("N: int >= 2")
                   .Attr("shape_type: {int32, int64} = DT_INT32")
                   .Doc("Returns the offset of each input in a concatenation.")
                   .Shape(ConcatOffsetShape));
  registry.Add(OpDefBuilder("Pack")
                   .Input("values: N * T")
                   .Output("output: T")
                   .Attr("N: int >= 1")
                   .Attr("T: type")
                   .Attr("axis: int = 0")
                   .Doc("Joins tensors along a new dimension.")
                   .Shape(PackShape)
                   .Value(PackValue));
  registry.Add(OpDefBuilder("Unpack")
                   .Input("value: T")
                   .Output("output: num * T")
                   .Attr("num: int >= 0")
                   .Attr("T: type")
                   .Attr("axis: int = 0")
                   .Doc("Splits a tensor along one dimension, and removes that "
                        "dimension.")
                   .Shape(UnpackShape));
  registry.Add(OpDefBuilder("Split")
                   .Input("split_dim: int32")
                   .Input("value: T")
                   .Output("output: num_split * T")
                   .Attr("num_split: int >= 1")
                   .Attr("T: type")
                   .Doc("Splits a tensor into equal parts.")
                   .Shape(SplitShape));
  registry.Add(OpDefBuilder("SplitV")
                   .Input("value: T")
                   .Input("size_splits: Tlen")
                   .Input("split_dim: int32")
                   .Output("output: num_split * T")
                   .Attr("num_split: int >= 1")
                   .Attr("T: type")
                   .Attr("Tlen: {int8, int32, int64} = DT_INT64")
                   .Doc("Splits a tensor into parts of the given sizes.")
                   .Shape(SplitVShape));
  registry.Add(OpDefBuilder("Tile")
                   .Input("input: T")
                   .Input("multiples: Tmultiples")
                   .Output("output: T")
                   .Attr("T: type")
                   .Attr("Tmultiples: {int32, int64} = DT_INT32")
                   .Doc("Repeats a tensor along each dimension.")
                   .Shape(TileShape));
  registry.Add(OpDefBuilder("Pad")
                   .Input("input: T")
                   .Input("paddings: Tpaddings")
                   .Output("output: T")
                   .Attr("T: type")
                   .Attr("Tpaddings: {int32, int64} = DT_INT32")
                   .Doc("Pads a tensor with zeros.")
                   .Shape(PadShape));
  registry.Add(OpDefBuilder("PadV2")
                   .Input("input: T")
                   .Input("paddings: Tpaddings")
                   .Input("constant_values: T")
                   .Output("output: T")
                   .Attr("T: type")
                   .Attr("Tpaddings: {int32, int64} = DT_INT32")
                   .Doc("Pads a tensor with a value.")
                   .Shape(PadShape));
  registry.Add(OpDefBuilder("MirrorPad")
                   .Input("input: T")
                   .Input("paddings: Tpaddings")
                   .Output("output: T")
                   .Attr("T: type")
                   .Attr("Tpaddings: {int32, int64} = DT_INT32")
                   .Attr("mode: {'REFLECT', 'SYMMETRIC'}")
                   .Doc("Pads a tensor with mirrored elements.")
                   .Shape(PadShape));
  registry.Add(OpDefBuilder("MirrorPadGrad")
                   .Input("input: T")
                   .Input("paddings: Tpaddings")
                   .Output("output: T")
                   .Attr("T: type")
                   .Attr("Tpaddings: {int32, int64} = DT_INT32")
                   .Attr("mode: {'REFLECT', 'SYMMETRIC'}")
                   .Doc("The gradient of MirrorPad.")
                   .Shape(PadGradShape));
}

}  // namespace weft
