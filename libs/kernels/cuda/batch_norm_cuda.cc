// FusedBatchNorm, V2 and V3, of floats, with their gradients, on GPUs. An empty
// batch is UNIMPLEMENTED here: its means are NaN.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/cuda/batch_norm.cu.h"
#include "libs/kernels/cuda/cuda_context.h"
#include "libs/kernels/cuda/cuda_kernels.h"
#include "libs/kernels/cuda/math.cu.h"
#include "libs/kernels/cuda/registration.h"
#include "libs/kernels/nn/operand_checks.h"

namespace weft {
namespace {

const float* Floats(const Tensor& tensor) {
  return static_cast<const float*>(tensor.data());
}

// The base of both kernels: attrs, and the shape for launches.
class NormKernel : public OpKernel {
 public:
  explicit NormKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        format_(
            construction.GetAttr<std::string>("data_format").value_or("NHWC")) {
    args_.epsilon = construction.GetAttr<float>("epsilon").value_or(1e-4f);
    args_.is_training =
        construction.GetAttr<bool>("is_training").value_or(true);
    args_.average_factor =
        construction.GetAttr<float>("exponential_avg_factor").value_or(1);
  }

 protected:
  absl::StatusOr<cuda::BatchNormArgs> ArgsOf(const Tensor& x) const {
    const int rank = static_cast<int>(format_.size());
    if (x.rank() != rank) {
      return absl::InvalidArgumentError(
          absl::StrCat("input must be ", rank, "-dimensional, but has shape ",
                       x.shape().ToString()));
    }
    if (x.num_elements() == 0) {
      return absl::UnimplementedError(
          "An empty batch is not normalised on GPUs; place the node on a CPU.");
    }
    cuda::BatchNormArgs args = args_;
    const bool is_first = format_[1] == 'C';
    args.channels = x.dim(is_first ? 1 : rank - 1);
    args.outer = is_first ? x.dim(0) : x.num_elements() / args.channels;
    args.inner = x.num_elements() / args.channels / args.outer;
    return args;
  }

  static absl::StatusOr<float*> Allocate(OpKernelContext& context, int i,
                                         const TensorShape& shape) {
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(i, shape));
    return static_cast<float*>(output->mutable_data());
  }

 private:
  const std::string format_;
  cuda::BatchNormArgs args_;
};

class BatchNormKernel : public NormKernel {
 public:
  using NormKernel::NormKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& x = context.input(0);
    ASSIGN_OR_RETURN(const cuda::BatchNormArgs args, ArgsOf(x));
    RETURN_IF_ERROR(
        CheckChannels(context.input(1).shape(), args.channels, "scale"));
    RETURN_IF_ERROR(
        CheckChannels(context.input(2).shape(), args.channels, "offset"));
    if (!args.is_training || args.average_factor != 1) {
      RETURN_IF_ERROR(
          CheckChannels(context.input(3).shape(), args.channels, "mean"));
      RETURN_IF_ERROR(
          CheckChannels(context.input(4).shape(), args.channels, "variance"));
    }
    const TensorShape channels({args.channels});
    cuda::BatchNormTensors t;
    t.x = Floats(x);
    t.scale = Floats(context.input(1));
    t.offset = Floats(context.input(2));
    t.running_mean = Floats(context.input(3));
    t.running_variance = Floats(context.input(4));
    ASSIGN_OR_RETURN(t.y, Allocate(context, 0, x.shape()));
    ASSIGN_OR_RETURN(t.new_mean, Allocate(context, 1, channels));
    ASSIGN_OR_RETURN(t.new_variance, Allocate(context, 2, channels));
    ASSIGN_OR_RETURN(t.mean, Allocate(context, 3, channels));
    ASSIGN_OR_RETURN(t.variance, Allocate(context, 4, channels));
    float* kept = nullptr;  // reserved by TensorFlow
    if (context.num_outputs() > 5) {
      ASSIGN_OR_RETURN(kept, Allocate(context, 5, {}));
    }
    cudaStream_t const stream = StreamOf(context);
    cuda::LaunchBatchNorm(args, t, stream);
    if (kept != nullptr) cuda::LaunchBytes(0, sizeof(float), kept, stream);
    return LaunchStatus();
  }
};

class BatchNormGradKernel : public NormKernel {
 public:
  using NormKernel::NormKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& x = context.input(1);
    RETURN_IF_ERROR(CheckBackprop(x.shape(), context.input(0).shape()));
    ASSIGN_OR_RETURN(const cuda::BatchNormArgs args, ArgsOf(x));
    for (int i = 2; i < 5; ++i) {
      RETURN_IF_ERROR(CheckChannels(context.input(i).shape(), args.channels,
                                    "scale and reserves"));
    }
    const TensorShape channels({args.channels});
    cuda::BatchNormGradTensors t;
    t.dy = Floats(context.input(0));
    t.x = Floats(x);
    t.scale = Floats(context.input(2));
    t.mean = Floats(context.input(3));
    t.variance = Floats(context.input(4));
    ASSIGN_OR_RETURN(t.dx, Allocate(context, 0, x.shape()));
    ASSIGN_OR_RETURN(t.dscale, Allocate(context, 1, channels));
    ASSIGN_OR_RETURN(t.doffset, Allocate(context, 2, channels));
    ASSIGN_OR_RETURN(Tensor sums,
                     context.AllocateTemp(DT_DOUBLE, {2, args.channels}));
    t.sums = static_cast<double*>(sums.mutable_data());
    cudaStream_t const stream = StreamOf(context);
    for (int i = 3; i < 5; ++i) {
      ASSIGN_OR_RETURN(float* kept, Allocate(context, i, {}));
      cuda::LaunchBytes(0, sizeof(float), kept, stream);
    }
    cuda::LaunchBatchNormGrad(args, t, stream);
    return LaunchStatus();
  }
};

}  // namespace

void RegisterCudaNormKernels(KernelRegistry& registry) {
  for (const char* op :
       {"FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"}) {
    RegisterForGpu<BatchNormKernel>(registry, DefOf(op, {DT_FLOAT}));
  }
  for (const char* op :
       {"FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"}) {
    RegisterForGpu<BatchNormGradKernel>(registry, DefOf(op, {DT_FLOAT}));
  }
}

}  // namespace weft
