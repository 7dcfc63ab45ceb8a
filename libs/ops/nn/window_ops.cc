// Ops on images: convolutions, pools and normalization. Images are
// [batch, rows, columns, channels] ("NHWC") or [batch, channels, rows,
// columns].
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/array/array_shapes.h"
#include "libs/ops/nn/op_groups.h"
#include "libs/ops/standard_ops.h"

namespace weft {
namespace {

// The positions of the dimensions.
struct Layout {
  int rows = 1, columns = 2, channels = 3;
};

absl::StatusOr<Layout> LayoutOf(const InferenceContext& c) {
  ASSIGN_OR_RETURN(const std::string format,
                   c.GetAttr<std::string>("data_format"));
  if (format == "NHWC") return Layout();
  return Layout{2, 3, 1};
}

// An attr of 4 numbers, one for each dimension; ones if the op lacks it.
absl::StatusOr<std::vector<int64_t>> Four(const InferenceContext& c,
                                          absl::string_view name) {
  if (c.op().FindAttr(name) == nullptr) return std::vector<int64_t>(4, 1);
  ASSIGN_OR_RETURN(auto list, c.GetAttr<std::vector<int64_t>>(name));
  if (list.size() == 4) return list;
  return absl::InvalidArgumentError(absl::StrCat(
      "attr ", name, " must specify 4 dimensions, not ", list.size()));
}

constexpr int64_t kMaxSize = int64_t{1} << 31;

// For ops with padding other than EXPLICIT: explicit paddings are rejected
// instead of ignored. TensorFlow's text.
absl::Status CheckNoPaddings(const InferenceContext& c) {
  if (c.op().FindAttr("explicit_paddings") == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto pads,
                   c.GetAttr<std::vector<int64_t>>("explicit_paddings"));
  if (pads.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "explicit_paddings attribute must be empty if the padding attribute is "
      "not EXPLICIT");
}

// Checks explicit paddings independently of the image. The second text is
// TensorFlow's.
absl::Status CheckPaddings(const InferenceContext& c, const Layout& layout) {
  ASSIGN_OR_RETURN(const std::string padding,
                   c.GetAttr<std::string>("padding"));
  if (padding != "EXPLICIT") return CheckNoPaddings(c);
  ASSIGN_OR_RETURN(const auto pads,
                   c.GetAttr<std::vector<int64_t>>("explicit_paddings"));
  const auto is_possible = [](int64_t pad) {
    return pad >= 0 && pad <= kMaxSize;
  };
  if (pads.size() != 8 || !absl::c_all_of(pads, is_possible)) {
    return absl::InvalidArgumentError(
        "explicit_paddings must be 8 numbers that are not negative");
  }
  const size_t channels = 2 * static_cast<size_t>(layout.channels);
  if (pads[0] == 0 && pads[1] == 0 && pads[channels] == 0 &&
      pads[channels + 1] == 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "Nonzero explicit padding in the batch or depth dimensions is not "
      "supported");
}

// The number of windows of `size` taps along dimension `dim`. REQUIRES:
// CheckPaddings was OK.
absl::StatusOr<int64_t> WindowsAlong(const InferenceContext& c, int dim,
                                     int64_t in, int64_t size) {
  ASSIGN_OR_RETURN(const auto strides, Four(c, "strides"));
  ASSIGN_OR_RETURN(const auto dilations, Four(c, "dilations"));
  ASSIGN_OR_RETURN(const std::string padding,
                   c.GetAttr<std::string>("padding"));
  const int64_t stride = strides[dim], dilation = dilations[dim];
  if (stride < 1 || dilation < 1 || size == 0 ||
      size < PartialShape::kUnknown || stride > kMaxSize ||
      dilation > kMaxSize || size > kMaxSize) {
    return absl::InvalidArgumentError(
        "strides, dilations and windows must be positive");
  }
  if (in == PartialShape::kUnknown || size == PartialShape::kUnknown ||
      in > kMaxSize)
    return PartialShape::kUnknown;
  if (padding == "SAME") return (in + stride - 1) / stride;
  int64_t room = in - (size - 1) * dilation - 1 + stride;
  if (padding == "EXPLICIT") {
    ASSIGN_OR_RETURN(const auto pads,
                     c.GetAttr<std::vector<int64_t>>("explicit_paddings"));
    const size_t before = 2 * static_cast<size_t>(dim);
    room += pads[before] + pads[before + 1];
  }
  if (room >= 0) return room / stride;
  return absl::InvalidArgumentError(
      absl::StrCat("Computed output size would be negative: input ", in,
                   ", window ", size, ", stride ", stride));
}

// The output shape for windows of `rows` by `columns` taps with `channels`.
absl::Status SetWindows(InferenceContext& c, const PartialShape& image,
                        int64_t rows, int64_t columns, int64_t channels) {
  ASSIGN_OR_RETURN(const Layout layout, LayoutOf(c));
  RETURN_IF_ERROR(CheckPaddings(c, layout));
  PartialShape output = image;
  ASSIGN_OR_RETURN(const int64_t rows_out,
                   WindowsAlong(c, layout.rows, image.dim(layout.rows), rows));
  ASSIGN_OR_RETURN(
      const int64_t columns_out,
      WindowsAlong(c, layout.columns, image.dim(layout.columns), columns));
  output.set_dim(layout.rows, rows_out);
  output.set_dim(layout.columns, columns_out);
  output.set_dim(layout.channels, channels);
  c.set_output(0, std::move(output));
  return absl::OkStatus();
}

absl::StatusOr<PartialShape> Rank4(const InferenceContext& c, int i) {
  ASSIGN_OR_RETURN(PartialShape shape, c.InputWithRank(i, 4));
  return shape.has_rank() ? shape : PartialShape::OfRank(4);
}

absl::Status ConvShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialShape image, Rank4(c, 0));
  ASSIGN_OR_RETURN(const PartialShape filter, Rank4(c, 1));
  ASSIGN_OR_RETURN(const Layout layout, LayoutOf(c));
  const int64_t depth = image.dim(layout.channels);
  if (depth != PartialShape::kUnknown && filter.dim(2) > 0 &&
      depth % filter.dim(2) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Depth of input (", depth,
        ") is not a multiple of input depth of filter (", filter.dim(2), ")"));
  }
  return SetWindows(c, image, filter.dim(0), filter.dim(1), filter.dim(3));
}

