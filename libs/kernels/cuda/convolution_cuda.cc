// Conv2D, DepthwiseConv2dNative and their gradients on GPUs, in both layouts:
// as matrix products, or directly if that is faster (ConvolutionPlan).
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/status.h"
#include "libs/kernels/cuda/columns.cu.h"
#include "libs/kernels/cuda/convolution_plan.h"
#include "libs/kernels/cuda/cuda_context.h"
#include "libs/kernels/cuda/cuda_kernels.h"
#include "libs/kernels/cuda/math.cu.h"
#include "libs/kernels/cuda/product.h"
#include "libs/kernels/cuda/window_kernel.h"
#include "libs/kernels/cuda/windows.cu.h"

namespace weft {
namespace {

bool IsNarrow(DataType type) { return type == DT_HALF || type == DT_BFLOAT16; }

// Computes a convolution, or a gradient, by matrix products: one chunk of
// images after another, with shared temporary tensors. Created for one run.
//
// Products use images and results as [images, pixels, channels]. With channels
// first, each chunk is transposed before or after.
class ProductConvolution {
 public:
  ProductConvolution(OpKernelContext& context, const cuda::WindowArgs& args,
                     DataType type, const ConvolutionPlan& plan)
      : context_(context),
        args_(args),
        type_(type),
        size_(static_cast<int64_t>(DataTypeSize(type))),
        chunk_(plan.images_at_a_time),
        lays_out_(plan.way == ConvolutionWay::kColumns) {}

  // Returns RESOURCE_EXHAUSTED, before any launch, without memory for the
  // temporary tensors.
  absl::Status Prepare(ConvolutionPass pass) {
    const bool is_wide = pass == ConvolutionPass::kInput && IsNarrow(type_);
    if (lays_out_) {
      RETURN_IF_ERROR(Make(is_wide ? DT_FLOAT : type_,
                           chunk_ * windows() * row(), columns_));
    }
    if (pass == ConvolutionPass::kFilter && IsNarrow(type_)) {
      RETURN_IF_ERROR(Make(DT_FLOAT, taps() * args_.filters, wide_filter_));
    }
    if (!args_.channels_first) return absl::OkStatus();
    RETURN_IF_ERROR(Make(type_, chunk_ * image_size(), turned_images_));
    return Make(type_, chunk_ * result_size(), turned_result_);
  }

  absl::Status Forward(const void* images, const void* filter, void* result) {
    return ForEachChunk([&](int64_t first, int64_t count) {
      const void* const columns =
          ColumnsOf(At(images, first * image_size()), count);
      void* const out = At(result, first * result_size());
      void* const chunk =
          args_.channels_first ? turned_result_.mutable_data() : out;
      CudaProduct product = OfGroups();
      product.m = count * windows();
      product.k = taps();
      product.a_stride = row();
      product.a_batch = taps();
      product.b_stride = product.c_stride = args_.filters;
      product.b_batch = product.c_batch = product.n = args_.filters_of_group;
      RETURN_IF_ERROR(
          MultiplyMatrices(context_, product, columns, filter, chunk));
      if (args_.channels_first) {
        Turn(count, windows(), args_.filters, chunk, out);
      }
      return LaunchStatus();
    });
  }

  absl::Status InputGradient(const void* filter, const void* gradient,
                             void* images) {
    return ForEachChunk([&](int64_t first, int64_t count) {
      void* const out = At(images, first * image_size());
      void* const chunk =
          args_.channels_first ? turned_images_.mutable_data() : out;
      CudaProduct product = OfGroups();
      product.transpose_b = true;
      product.is_wide = lays_out_;
      product.m = count * windows();
      product.n = product.c_batch = taps();
      product.c_stride = row();
      product.k = product.a_batch = product.b_batch = args_.filters_of_group;
      product.a_stride = product.b_stride = args_.filters;
      RETURN_IF_ERROR(MultiplyMatrices(
          context_, product, ResultOf(gradient, first, count), filter,
          lays_out_ ? columns_.mutable_data() : chunk));
      if (lays_out_) {
        LaunchFromColumns(ChunkArgs(count), columns_.data(), chunk, stream());
      }
      if (args_.channels_first) {
        Turn(count, pixels(), args_.channels, chunk, out);
      }
      return LaunchStatus();
    });
  }

  absl::Status FilterGradient(const void* images, const void* gradient,
                              void* filter) {
    const bool is_wide = IsNarrow(type_);
    RETURN_IF_ERROR(ForEachChunk([&](int64_t first, int64_t count) {
      const void* const columns =
          ColumnsOf(At(images, first * image_size()), count);
      CudaProduct product = OfGroups();
      product.transpose_a = true;
      product.add = first > 0;
      product.is_wide = is_wide;
      product.m = product.a_batch = taps();
      product.k = count * windows();
      product.a_stride = row();
      product.b_stride = product.c_stride = args_.filters;
      product.b_batch = product.c_batch = product.n = args_.filters_of_group;
      return MultiplyMatrices(context_, product, columns,
                              ResultOf(gradient, first, count),
                              is_wide ? wide_filter_.mutable_data() : filter);
    }));
    if (!is_wide) return absl::OkStatus();
    cuda::LaunchCast(cuda::ElementType::kFloat, ElementTypeOf(type_),
                     taps() * args_.filters, 0, wide_filter_.data(), filter,
                     stream());
    return LaunchStatus();
  }

