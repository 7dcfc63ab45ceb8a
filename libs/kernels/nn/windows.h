// Sliding windows over images: the geometry of convolutions and pools, and
// their operands as float or double.
//
// Images are [batch, rows, columns, channels] ("NHWC"); see layout.h.
#ifndef WEFT_LIBS_KERNELS_NN_WINDOWS_H_
#define WEFT_LIBS_KERNELS_NN_WINDOWS_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/op_kernel.h"
#include "libs/tensor/tensor.h"

namespace weft {

// One dimension of the image.
struct WindowDim {
  int64_t in = 0;        // size of the image
  int64_t size = 1;      // of the window, in taps
  int64_t stride = 1;    // from window to window
  int64_t dilation = 1;  // from tap to tap
  int64_t pad = 0;       // before the image
  int64_t out = 0;       // windows

  // The position of tap `tap` of window `window`; outside [0, in) it is
  // padding.
  int64_t At(int64_t window, int64_t tap) const {
    return window * stride - pad + tap * dilation;
  }
  bool IsInside(int64_t at) const { return at >= 0 && at < in; }
  // Returns whether there is a single window that covers the image.
  bool is_whole() const {
    return out == 1 && pad == 0 && size == in && (size == 1 || dilation == 1);
  }

  friend bool operator==(const WindowDim&, const WindowDim&) = default;
};

// The taps [begin, end) of a window that are inside the image.
struct TapRange {
  int64_t begin, end;

  static TapRange Of(const WindowDim& dim, int64_t window) {
    const int64_t first = dim.At(window, 0);
    const auto taps_before = [&](int64_t at) {
      if (at <= first) return int64_t{0};
      return std::min(dim.size, (at - first - 1) / dim.dilation + 1);
    };
    return {taps_before(0), taps_before(dim.in)};
  }
};

// WindowAttrs holds the window attributes of a node, in "NHWC" order whatever
// the node's layout.
class WindowAttrs {
 public:
  // Reads attrs strides, padding and data_format, and ksize, dilations and
  // explicit_paddings if the op has them. Returns UNIMPLEMENTED for layouts
  // other than NHWC and NCHW, for convolutions with strides or dilations across
  // batches or channels, and for pools across batches. Returns INVALID_ARGUMENT
  // for explicit paddings of batches or channels, for paddings of a pool that
  // are as large as its windows, and for explicit paddings if the padding is
  // not "EXPLICIT".
  static absl::StatusOr<WindowAttrs> ReadConvolution(
      const OpKernelConstruction& construction);
  static absl::StatusOr<WindowAttrs> ReadPool(
      const OpKernelConstruction& construction);

  // The window size of a pool.
  int64_t ksize(int dim) const { return ksize_[dim]; }
  int64_t stride(int dim) const { return strides_[dim]; }

  // Dimension `dim` (1 or 2) of an image of size `in`, with windows of `size`
  // taps. Returns INVALID_ARGUMENT if they do not fit.
  absl::StatusOr<WindowDim> Dim(int dim, int64_t in, int64_t size) const;

 private:
  static absl::StatusOr<WindowAttrs> Read(
      const OpKernelConstruction& construction);

  std::vector<int64_t> ksize_ = {1, 1, 1, 1};
  std::vector<int64_t> strides_ = {1, 1, 1, 1};
  std::vector<int64_t> dilations_ = {1, 1, 1, 1};
  std::vector<int64_t> explicit_paddings_;
  std::string padding_;
};

// Returns INVALID_ARGUMENT unless the tensor has 4 dimensions.
absl::Status CheckImages(const Tensor& tensor, absl::string_view what);

// Returns INVALID_ARGUMENT unless both have 4 dimensions.
absl::Status CheckImageAndFilter(const TensorShape& image,
                                 const TensorShape& filter);
// For depthwise convolutions: returns INVALID_ARGUMENT unless the filter is for
// images with `channels` channels. REQUIRES: it has 4 dimensions.
absl::Status CheckDepthOfFilter(int64_t channels, const TensorShape& filter);

// Returns INVALID_ARGUMENT unless a gradient has the shape of the convolution's
// output.
absl::Status CheckOutBackprop(const Tensor& gradient,
                              const TensorShape& output);

// The shape in an input of 4 int32 sizes.
absl::StatusOr<TensorShape> ShapeOfInput(const OpKernelContext& context, int i);

// Converts half or bfloat16 numbers to floats.
absl::StatusOr<Tensor> WidenToFloat(OpKernelContext& context,
                                    const Tensor& tensor);
// Sets output `i`, of half or bfloat16 numbers, to `floats`, rounded.
absl::Status NarrowFromFloat(OpKernelContext& context, int i,
                             const Tensor& floats);

// Returns `tensor` if its elements are W, otherwise its conversion to float.
template <typename W>
absl::StatusOr<Tensor> WidenTo(OpKernelContext& context, const Tensor& tensor) {
  if (tensor.dtype() == DataTypeOf<W>::value) return tensor;
  return WidenToFloat(context, tensor);
}

// Sets output `i` to `wide`, converted to the output's type.
template <typename W>
absl::Status NarrowTo(OpKernelContext& context, int i, Tensor wide) {
  if (context.output_type(i) != wide.dtype()) {
    return NarrowFromFloat(context, i, wide);
  }
  context.SetOutput(i, std::move(wide));
  return absl::OkStatus();
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_NN_WINDOWS_H_
