// Windows that slide over images: the geometry that convolutions and pools have
// in common, and their operands as float or double.
//
// Images are [batch, rows, columns, channels] ("NHWC"); see layout.h.
#ifndef WEFT_LIBS_KERNELS_NN_WINDOWS_H_
#define WEFT_LIBS_KERNELS_NN_WINDOWS_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/kernels/number_types.h"
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

  // Where tap `tap` of window `window` is; outside [0, in) it is padding.
  int64_t At(int64_t window, int64_t tap) const {
    return window * stride - pad + tap * dilation;
  }
  bool IsInside(int64_t at) const { return at >= 0 && at < in; }
  // Whether there is one window, which is the image.
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

// What the attrs of a node say of its windows, in the order of "NHWC" whatever
// its layout.
class WindowAttrs {
 public:
  // From attrs strides, padding, data_format, and ksize, dilations and
  // explicit_paddings where the op has them. UNIMPLEMENTED for other layouts
  // than NHWC and NCHW, for convolutions that stride or dilate across batches
  // or channels, and for pools across batches. INVALID_ARGUMENT for explicit
  // paddings of batches or channels, for those of a pool that are as large as
  // its windows, and for any where the padding is not "EXPLICIT".
  static absl::StatusOr<WindowAttrs> ReadConvolution(
      const OpKernelConstruction& construction);
  static absl::StatusOr<WindowAttrs> ReadPool(
      const OpKernelConstruction& construction);

  // Of a pool.
  int64_t ksize(int dim) const { return ksize_[dim]; }
  int64_t stride(int dim) const { return strides_[dim]; }

  // Dimension `dim` of the image, 1 or 2, of size `in`, under windows of
  // `size` taps. INVALID_ARGUMENT when they do not fit.
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

// INVALID_ARGUMENT unless the tensor has 4 dimensions.
absl::Status CheckImages(const Tensor& tensor, absl::string_view what);

// INVALID_ARGUMENT unless both have 4 dimensions.
absl::Status CheckImageAndFilter(const TensorShape& image,
                                 const TensorShape& filter);
// Of a depthwise convolution: INVALID_ARGUMENT unless the filter is for images
// with so many channels. REQUIRES: it has 4 dimensions.
absl::Status CheckDepthOfFilter(int64_t channels, const TensorShape& filter);

// INVALID_ARGUMENT unless a gradient has the shape of the convolution's output.
absl::Status CheckOutBackprop(const Tensor& gradient,
                              const TensorShape& output);

// A shape that an input gives as int32; 4 sizes.
absl::StatusOr<TensorShape> ShapeOfInput(const OpKernelContext& context, int i);

// Of half or bfloat16 numbers, the same as floats.
absl::StatusOr<Tensor> WidenToFloat(OpKernelContext& context,
                                    const Tensor& tensor);
// Output `i`, which is of half or bfloat16 numbers, becomes `floats`, rounded.
absl::Status NarrowFromFloat(OpKernelContext& context, int i,
                             const Tensor& floats);

// `tensor` itself where its elements are W, else converted to them: to floats.
template <typename W>
absl::StatusOr<Tensor> WidenTo(OpKernelContext& context, const Tensor& tensor) {
  if (tensor.dtype() == DataTypeOf<W>::value) return tensor;
  return WidenToFloat(context, tensor);
}

// Output `i` becomes `wide`, converted to the type of the output.
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