absl::Status DepthwiseShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialShape image, Rank4(c, 0));
  ASSIGN_OR_RETURN(const PartialShape filter, Rank4(c, 1));
  ASSIGN_OR_RETURN(const Layout layout, LayoutOf(c));
  ASSIGN_OR_RETURN(
      const int64_t depth,
      InferenceContext::MergeDims(image.dim(layout.channels), filter.dim(2)));
  ASSIGN_OR_RETURN(const int64_t channels,
                   array_shapes::MultiplySizes(depth, filter.dim(3)));
  return SetWindows(c, image, filter.dim(0), filter.dim(1), channels);
}

// The shape stored in an input.
absl::Status ShapeFrom(InferenceContext& c, int i) {
  const PartialShape shape = c.input_as_shape(i);
  c.set_output(0, shape.has_rank() ? shape : PartialShape::OfRank(4));
  return absl::OkStatus();
}
absl::Status BackpropInputShape(InferenceContext& c) { return ShapeFrom(c, 0); }
absl::Status BackpropFilterShape(InferenceContext& c) {
  return ShapeFrom(c, 1);
}

// A pool across channels keeps rows and columns. The kernel rejects sizes that
// do not divide.
absl::Status ChannelPoolShape(InferenceContext& c, PartialShape image,
                              int channels, int64_t window) {
  const int64_t depth = image.dim(channels);
  const bool divides = depth != PartialShape::kUnknown && depth % window == 0;
  image.set_dim(channels, divides ? depth / window : PartialShape::kUnknown);
  c.set_output(0, std::move(image));
  return absl::OkStatus();
}

