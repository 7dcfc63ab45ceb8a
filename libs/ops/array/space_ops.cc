// Ops that move blocks of space to the batch or the channels, and back.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/array/array_shapes.h"
#include "libs/ops/array/op_groups.h"

namespace weft {
namespace {

// The sizes of blocks: input 1, or twice the attr.
std::optional<Dims> BlockOf(InferenceContext& c) {
  if (c.num_inputs() > 2) return array_shapes::Integers(c, 1);
  const auto size = c.GetAttr<int64_t>("block_size");
  if (!size.ok()) return std::nullopt;
  return Dims{*size, *size};
}

// The kernel checks this again; unknown sizes stay unknown.

absl::Status BlocksShape(InferenceContext& c, bool to_batch) {
  const int margins_at = c.num_inputs() - 1;
  if (c.num_inputs() > 2) RETURN_IF_ERROR(c.InputWithRank(1, 1).status());
  RETURN_IF_ERROR(c.InputWithRank(margins_at, 2).status());
  const PartialShape& input = c.input(0);
  const std::optional<Dims> block = BlockOf(c);
  if (!input.has_rank() || !block) {
    if (input.has_rank()) {
      c.set_output(0, PartialShape::OfRank(input.rank()));
    }
    return absl::OkStatus();
  }
  const auto count = static_cast<int>(block->size());
  if (input.rank() < 1 + count) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input rank should be >= ", 1 + count, " instead of ", input.rank()));
  }
  const std::optional<Dims> margins = array_shapes::Integers(c, margins_at);
  Dims dims(input.dims().begin(), input.dims().end());
  int64_t product = 1;
  for (int i = 0; i < count; ++i) {
    const int64_t size = (*block)[i];
    // The kernel reports the error.
    if (size < 1) return absl::OkStatus();
    ASSIGN_OR_RETURN(product, array_shapes::MultiplySizes(product, size));
    int64_t& places = dims[i + 1];
    const bool is_known =
        places >= 0 && margins && margins->size() == 2 * block->size();
    if (!is_known) {
      places = PartialShape::kUnknown;
      continue;
    }
    const int64_t before = (*margins)[2 * i], behind = (*margins)[2 * i + 1];
    if (before < 0 || behind < 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const int64_t margin,
                     array_shapes::AddSizes(before, behind));
    if (to_batch) {
      ASSIGN_OR_RETURN(places, array_shapes::AddSizes(places, margin));
      if (places % size != 0) return absl::OkStatus();
      places /= size;
    } else {
      ASSIGN_OR_RETURN(places, array_shapes::MultiplySizes(places, size));
      if (places < margin) return absl::OkStatus();
      places -= margin;
    }
  }
  if (to_batch) {
    ASSIGN_OR_RETURN(dims[0], array_shapes::MultiplySizes(dims[0], product));
  } else if (dims[0] >= 0) {
    if (dims[0] % product != 0) return absl::OkStatus();
    dims[0] /= product;
  }
  c.set_output(0, PartialShape(std::move(dims)));
  return absl::OkStatus();
}

absl::Status ToBatchShape(InferenceContext& c) {
  return BlocksShape(c, /*to_batch=*/true);
}
absl::Status ToSpaceShape(InferenceContext& c) {
  return BlocksShape(c, /*to_batch=*/false);
}

absl::Status DepthShape(InferenceContext& c, bool to_depth) {
  ASSIGN_OR_RETURN(const auto format, c.GetAttr<std::string>("data_format"));
  if (format == "NCHW_VECT_C") return absl::OkStatus();
  ASSIGN_OR_RETURN(const PartialShape input, c.InputWithRank(0, 4));
  ASSIGN_OR_RETURN(const int64_t block, c.GetAttr<int64_t>("block_size"));
  if (!input.has_rank()) {
    c.set_output(0, PartialShape::OfRank(4));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const int64_t places,
                   array_shapes::MultiplySizes(block, block));
  const int first = format == "NCHW" ? 2 : 1;
  const int depth = format == "NCHW" ? 1 : 3;
  Dims dims(input.dims().begin(), input.dims().end());
  const auto divide = [](int64_t& size, int64_t by) {
    size = size >= 0 && size % by == 0 ? size / by : PartialShape::kUnknown;
  };
  for (int d = first; d < first + 2; ++d) {
    if (to_depth) {
      divide(dims[d], block);
    } else {
      ASSIGN_OR_RETURN(dims[d], array_shapes::MultiplySizes(dims[d], block));
    }
  }
  if (to_depth) {
    ASSIGN_OR_RETURN(dims[depth],
                     array_shapes::MultiplySizes(dims[depth], places));
  } else {
    divide(dims[depth], places);
  }
  c.set_output(0, PartialShape(std::move(dims)));
  return absl::OkStatus();
}

absl::Status SpaceToDepthShape(InferenceContext& c) {
  return DepthShape(c, /*to_depth=*/true);
}
absl::Status DepthToSpaceShape(InferenceContext& c) {
  return DepthShape(c, /*to_depth=*/false);
}

}  // namespace

void RegisterArraySpaceOps(OpRegistry& registry) {
  registry.Add(OpDefBuilder("SpaceToBatchND")
                   .Input("input: T")
                   .Input("block_shape: Tblock_shape")
                   .Input("paddings: Tpaddings")
                   .Output("output: T")
                   .Attr("T: type")
                   .Attr("Tblock_shape: {int32, int64} = DT_INT32")
                   .Attr("Tpaddings: {int32, int64} = DT_INT32")
                   .Doc("Moves each position within blocks of the space "
                        "dimensions to the batch dimension.")
                   .Shape(ToBatchShape));
  registry.Add(
      OpDefBuilder("BatchToSpaceND")
          .Input("input: T")
          .Input("block_shape: Tblock_shape")
          .Input("crops: Tcrops")
          .Output("output: T")
          .Attr("T: type")
          .Attr("Tblock_shape: {int32, int64} = DT_INT32")
          .Attr("Tcrops: {int32, int64} = DT_INT32")
          .Doc("Moves the batch dimension into blocks of the space dimensions.")
          .Shape(ToSpaceShape));
  registry.Add(OpDefBuilder("SpaceToBatch")
                   .Input("input: T")
                   .Input("paddings: Tpaddings")
                   .Output("output: T")
                   .Attr("T: type")
                   .Attr("Tpaddings: {int32, int64} = DT_INT32")
                   .Attr("block_size: int >= 2")
                   .Doc("SpaceToBatchND for images with square blocks.")
                   .Shape(ToBatchShape));
  registry.Add(OpDefBuilder("BatchToSpace")
                   .Input("input: T")
                   .Input("crops: Tidx")
                   .Output("output: T")
                   .Attr("T: type")
                   .Attr("block_size: int >= 2")
                   .Attr("Tidx: {int32, int64} = DT_INT32")
                   .Doc("BatchToSpaceND for images with square blocks.")
                   .Shape(ToSpaceShape));
  registry.Add(
      OpDefBuilder("SpaceToDepth")
          .Input("input: T")
          .Output("output: T")
          .Attr("T: type")
          .Attr("block_size: int >= 2")
          .Attr("data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'")
          .Doc("Moves each position within blocks of an image to the channel "
               "dimension.")
          .Shape(SpaceToDepthShape));
  registry.Add(
      OpDefBuilder("DepthToSpace")
          .Input("input: T")
          .Output("output: T")
          .Attr("T: type")
          .Attr("block_size: int >= 2")
          .Attr("data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'")
          .Doc("Moves channels into blocks of an image.")
          .Shape(DepthToSpaceShape));
}

}  // namespace weft
