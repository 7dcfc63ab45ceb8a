// MaxPool, AvgPool and their gradients on GPUs, in both layouts. Windows across
// channels are UNIMPLEMENTED here.
#include <string>
#include <utility>
#include <vector>

#include "libs/base/status.h"
#include "libs/kernels/cuda/cuda_context.h"
#include "libs/kernels/cuda/cuda_kernels.h"
#include "libs/kernels/cuda/window_kernel.h"
#include "libs/kernels/cuda/windows.cu.h"

namespace weft {
namespace {

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

}  // namespace

void RegisterCudaPoolKernels(KernelRegistry& registry) {
  RegisterWindowKernel<PoolKernel<&cuda::LaunchMaxPool>, true>(registry,
                                                               "MaxPool", {});
  RegisterWindowKernel<PoolKernel<&cuda::LaunchAvgPool>, true>(registry,
                                                               "AvgPool", {});
  RegisterWindowKernel<MaxPoolGradKernel, true>(registry, "MaxPoolGrad", {});
  RegisterWindowKernel<AvgPoolGradKernel, true>(registry, "AvgPoolGrad",
                                                {"orig_input_shape"});
}

}  // namespace weft