absl::Status PoolShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const std::string format,
                   c.GetAttr<std::string>("data_format"));
  if (format == "NCHW_VECT_C") return absl::OkStatus();
  ASSIGN_OR_RETURN(const PartialShape image, Rank4(c, 0));
  ASSIGN_OR_RETURN(const Layout layout, LayoutOf(c));
  ASSIGN_OR_RETURN(const auto ksize, Four(c, "ksize"));
  if (ksize[layout.channels] > 1) {
    RETURN_IF_ERROR(CheckPaddings(c, layout));
    return ChannelPoolShape(c, image, layout.channels, ksize[layout.channels]);
  }
  return SetWindows(c, image, ksize[layout.rows], ksize[layout.columns],
                    image.dim(layout.channels));
}

absl::Status PoolGradGradShape(InferenceContext& c) {
  c.set_output(0, c.input(1));
  return absl::OkStatus();
}

absl::Status ImageShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape image, Rank4(c, 0));
  c.set_output(0, std::move(image));
  return absl::OkStatus();
}

int64_t ChannelsOf(const InferenceContext& c, const PartialShape& x) {
  const auto format = c.GetAttr<std::string>("data_format");
  if (!x.has_rank() || x.rank() == 0 || !format.ok())
    return PartialShape::kUnknown;
  const bool is_last = format->back() == 'C';
  return is_last        ? x.dim(x.rank() - 1)
         : x.rank() > 1 ? x.dim(1)
                        : PartialShape::kUnknown;
}

absl::Status BatchNormShape(InferenceContext& c) {
  c.set_output(0, c.input(0));
  const PartialShape vector = PartialShape::Vector(ChannelsOf(c, c.input(0)));
  for (int i = 1; i < 5; ++i) c.set_output(i, vector);
  return absl::OkStatus();
}

absl::Status BatchNormGradShape(InferenceContext& c) {
  c.set_output(0, c.input(1));
  const PartialShape vector = PartialShape::Vector(ChannelsOf(c, c.input(1)));
  c.set_output(1, vector);
  c.set_output(2, vector);
  return absl::OkStatus();
}

// Ops that passes substitute for a convolution followed by elementwise
// functions (libs/passes/element_fusion.h); attrs are those of
// _FusedElementwise.
void AddFusedConvolution(OpRegistry& registry, absl::string_view name) {
  registry.Add(OpDefBuilder(name)
                   .Input("input: T")
                   .Input("filter: T")
                   .Input("args: num_args * T")
                   .Output("output: T")
                   .Attr("T: {half, bfloat16, float, double}")
                   .Attr("num_args: int >= 0")
                   .Attr("strides: list(int)")
                   .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
                   .Attr("explicit_paddings: list(int) = []")
                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                   .Attr("dilations: list(int) = [1, 1, 1, 1]")
                   .Attr("fused_ops: list(string) = []")
                   .Attr("fused_names: list(string) = []")
                   .Attr("fused_operands: list(int) = []")
                   .Doc("A convolution, followed by element-wise functions.")
                   .Shape(shapes::Unknown));
}

