// BiasAdd and its gradient, LeakyRelu, softmax and cross entropies on GPUs.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/cuda/cuda_context.h"
#include "libs/kernels/cuda/cuda_kernels.h"
#include "libs/kernels/cuda/math.cu.h"
#include "libs/kernels/cuda/reduce.h"
#include "libs/kernels/cuda/registration.h"
#include "libs/kernels/nn/operand_checks.h"

namespace weft {
namespace {

class BiasAddKernel : public OpKernel {
 public:
  explicit BiasAddKernel(const OpKernelConstruction& construction)
      : OpKernel(construction), is_first_(AreChannelsFirst(construction)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& x = context.input(0);
    const Tensor& bias = context.input(1);
    ASSIGN_OR_RETURN(const ChannelView view,
                     ViewChannels(x.shape(), is_first_));
    RETURN_IF_ERROR(
        CheckBias(x.shape(), bias.shape(), view.channels, is_first_));
    ASSIGN_OR_RETURN(Tensor * out,
                     context.ForwardOrAllocate({0}, 0, x.shape()));
    if (out->num_elements() == 0) return absl::OkStatus();
    cuda::LaunchBiasAdd(ElementTypeOf(x.dtype()), out->num_elements(),
                        view.channels, view.inner, x.data(), bias.data(),
                        out->mutable_data(), StreamOf(context));
    return LaunchStatus();
  }

 private:
  const bool is_first_;
};

class BiasAddGradKernel : public OpKernel {
 public:
  explicit BiasAddGradKernel(const OpKernelConstruction& construction)
      : OpKernel(construction), is_first_(AreChannelsFirst(construction)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& x = context.input(0);
    ASSIGN_OR_RETURN(const ChannelView view,
                     ViewChannels(x.shape(), is_first_));
    ASSIGN_OR_RETURN(Tensor * out,
                     context.AllocateOutput(0, TensorShape({view.channels})));
    if (view.channels == 0) return absl::OkStatus();
    cuda::ReductionArgs args;
    args.kept = view.channels;
    args.reduced = 0;
    if (x.num_elements() > 0) {
      const int64_t row = view.channels * view.inner;
      RETURN_IF_ERROR(AddDim(args.kept_dims, view.channels, view.inner));
      if (view.inner > 1) {
        RETURN_IF_ERROR(AddDim(args.reduced_dims, view.inner, 1));
      }
      RETURN_IF_ERROR(AddDim(args.reduced_dims, view.outer, row));
      args.reduced = view.outer * view.inner;
    }
    return Reduce(context, args, x, *out);
  }

 private:
  const bool is_first_;
};

class SoftmaxKernel : public OpKernel {
 public:
  explicit SoftmaxKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        is_log_(construction.node().type() == "LogSoftmax") {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& logits = context.input(0);
    if (logits.rank() < 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "logits must have >= 1 dimension, got ", logits.shape().ToString()));
    }
    ASSIGN_OR_RETURN(Tensor * out,
                     context.ForwardOrAllocate({0}, 0, logits.shape()));
    if (out->num_elements() == 0) return absl::OkStatus();
    const int64_t classes = out->dim(out->rank() - 1);
    cuda::LaunchSoftmax(ElementTypeOf(logits.dtype()), is_log_,
                        out->num_elements() / classes, classes, logits.data(),
                        out->mutable_data(), StreamOf(context));
    return LaunchStatus();
  }

 private:
  const bool is_log_;
};

cuda::CrossEntropyArgs ArgsOf(const OpKernelContext& context,
                              const TensorShape& shape) {
  cuda::CrossEntropyArgs args;
  args.type = ElementTypeOf(context.input(0).dtype());
  args.label_type = ElementTypeOf(context.input(1).dtype());
  args.rows = shape.dim(0);
  args.classes = shape.dim(1);
  return args;
}

cuda::MatrixSteps StepsOf(const TensorShape& matrix) {
  return {matrix.dim(0) == 1 ? 0 : matrix.dim(1), matrix.dim(1) == 1 ? 0 : 1};
}

