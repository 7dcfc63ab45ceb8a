// Conv2D, MaxPool, AvgPool and their gradients on GPUs, in both layouts.
// Windows across channels are UNIMPLEMENTED here.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/cuda/cuda_context.h"
#include "libs/kernels/cuda/cuda_kernels.h"
#include "libs/kernels/cuda/registration.h"
#include "libs/kernels/cuda/windows.cu.h"
#include "libs/kernels/nn/convolution.h"
#include "libs/kernels/nn/layout.h"
#include "libs/kernels/nn/windows.h"

namespace weft {
namespace {

cuda::Window WindowOf(const WindowDim& dim) {
  return {.in = dim.in,
          .size = dim.size,
          .stride = dim.stride,
          .dilation = dim.dilation,
          .pad = dim.pad,
          .out = dim.out};
}

// A kernel of windows; shapes are checked as with channels last.
class WindowKernel : public OpKernel {
 public:
  WindowKernel(const OpKernelConstruction& construction, WindowAttrs attrs,
               bool channels_first)
      : OpKernel(construction),
        attrs_(std::move(attrs)),
        channels_first_(channels_first) {}

 protected:
  const WindowAttrs& attrs() const { return attrs_; }

  // The node's shape with channels last, and back. Others than images stay.
  TensorShape ChannelsLast(const TensorShape& x) const {
    if (!channels_first_ || x.rank() != 4) return x;
    return {x.dim(0), x.dim(2), x.dim(3), x.dim(1)};
  }
  TensorShape NodesShape(const TensorShape& x) const {
    if (!channels_first_) return x;
    return {x.dim(0), x.dim(3), x.dim(1), x.dim(2)};
  }

  absl::StatusOr<Convolution> ConvolutionOf(const TensorShape& image,
                                            const TensorShape& filter) const {
    return Convolution::Of(attrs_, ChannelsLast(image), filter);
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
    const TensorShape shape = NodesShape(c.output_shape());
    if (gradient.shape() == shape) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "out_backprop must have the shape of the output, ", shape.ToString(),
        ", but has ", gradient.shape().ToString()));
  }

 private:
  const WindowAttrs attrs_;
  const bool channels_first_;
};

class Conv2DKernel : public WindowKernel {
 public:
  using WindowKernel::WindowKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& images = context.input(0);
    const Tensor& filter = context.input(1);
    ASSIGN_OR_RETURN(const Convolution c,
                     ConvolutionOf(images.shape(), filter.shape()));
    ASSIGN_OR_RETURN(Tensor * out,
                     context.AllocateOutput(0, NodesShape(c.output_shape())));
    if (out->num_elements() == 0) return absl::OkStatus();
    cuda::LaunchConvolution(ArgsOf(images.dtype(), c), images.data(),
                            filter.data(), out->mutable_data(),
                            StreamOf(context));
    return LaunchStatus();
  }
};

class Conv2DInputGradientKernel : public WindowKernel {
 public:
  using WindowKernel::WindowKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& filter = context.input(1);
    const Tensor& gradient = context.input(2);
    ASSIGN_OR_RETURN(const TensorShape shape, ShapeOfInput(context, 0));
    ASSIGN_OR_RETURN(const Convolution c, ConvolutionOf(shape, filter.shape()));
    RETURN_IF_ERROR(CheckGradient(gradient, c));
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    if (out->num_elements() == 0) return absl::OkStatus();
    cuda::LaunchConvolutionInputGradient(
        ArgsOf(filter.dtype(), c), filter.data(), gradient.data(),
        out->mutable_data(), StreamOf(context));
    return LaunchStatus();
  }
};

class Conv2DFilterGradientKernel : public WindowKernel {
 public:
  using WindowKernel::WindowKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& images = context.input(0);
    const Tensor& gradient = context.input(2);
    ASSIGN_OR_RETURN(const TensorShape shape, ShapeOfInput(context, 1));
    ASSIGN_OR_RETURN(const Convolution c, ConvolutionOf(images.shape(), shape));
    RETURN_IF_ERROR(CheckGradient(gradient, c));
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    if (out->num_elements() == 0) return absl::OkStatus();
    cuda::LaunchConvolutionFilterGradient(
        ArgsOf(images.dtype(), c), images.data(), gradient.data(),
        out->mutable_data(), StreamOf(context));
    return LaunchStatus();
  }
};

template <decltype(&cuda::LaunchMaxPool) kLaunch>
class PoolKernel : public WindowKernel {
 public:
  using WindowKernel::WindowKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& images = context.input(0);
    ASSIGN_OR_RETURN(const cuda::WindowArgs args,
                     PoolOf(images.dtype(), images.shape()));
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, OutputOf(args)));
    if (out->num_elements() == 0) return absl::OkStatus();
    kLaunch(args, images.data(), out->mutable_data(), StreamOf(context));
    return LaunchStatus();
  }
};

class MaxPoolGradKernel : public WindowKernel {
 public:
  using WindowKernel::WindowKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& images = context.input(0);
    const Tensor& gradient = context.input(2);
    ASSIGN_OR_RETURN(const cuda::WindowArgs args,
                     PoolOf(images.dtype(), images.shape()));
    RETURN_IF_ERROR(
        CheckShape(context.input(1), OutputOf(args), "orig_output"));
    RETURN_IF_ERROR(CheckShape(gradient, OutputOf(args), "grad"));
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, images.shape()));
    if (out->num_elements() == 0) return absl::OkStatus();
    cuda::LaunchMaxPoolGradient(args, images.data(), gradient.data(),
                                out->mutable_data(), StreamOf(context));
    return LaunchStatus();
  }
};

class AvgPoolGradKernel : public WindowKernel {
 public:
  using WindowKernel::WindowKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& gradient = context.input(1);
    ASSIGN_OR_RETURN(const TensorShape shape, ShapeOfInput(context, 0));
    ASSIGN_OR_RETURN(const cuda::WindowArgs args,
                     PoolOf(gradient.dtype(), shape));
    RETURN_IF_ERROR(CheckShape(gradient, OutputOf(args), "grad"));
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    if (out->num_elements() == 0) return absl::OkStatus();
    cuda::LaunchAvgPoolGradient(args, gradient.data(), out->mutable_data(),
                                StreamOf(context));
    return LaunchStatus();
  }
};

template <typename Kernel, bool kIsPool>
absl::StatusOr<std::unique_ptr<OpKernel>> Make(
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
void Register(KernelRegistry& registry, absl::string_view op,
              std::vector<std::string> host_memory) {
  KernelDef def = DefOf(op, CudaFloats());
  def.device_type = "GPU";
  def.host_memory = std::move(host_memory);
  registry.Register(std::move(def), Make<Kernel, kIsPool>);
}

}  // namespace

void RegisterCudaImageKernels(KernelRegistry& registry) {
  Register<Conv2DKernel, false>(registry, "Conv2D", {});
  Register<Conv2DInputGradientKernel, false>(registry, "Conv2DBackpropInput",
                                             {"input_sizes"});
  Register<Conv2DFilterGradientKernel, false>(registry, "Conv2DBackpropFilter",
                                              {"filter_sizes"});
  Register<PoolKernel<&cuda::LaunchMaxPool>, true>(registry, "MaxPool", {});
  Register<PoolKernel<&cuda::LaunchAvgPool>, true>(registry, "AvgPool", {});
  Register<MaxPoolGradKernel, true>(registry, "MaxPoolGrad", {});
  Register<AvgPoolGradKernel, true>(registry, "AvgPoolGrad",
                                    {"orig_input_shape"});
}

}  // namespace weft