void AddConvolutions(OpRegistry& registry) {
  AddFusedConvolution(registry, "_FusedConv2D");
  AddFusedConvolution(registry, "_FusedDepthwiseConv2dNative");
  registry.Add(OpDefBuilder("Conv2D")
                   .Input("input: T")
                   .Input("filter: T")
                   .Output("output: T")
                   .Attr("T: {half, bfloat16, float, double, int32}")
                   .Attr("strides: list(int)")
                   .Attr("use_cudnn_on_gpu: bool = true")
                   .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
                   .Attr("explicit_paddings: list(int) = []")
                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                   .Attr("dilations: list(int) = [1, 1, 1, 1]")
                   .Doc("A convolution of images with filters.")
                   .Shape(ConvShape));
  registry.Add(OpDefBuilder("Conv2DBackpropFilter")
                   .Input("input: T")
                   .Input("filter_sizes: int32")
                   .Input("out_backprop: T")
                   .Output("output: T")
                   .Attr("T: {half, bfloat16, float, double}")
                   .Attr("strides: list(int)")
                   .Attr("use_cudnn_on_gpu: bool = true")
                   .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
                   .Attr("explicit_paddings: list(int) = []")
                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                   .Attr("dilations: list(int) = [1, 1, 1, 1]")
                   .Doc("The gradient of Conv2D with respect to its filter.")
                   .Shape(BackpropFilterShape));
  registry.Add(OpDefBuilder("Conv2DBackpropInput")
                   .Input("input_sizes: int32")
                   .Input("filter: T")
                   .Input("out_backprop: T")
                   .Output("output: T")
                   .Attr("T: {half, bfloat16, float, double, int32}")
                   .Attr("strides: list(int)")
                   .Attr("use_cudnn_on_gpu: bool = true")
                   .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
                   .Attr("explicit_paddings: list(int) = []")
                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                   .Attr("dilations: list(int) = [1, 1, 1, 1]")
                   .Doc("The gradient of Conv2D with respect to its input.")
                   .Shape(BackpropInputShape));
  registry.Add(OpDefBuilder("DepthwiseConv2dNative")
                   .Input("input: T")
                   .Input("filter: T")
                   .Output("output: T")
                   .Attr("T: {half, bfloat16, float, double}")
                   .Attr("strides: list(int)")
                   .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
                   .Attr("explicit_paddings: list(int) = []")
                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                   .Attr("dilations: list(int) = [1, 1, 1, 1]")
                   .Doc("A convolution of each channel with its own filters.")
                   .Shape(DepthwiseShape));
  registry.Add(OpDefBuilder("DepthwiseConv2dNativeBackpropFilter")
                   .Input("input: T")
                   .Input("filter_sizes: int32")
                   .Input("out_backprop: T")
                   .Output("output: T")
                   .Attr("T: {half, bfloat16, float, double}")
                   .Attr("strides: list(int)")
                   .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
                   .Attr("explicit_paddings: list(int) = []")
                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                   .Attr("dilations: list(int) = [1, 1, 1, 1]")
                   .Doc("The gradient of DepthwiseConv2dNative with respect to "
                        "its filter.")
                   .Shape(BackpropFilterShape));
  registry.Add(OpDefBuilder("DepthwiseConv2dNativeBackpropInput")
                   .Input("input_sizes: int32")
                   .Input("filter: T")
                   .Input("out_backprop: T")
                   .Output("output: T")
                   .Attr("T: {half, bfloat16, float, double}")
                   .Attr("strides: list(int)")
                   .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
                   .Attr("explicit_paddings: list(int) = []")
                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                   .Attr("dilations: list(int) = [1, 1, 1, 1]")
                   .Doc("The gradient of DepthwiseConv2dNative with respect to "
                        "its input.")
                   .Shape(BackpropInputShape));
}

