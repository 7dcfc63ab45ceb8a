// Cumsum, Cumprod, TopK, TopKV2, LRN and LRNGrad on GPUs.
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/cuda/cuda_context.h"
#include "libs/kernels/cuda/cuda_kernels.h"
#include "libs/kernels/cuda/lines.cu.h"
#include "libs/kernels/cuda/registration.h"
#include "libs/kernels/math/axes.h"
#include "libs/kernels/nn/windows.h"

namespace weft {
namespace {

// The axis lies in host memory.
class ScanKernel : public OpKernel {
 public:
  ScanKernel(const OpKernelConstruction& construction, bool multiplies)
      : OpKernel(construction) {
    args_.multiplies = multiplies;
    args_.exclusive = construction.GetAttr<bool>("exclusive").value_or(false);
    args_.reverse = construction.GetAttr<bool>("reverse").value_or(false);
  }

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& x = context.input(0);
    ASSIGN_OR_RETURN(int64_t axis,
                     IntegerScalar(context.input(1), "ScanOp: axis"));
    const int rank = x.rank();
    if (axis < -rank || axis >= rank) {
      return absl::InvalidArgumentError(
          absl::StrCat("ScanOp: Expected scan axis in the range [", -rank, ", ",
                       rank, "), but got ", axis));
    }
    if (axis < 0) axis += rank;
    ASSIGN_OR_RETURN(Tensor * out,
                     context.ForwardOrAllocate({0}, 0, x.shape()));
    if (x.num_elements() == 0) return absl::OkStatus();
    cuda::ScanArgs args = args_;
    args.type = ElementTypeOf(x.dtype());
    args.size = x.dim(static_cast<int>(axis));
    args.inner = 1;
    for (int i = static_cast<int>(axis) + 1; i < rank; ++i) {
      args.inner *= x.dim(i);
    }
    args.outer = x.num_elements() / args.size / args.inner;
    LaunchScan(args, x.data(), out->mutable_data(), StreamOf(context));
    return LaunchStatus();
  }

 private:
  cuda::ScanArgs args_;
};

// TopK's k is an attribute, TopKV2's an input in host memory.
class TopKKernel : public OpKernel {
 public:
  explicit TopKKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        k_(construction.GetAttr<int64_t>("k").value_or(0)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    int64_t k = k_;
    if (context.num_inputs() == 2) {
      ASSIGN_OR_RETURN(k, ReadK(context.input(1)));
    }
    if (input.rank() < 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input must be >= 1-D, got shape ", input.shape().ToString()));
    }
    TensorShape shape = input.shape();
    const int64_t columns = shape.dim(shape.rank() - 1);
    if (columns < k) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input must have at least k columns. Had ", columns, ", needed ", k));
    }
    shape.set_dim(shape.rank() - 1, k);
    ASSIGN_OR_RETURN(Tensor * values, context.AllocateOutput(0, shape));
    ASSIGN_OR_RETURN(Tensor * indices, context.AllocateOutput(1, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    LaunchTopK(ElementTypeOf(input.dtype()), indices->dtype() == DT_INT64,
               input.num_elements() / columns, columns, k, input.data(),
               values->mutable_data(), indices->mutable_data(),
               StreamOf(context));
    return LaunchStatus();
  }

 private:
  static absl::StatusOr<int64_t> ReadK(const Tensor& tensor) {
    if (!tensor.shape().IsScalar()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "k must be scalar, got shape ", tensor.shape().ToString()));
    }
    ASSIGN_OR_RETURN(const Dims values, IntegersOf(tensor));
    if (values[0] >= 0) return values[0];
    return absl::InvalidArgumentError(
        absl::StrCat("Need k >= 0, got ", values[0]));
  }

  const int64_t k_;
};

// LRN and its gradient, whose inputs are the gradient, LRN's input and its
// result.
class LrnKernel : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    cuda::LrnArgs args;
    ASSIGN_OR_RETURN(args.radius,
                     construction.GetAttr<int64_t>("depth_radius"));
    ASSIGN_OR_RETURN(args.bias, construction.GetAttr<float>("bias"));
    ASSIGN_OR_RETURN(args.alpha, construction.GetAttr<float>("alpha"));
    ASSIGN_OR_RETURN(args.beta, construction.GetAttr<float>("beta"));
    if (args.radius < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "depth_radius = ", args.radius, " must not be negative"));
    }
    return std::make_unique<LrnKernel>(construction, args);
  }
  LrnKernel(const OpKernelConstruction& construction, const cuda::LrnArgs& args)
      : OpKernel(construction), args_(args) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& first = context.input(0);
    const bool is_gradient = context.num_inputs() == 3;
    for (int i = 0; i < context.num_inputs(); ++i) {
      RETURN_IF_ERROR(
          CheckImages(context.input(i), is_gradient ? "inputs" : "in"));
      if (context.input(i).shape() == first.shape()) continue;
      return absl::InvalidArgumentError(
          "input_grads, input_image, and out_image should have the same shape");
    }
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, first.shape()));
    if (first.num_elements() == 0) return absl::OkStatus();
    cuda::LrnArgs args = args_;
    args.channels = first.dim(3);
    args.pixels = first.num_elements() / args.channels;
    const cuda::ElementType type = ElementTypeOf(first.dtype());
    if (is_gradient) {
      LaunchLrnGradient(type, args, first.data(), context.input(1).data(),
                        context.input(2).data(), out->mutable_data(),
                        StreamOf(context));
    } else {
      LaunchLrn(type, args, first.data(), out->mutable_data(),
                StreamOf(context));
    }
    return LaunchStatus();
  }

 private:
  const cuda::LrnArgs args_;
};

}  // namespace

void RegisterCudaLineKernels(KernelRegistry& registry) {
  for (const bool multiplies : {false, true}) {
    KernelDef def = DefOf(multiplies ? "Cumprod" : "Cumsum", CudaNumbers());
    def.host_memory = {"axis"};
    RegisterForGpu<ScanKernel>(registry, std::move(def), multiplies);
  }
  RegisterForGpu<TopKKernel>(registry, DefOf("TopK", CudaNumbers()));
  KernelDef top_k = DefOf("TopKV2", CudaNumbers());
  top_k.types["index_type"] = {DT_INT32, DT_INT64};
  top_k.host_memory = {"k"};
  RegisterForGpu<TopKKernel>(registry, std::move(top_k));
  for (const char* op : {"LRN", "LRNGrad"}) {
    KernelDef def = DefOf(op, {DT_FLOAT, DT_HALF, DT_BFLOAT16});
    def.device_type = "GPU";
    registry.Register(std::move(def), LrnKernel::Make);
  }
}

}  // namespace weft