 private:
  int64_t windows() const { return args_.rows.out * args_.columns.out; }
  int64_t pixels() const { return args_.rows.in * args_.columns.in; }
  int64_t taps() const {
    return args_.rows.size * args_.columns.size * args_.depth;
  }
  int64_t groups() const { return args_.channels / args_.depth; }
  // The number of elements of a window, in all groups.
  int64_t row() const { return groups() * taps(); }
  int64_t image_size() const { return pixels() * args_.channels; }
  int64_t result_size() const { return windows() * args_.filters; }
  cudaStream_t stream() const { return StreamOf(context_); }

  const void* At(const void* data, int64_t element) const {
    return static_cast<const char*>(data) + element * size_;
  }
  void* At(void* data, int64_t element) const {
    return static_cast<char*>(data) + element * size_;
  }

  absl::Status Make(DataType type, int64_t elements, Tensor& tensor) {
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Create({elements}));
    ASSIGN_OR_RETURN(tensor, context_.AllocateTemp(type, shape));
    return absl::OkStatus();
  }

  template <typename F>
  absl::Status ForEachChunk(F f) const {
    for (int64_t first = 0; first < args_.batch; first += chunk_) {
      RETURN_IF_ERROR(f(first, std::min(chunk_, args_.batch - first)));
    }
    return absl::OkStatus();
  }

  cuda::WindowArgs ChunkArgs(int64_t count) const {
    cuda::WindowArgs args = args_;
    args.batch = count;
    return args;
  }

  // One product per group.
  CudaProduct OfGroups() const {
    CudaProduct product;
    product.dtype = type_;
    product.batches = groups();
    return product;
  }

  void Turn(int64_t count, int64_t rows, int64_t columns, const void* from,
            void* to) const {
    cuda::LaunchTransposition(size_, count, rows, columns, from, to, stream());
  }

  // [count, windows, groups, taps], of `count` images.
  const void* ColumnsOf(const void* images, int64_t count) {
    if (args_.channels_first) {
      Turn(count, args_.channels, pixels(), images,
           turned_images_.mutable_data());
      images = turned_images_.data();
    }
    if (!lays_out_) return images;
    cuda::LaunchToColumns(size_, ChunkArgs(count), images,
                          columns_.mutable_data(), stream());
    return columns_.data();
  }

  // [count, windows, filters], of images from `first` on.
  const void* ResultOf(const void* data, int64_t first, int64_t count) {
    const void* const result = At(data, first * result_size());
    if (!args_.channels_first) return result;
    Turn(count, args_.filters, windows(), result,
         turned_result_.mutable_data());
    return turned_result_.data();
  }

  OpKernelContext& context_;
  const cuda::WindowArgs args_;
  const DataType type_;
  const int64_t size_;  // of an element
  const int64_t chunk_;
  const bool lays_out_;
  Tensor columns_;
  Tensor wide_filter_;
  Tensor turned_images_, turned_result_;
};

// Calls `by_products` with a ProductConvolution if the plan says so and there
// is memory for it; otherwise `directly`.
template <typename Products, typename Direct>
absl::Status Convolve(OpKernelContext& context, ConvolutionPass pass,
                      const cuda::WindowArgs& args, DataType type,
                      Products by_products, Direct directly) {
  const auto size = static_cast<int64_t>(DataTypeSize(type));
  const bool is_wide = pass == ConvolutionPass::kInput && IsNarrow(type);
  const ConvolutionPlan plan =
      PlanConvolution(pass, args, is_wide ? int64_t{sizeof(float)} : size);
  if (plan.way != ConvolutionWay::kDirect) {
    ProductConvolution products(context, args, type, plan);
    const absl::Status prepared = products.Prepare(pass);
    if (prepared.ok()) return by_products(products);
    if (!absl::IsResourceExhausted(prepared)) return prepared;
  }
  directly();
  return LaunchStatus();
}

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
    const cuda::WindowArgs args = ArgsOf(images.dtype(), c);
    return Convolve(
        context, ConvolutionPass::kForward, args, images.dtype(),
        [&](ProductConvolution& products) {
          return products.Forward(images.data(), filter.data(),
                                  out->mutable_data());
        },
        [&] {
          LaunchConvolution(args, images.data(), filter.data(),
                            out->mutable_data(), StreamOf(context));
        });
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
    const cuda::WindowArgs args = ArgsOf(filter.dtype(), c);
    return Convolve(
        context, ConvolutionPass::kInput, args, filter.dtype(),
        [&](ProductConvolution& products) {
          return products.InputGradient(filter.data(), gradient.data(),
                                        out->mutable_data());
        },
        [&] {
          LaunchConvolutionInputGradient(args, filter.data(), gradient.data(),
                                         out->mutable_data(),
                                         StreamOf(context));
        });
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
    const cuda::WindowArgs args = ArgsOf(images.dtype(), c);
    return Convolve(
        context, ConvolutionPass::kFilter, args, images.dtype(),
        [&](ProductConvolution& products) {
          return products.FilterGradient(images.data(), gradient.data(),
                                         out->mutable_data());
        },
        [&] {
          LaunchConvolutionFilterGradient(args, images.data(), gradient.data(),
                                          out->mutable_data(),
                                          StreamOf(context));
        });
  }
};

}  // namespace

void RegisterCudaConvolutionKernels(KernelRegistry& registry) {
  for (const std::string op : {"Conv2D", "DepthwiseConv2dNative"}) {
    RegisterWindowKernel<Conv2DKernel, false>(registry, op, {});
    RegisterWindowKernel<Conv2DInputGradientKernel, false>(
        registry, op + "BackpropInput", {"input_sizes"});
    RegisterWindowKernel<Conv2DFilterGradientKernel, false>(
        registry, op + "BackpropFilter", {"filter_sizes"});
  }
}

}  // namespace weft