void AddPools(OpRegistry& registry) {
  registry.Add(OpDefBuilder("AvgPool")
                   .Input("value: T")
                   .Output("output: T")
                   .Attr("ksize: list(int) >= 4")
                   .Attr("strides: list(int) >= 4")
                   .Attr("padding: {'SAME', 'VALID'}")
                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                   .Attr("T: {half, bfloat16, float, double}")
                   .Doc("The mean of each window of an image.")
                   .Shape(PoolShape));
  registry.Add(OpDefBuilder("AvgPoolGrad")
                   .Input("orig_input_shape: int32")
                   .Input("grad: T")
                   .Output("output: T")
                   .Attr("ksize: list(int) >= 4")
                   .Attr("strides: list(int) >= 4")
                   .Attr("padding: {'SAME', 'VALID'}")
                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                   .Attr("T: {half, bfloat16, float, double}")
                   .Doc("The gradient of AvgPool.")
                   .Shape(BackpropInputShape));
  registry.Add(
      OpDefBuilder("MaxPool")
          .Input("input: T")
          .Output("output: T")
          .Attr("T: {half, bfloat16, float, double, int32, int64, uint8, "
                "int16, int8, uint16} = DT_FLOAT")
          .Attr("ksize: list(int) >= 4")
          .Attr("strides: list(int) >= 4")
          .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
          .Attr("explicit_paddings: list(int) = []")
          .Attr("data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'")
          .Doc("The maximum of each window of an image.")
          .Shape(PoolShape));
  registry.Add(OpDefBuilder("MaxPoolGrad")
                   .Input("orig_input: T")
                   .Input("orig_output: T")
                   .Input("grad: T")
                   .Output("output: T")
                   .Attr("ksize: list(int) >= 4")
                   .Attr("strides: list(int) >= 4")
                   .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
                   .Attr("explicit_paddings: list(int) = []")
                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                   .Attr("T: {float, double, int32, uint8, int16, int8, int64, "
                         "bfloat16, uint16, half, uint32, uint64} = DT_FLOAT")
                   .Doc("The gradient of MaxPool.")
                   .Shape(shapes::Unchanged));
  registry.Add(OpDefBuilder("MaxPoolGradGrad")
                   .Input("orig_input: T")
                   .Input("orig_output: T")
                   .Input("grad: T")
                   .Output("output: T")
                   .Attr("ksize: list(int) >= 4")
                   .Attr("strides: list(int) >= 4")
                   .Attr("padding: {'SAME', 'VALID'}")
                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                   .Attr("T: {float, double, int32, uint8, int16, int8, int64, "
                         "bfloat16, uint16, half, uint32, uint64}")
                   .Doc("The gradient of MaxPoolGrad.")
                   .Shape(PoolGradGradShape));
}

