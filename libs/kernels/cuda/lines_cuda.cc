// Cumsum, Cumprod, TopK, TopKV2, LRN and LRNGrad on GPUs.
#include <memory>
#include <string>
#include <utility>

#include "libs/base/status.h"
#include "libs/kernels/cuda/cuda_context.h"
#include "libs/kernels/cuda/cuda_kernels.h"
#include "libs/kernels/cuda/lines.cu.h"
#include "libs/kernels/cuda/registration.h"
#include "libs/kernels/math/axes.h"
#include "libs/kernels/nn/operand_checks.h"

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
    ASSIGN_OR_RETURN(const int axis, ScanAxis(context.input(1), x.rank()));
    ASSIGN_OR_RETURN(Tensor * out,
                     context.ForwardOrAllocate({0}, 0, x.shape()));
    if (x.num_elements() == 0) return absl::OkStatus();
    cuda::ScanArgs args = args_;
    args.type = ElementTypeOf(x.dtype());
    args.size = x.dim(axis);
    args.inner = 1;
    for (int i = axis + 1; i < x.rank(); ++i) args.inner *= x.dim(i);
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
    ASSIGN_OR_RETURN(const TensorShape shape, TopKShape(context, k_));
    ASSIGN_OR_RETURN(Tensor * values, context.AllocateOutput(0, shape));
    ASSIGN_OR_RETURN(Tensor * indices, context.AllocateOutput(1, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    const int64_t columns = input.dim(input.rank() - 1);
    LaunchTopK(ElementTypeOf(input.dtype()), indices->dtype() == DT_INT64,
               input.num_elements() / columns, columns,
               shape.dim(shape.rank() - 1), input.data(),
               values->mutable_data(), indices->mutable_data(),
               StreamOf(context));
    return LaunchStatus();
  }

 private:
  const int64_t k_;
};

// LRN and its gradient, whose inputs are the gradient, LRN's input and its
// result.
class LrnKernel : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    ASSIGN_OR_RETURN(const LrnAttrs attrs, LrnAttrs::Read(construction));
    cuda::LrnArgs args;
    args.radius = attrs.radius;
    args.bias = attrs.bias;
    args.alpha = attrs.alpha;
    args.beta = attrs.beta;
    return std::make_unique<LrnKernel>(construction, args);
  }
  LrnKernel(const OpKernelConstruction& construction, const cuda::LrnArgs& args)
      : OpKernel(construction), args_(args) {}

  absl::Status Compute(OpKernelContext& context) override {
    RETURN_IF_ERROR(CheckLrnInputs(context));
    const Tensor& first = context.input(0);
    const bool is_gradient = context.num_inputs() == 3;
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