// Labels are probabilities of all classes.
class CrossEntropyKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& logits = context.input(0);
    const Tensor& labels = context.input(1);
    ASSIGN_OR_RETURN(const TensorShape shape,
                     CrossEntropyShape(logits.shape(), labels.shape()));
    ASSIGN_OR_RETURN(Tensor * loss,
                     context.AllocateOutput(0, TensorShape({shape.dim(0)})));
    ASSIGN_OR_RETURN(Tensor * backprop, context.AllocateOutput(1, shape));
    if (shape.dim(0) == 0) return absl::OkStatus();
    cuda::CrossEntropyArgs args = ArgsOf(context, shape);
    args.logits_steps = StepsOf(logits.shape());
    args.labels_steps = StepsOf(labels.shape());
    cuda::LaunchCrossEntropy(args, logits.data(), labels.data(),
                             loss->mutable_data(), backprop->mutable_data(),
                             StreamOf(context));
    return LaunchStatus();
  }
};

// Labels are class numbers. One out of range makes its row NaN, as on
// TensorFlow's GPUs, because the CPU does not see it.
class SparseCrossEntropyKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& logits = context.input(0);
    const Tensor& labels = context.input(1);
    const TensorShape shape = logits.shape();
    RETURN_IF_ERROR(CheckSparseShapes(shape, labels.shape()));
    ASSIGN_OR_RETURN(Tensor * loss,
                     context.AllocateOutput(0, TensorShape({shape.dim(0)})));
    ASSIGN_OR_RETURN(Tensor * backprop, context.AllocateOutput(1, shape));
    if (shape.dim(0) == 0) return absl::OkStatus();
    cuda::CrossEntropyArgs args = ArgsOf(context, shape);
    args.logits_steps = {shape.dim(1), 1};
    args.labels_steps = {1, 0};
    cuda::LaunchCrossEntropy(args, logits.data(), labels.data(),
                             loss->mutable_data(), backprop->mutable_data(),
                             StreamOf(context));
    return LaunchStatus();
  }
};

class LeakyReluKernel : public OpKernel {
 public:
  explicit LeakyReluKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        alpha_(construction.GetAttr<float>("alpha").value_or(0.2f)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& gradient = context.input(0);
    // Its own gradient has the features as an input, too.
    const Tensor& x = context.input(context.num_inputs() - 1);
    RETURN_IF_ERROR(CheckGradientShapes(gradient.shape(), x.shape()));
    ASSIGN_OR_RETURN(Tensor * out,
                     context.ForwardOrAllocate({0}, 0, x.shape()));
    if (out->num_elements() == 0) return absl::OkStatus();
    cuda::LaunchLeakyRelu(ElementTypeOf(x.dtype()), out->num_elements(), alpha_,
                          gradient.data(), x.data(), out->mutable_data(),
                          StreamOf(context));
    return LaunchStatus();
  }

 private:
  const float alpha_;
};

}  // namespace

void RegisterCudaNnKernels(KernelRegistry& registry) {
  RegisterForGpu<BiasAddKernel>(registry, DefOf("BiasAdd", CudaFloats()));
  RegisterForGpu<BiasAddGradKernel>(registry,
                                    DefOf("BiasAddGrad", CudaFloats()));
  RegisterForGpu<LeakyReluKernel>(registry, DefOf("LeakyRelu", CudaFloats()));
  RegisterForGpu<LeakyReluKernel>(registry,
                                  DefOf("LeakyReluGrad", CudaFloats()));
  RegisterForGpu<SoftmaxKernel>(registry, DefOf("Softmax", CudaFloats()));
  RegisterForGpu<SoftmaxKernel>(registry, DefOf("LogSoftmax", CudaFloats()));
  RegisterForGpu<CrossEntropyKernel>(
      registry, DefOf("SoftmaxCrossEntropyWithLogits", CudaFloats()));
  RegisterForGpu<SparseCrossEntropyKernel>(
      registry, DefOf("SparseSoftmaxCrossEntropyWithLogits",
                      {DT_FLOAT, DT_HALF, DT_BFLOAT16}));
}

}  // namespace weft