void AddNormalization(OpRegistry& registry) {
  registry.Add(
      OpDefBuilder("LRN")
          .Input("input: T")
          .Output("output: T")
          .Attr("depth_radius: int = 5")
          .Attr("bias: float = 1")
          .Attr("alpha: float = 1")
          .Attr("beta: float = 0.5")
          .Attr("T: {half, bfloat16, float} = DT_FLOAT")
          .Doc("Normalizes numbers by the norm of neighboring channels.")
          .Shape(ImageShape));
  registry.Add(OpDefBuilder("LRNGrad")
                   .Input("input_grads: T")
                   .Input("input_image: T")
                   .Input("output_image: T")
                   .Output("output: T")
                   .Attr("depth_radius: int = 5")
                   .Attr("bias: float = 1")
                   .Attr("alpha: float = 1")
                   .Attr("beta: float = 0.5")
                   .Attr("T: {half, bfloat16, float} = DT_FLOAT")
                   .Doc("The gradient of LRN.")
                   .Shape(shapes::Unchanged));
  registry.Add(OpDefBuilder("FusedBatchNorm")
                   .Input("x: T")
                   .Input("scale: T")
                   .Input("offset: T")
                   .Input("mean: T")
                   .Input("variance: T")
                   .Output("y: T")
                   .Output("batch_mean: T")
                   .Output("batch_variance: T")
                   .Output("reserve_space_1: T")
                   .Output("reserve_space_2: T")
                   .Attr("T: {float}")
                   .Attr("epsilon: float = 9.99999975e-05")
                   .Attr("exponential_avg_factor: float = 1")
                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                   .Attr("is_training: bool = true")
                   .Doc("Normalizes each channel over the batch.")
                   .Shape(BatchNormShape));
  registry.Add(OpDefBuilder("FusedBatchNormV2")
                   .Input("x: T")
                   .Input("scale: U")
                   .Input("offset: U")
                   .Input("mean: U")
                   .Input("variance: U")
                   .Output("y: T")
                   .Output("batch_mean: U")
                   .Output("batch_variance: U")
                   .Output("reserve_space_1: U")
                   .Output("reserve_space_2: U")
                   .Attr("T: {half, bfloat16, float}")
                   .Attr("U: {float}")
                   .Attr("epsilon: float = 9.99999975e-05")
                   .Attr("exponential_avg_factor: float = 1")
                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                   .Attr("is_training: bool = true")
                   .Doc("Normalizes each channel over the batch.")
                   .Shape(BatchNormShape));
  registry.Add(
      OpDefBuilder("FusedBatchNormV3")
          .Input("x: T")
          .Input("scale: U")
          .Input("offset: U")
          .Input("mean: U")
          .Input("variance: U")
          .Output("y: T")
          .Output("batch_mean: U")
          .Output("batch_variance: U")
          .Output("reserve_space_1: U")
          .Output("reserve_space_2: U")
          .Output("reserve_space_3: U")
          .Attr("T: {half, bfloat16, float}")
          .Attr("U: {bfloat16, float}")
          .Attr("epsilon: float = 9.99999975e-05")
          .Attr("exponential_avg_factor: float = 1")
          .Attr("data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'")
          .Attr("is_training: bool = true")
          .Doc("Normalizes each channel over the batch.")
          .Shape(BatchNormShape));
  registry.Add(OpDefBuilder("FusedBatchNormGrad")
                   .Input("y_backprop: T")
                   .Input("x: T")
                   .Input("scale: T")
                   .Input("reserve_space_1: T")
                   .Input("reserve_space_2: T")
                   .Output("x_backprop: T")
                   .Output("scale_backprop: T")
                   .Output("offset_backprop: T")
                   .Output("reserve_space_3: T")
                   .Output("reserve_space_4: T")
                   .Attr("T: {float}")
                   .Attr("epsilon: float = 9.99999975e-05")
                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                   .Attr("is_training: bool = true")
                   .Doc("The gradient of FusedBatchNorm.")
                   .Shape(BatchNormGradShape));
  registry.Add(OpDefBuilder("FusedBatchNormGradV2")
                   .Input("y_backprop: T")
                   .Input("x: T")
                   .Input("scale: float")
                   .Input("reserve_space_1: U")
                   .Input("reserve_space_2: U")
                   .Output("x_backprop: T")
                   .Output("scale_backprop: U")
                   .Output("offset_backprop: U")
                   .Output("reserve_space_3: U")
                   .Output("reserve_space_4: U")
                   .Attr("T: {half, bfloat16, float}")
                   .Attr("U: {float}")
                   .Attr("epsilon: float = 9.99999975e-05")
                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                   .Attr("is_training: bool = true")
                   .Doc("The gradient of FusedBatchNormV2.")
                   .Shape(BatchNormGradShape));
  registry.Add(
      OpDefBuilder("FusedBatchNormGradV3")
          .Input("y_backprop: T")
          .Input("x: T")
          .Input("scale: float")
          .Input("reserve_space_1: U")
          .Input("reserve_space_2: U")
          .Input("reserve_space_3: U")
          .Output("x_backprop: T")
          .Output("scale_backprop: U")
          .Output("offset_backprop: U")
          .Output("reserve_space_4: U")
          .Output("reserve_space_5: U")
          .Attr("T: {half, bfloat16, float}")
          .Attr("U: {float}")
          .Attr("epsilon: float = 9.99999975e-05")
          .Attr("data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'")
          .Attr("is_training: bool = true")
          .Doc("The gradient of FusedBatchNormV3.")
          .Shape(BatchNormGradShape));
}

}  // namespace

void RegisterNnWindowOps(OpRegistry& registry) {
  AddConvolutions(registry);
  AddPools(registry);
  AddNormalization(registry);
}

}  // namespace weft
