// WindowKernel is the base of GPU kernels with sliding windows, for both image
// layouts.
#ifndef WEFT_LIBS_KERNELS_CUDA_WINDOW_KERNEL_H_
#define WEFT_LIBS_KERNELS_CUDA_WINDOW_KERNEL_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/cuda/cuda_context.h"
#include "libs/kernels/cuda/registration.h"
#include "libs/kernels/cuda/windows.cu.h"
#include "libs/kernels/nn/convolution.h"
#include "libs/kernels/nn/layout.h"
#include "libs/kernels/nn/windows.h"

namespace weft {

inline cuda::Window WindowOf(const WindowDim& dim) {
  return {.in = dim.in,
          .size = dim.size,
          .stride = dim.stride,
          .dilation = dim.dilation,
          .pad = dim.pad,
          .out = dim.out};
}

// Shapes are checked as with channels last.
class WindowKernel : public OpKernel {
 public:
  WindowKernel(const OpKernelConstruction& construction, WindowAttrs attrs,
               bool channels_first)
      : OpKernel(construction),
        attrs_(std::move(attrs)),
        channels_first_(channels_first),
        is_depthwise_(
            absl::StartsWith(construction.node().type(), "Depthwise")) {}

 protected:
  const WindowAttrs& attrs() const { return attrs_; }

  // Converts the node's shape to channels last, and back. Shapes other than
  // images are unchanged.
  TensorShape ChannelsLast(const TensorShape& x) const {
    if (!channels_first_ || x.rank() != 4) return x;
    return {x.dim(0), x.dim(2), x.dim(3), x.dim(1)};
  }
  TensorShape NodesShape(const TensorShape& x) const {
    if (!channels_first_) return x;
    return {x.dim(0), x.dim(3), x.dim(1), x.dim(2)};
  }

  // A depthwise convolution has one group per channel; its filter has the
  // memory layout of such a convolution.
  absl::StatusOr<Convolution> ConvolutionOf(const TensorShape& image,
                                            const TensorShape& filter) const {
    if (!is_depthwise_) {
      return Convolution::Of(attrs_, ChannelsLast(image), filter);
    }
    RETURN_IF_ERROR(CheckImageAndFilter(image, filter));
    const int64_t channels = ChannelsLast(image).dim(3);
    RETURN_IF_ERROR(CheckDepthOfFilter(channels, filter));
    ASSIGN_OR_RETURN(const TensorShape filters,
                     TensorShape::Create({channels, filter.dim(3)}));
    return Convolution::Of(
        attrs_, ChannelsLast(image),
        {filter.dim(0), filter.dim(1), 1, filters.num_elements()});
  }

  cuda::WindowArgs ArgsOf(DataType type, const Convolution& c) const {
    cuda::WindowArgs args;
    args.type = ElementTypeOf(type);
    args.channels_first = channels_first_;
    args.batch = c.batch;
    args.channels = c.channels;
    args.filters = c.filters;
    args.depth = c.depth;
    args.filters_of_group = c.filters_of_group();
    args.rows = WindowOf(c.rows);
    args.columns = WindowOf(c.columns);
    return args;
  }

  absl::StatusOr<cuda::WindowArgs> PoolOf(DataType type,
                                          const TensorShape& node_shape) const {
    const TensorShape image = ChannelsLast(node_shape);
    if (image.rank() != 4) {
      return absl::InvalidArgumentError(absl::StrCat(
          "tensor_in must be 4-dimensional, but has shape ", image.ToString()));
    }
    ASSIGN_OR_RETURN(const WindowDim rows,
                     attrs_.Dim(1, image.dim(1), attrs_.ksize(1)));
    ASSIGN_OR_RETURN(const WindowDim columns,
                     attrs_.Dim(2, image.dim(2), attrs_.ksize(2)));
    RETURN_IF_ERROR(
        TensorShape::Create({image.dim(0), rows.out, columns.out, image.dim(3)})
            .status());
    cuda::WindowArgs args;
    args.type = ElementTypeOf(type);
    args.channels_first = channels_first_;
    args.batch = image.dim(0);
    args.channels = args.filters = image.dim(3);
    args.rows = WindowOf(rows);
    args.columns = WindowOf(columns);
    return args;
  }
  TensorShape OutputOf(const cuda::WindowArgs& args) const {
    return NodesShape(
        {args.batch, args.rows.out, args.columns.out, args.channels});
  }

  static absl::Status CheckShape(const Tensor& tensor, const TensorShape& shape,
                                 absl::string_view what) {
    if (tensor.shape() == shape) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("Expected ", what, " shape to be ", shape.ToString(),
                     ", but got ", tensor.shape().ToString()));
  }

  absl::Status CheckGradient(const Tensor& gradient,
                             const Convolution& c) const {
    return CheckOutBackprop(gradient, NodesShape(c.output_shape()));
  }

 private:
  const WindowAttrs attrs_;
  const bool channels_first_;
  const bool is_depthwise_;
};

template <typename Kernel, bool kIsPool>
absl::StatusOr<std::unique_ptr<OpKernel>> MakeWindowKernel(
    const OpKernelConstruction& construction) {
  ASSIGN_OR_RETURN(WindowAttrs attrs,
                   kIsPool ? WindowAttrs::ReadPool(construction)
                           : WindowAttrs::ReadConvolution(construction));
  ASSIGN_OR_RETURN(const bool is_first, HasChannelsFirst(construction));
  if (kIsPool && (attrs.ksize(3) != 1 || attrs.stride(3) != 1)) {
    return absl::UnimplementedError(
        "Pooling across channels is not supported on GPUs; place the node on "
        "a CPU.");
  }
  return std::make_unique<Kernel>(construction, std::move(attrs), is_first);
}

template <typename Kernel, bool kIsPool>
void RegisterWindowKernel(KernelRegistry& registry, absl::string_view op,
                          std::vector<std::string> host_memory) {
  KernelDef def = DefOf(op, CudaFloats());
  def.device_type = "GPU";
  def.host_memory = std::move(host_memory);
  registry.Register(std::move(def), MakeWindowKernel<Kernel, kIsPool>);
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_CUDA_WINDOW_KERNEL_H_
