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

namespace weft {
namespace {

// A tensor seen as [outer, channels, inner].
struct Channels {
  int64_t outer = 1, channels = 1, inner = 1;
};

absl::StatusOr<Channels> ViewChannels(const TensorShape& shape, bool is_first) {
  const int least = is_first ? 3 : 2;
  if (shape.rank() < least) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Input tensor must be at least ", least, "D: ", shape.ToString()));
  }
  const int channel = is_first ? 1 : shape.rank() - 1;
  Channels view;
  for (int i = 0; i < channel; ++i) view.outer *= shape.dim(i);
  view.channels = shape.dim(channel);
  for (int i = channel + 1; i < shape.rank(); ++i) view.inner *= shape.dim(i);
  return view;
}

bool AreChannelsFirst(const OpKernelConstruction& construction) {
  return construction.GetAttr<std::string>("data_format").value_or("NHWC") ==
         "NCHW";
}

class BiasAddKernel : public OpKernel {
 public:
  explicit BiasAddKernel(const OpKernelConstruction& construction)
      : OpKernel(construction), is_first_(AreChannelsFirst(construction)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& x = context.input(0);
    const Tensor& bias = context.input(1);
    ASSIGN_OR_RETURN(const Channels view, ViewChannels(x.shape(), is_first_));
    if (bias.rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("Biases must be 1D: ", bias.shape().ToString()));
    }
    if (bias.dim(0) != view.channels) {
      return absl::InvalidArgumentError(
          absl::StrCat("Must provide as many biases as the ",
                       is_first_ ? "channel dimension" : "last dimension",
                       " of the input tensor: ", bias.shape().ToString(),
                       " vs. ", x.shape().ToString()));
    }
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
    ASSIGN_OR_RETURN(const Channels view, ViewChannels(x.shape(), is_first_));
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

// Labels as probabilities of all classes.
class CrossEntropyKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& logits = context.input(0);
    const Tensor& labels = context.input(1);
    ASSIGN_OR_RETURN(const TensorShape shape,
                     ShapeOf(logits.shape(), labels.shape()));
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

 private:
  static absl::StatusOr<TensorShape> ShapeOf(const TensorShape& logits,
                                             const TensorShape& labels) {
    const std::string sizes = absl::StrCat("logits_size=", logits.ToString(),
                                           " labels_size=", labels.ToString());
    if (logits.rank() != 2 || labels.rank() != 2) {
      return absl::InvalidArgumentError(absl::StrCat(
          "logits and labels must be either 2-dimensional, or broadcasted to "
          "be 2-dimensional: ",
          sizes));
    }
    TensorShape shape = logits;
    for (int i = 0; i < 2; ++i) {
      if (logits.dim(i) == labels.dim(i) || labels.dim(i) == 1) continue;
      if (logits.dim(i) != 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("logits and labels must be broadcastable: ", sizes));
      }
      shape.set_dim(i, labels.dim(i));
    }
    return shape;
  }
};

// Labels as numbers of classes. One that is no class makes its row NaN, as on
// TensorFlow's GPUs: the processor does not see it.
class SparseCrossEntropyKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& logits = context.input(0);
    const Tensor& labels = context.input(1);
    const TensorShape shape = logits.shape();
    RETURN_IF_ERROR(CheckShapes(shape, labels.shape()));
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

 private:
  static absl::Status CheckShapes(const TensorShape& logits,
                                  const TensorShape& labels) {
    if (logits.rank() != 2) {
      return absl::InvalidArgumentError(absl::StrCat(
          "logits must be 2-D, but got shape ", logits.ToString()));
    }
    if (labels.rank() != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "labels must be 1-D, but got shape ", labels.ToString()));
    }
    if (logits.dim(0) != labels.dim(0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "logits and labels must have the same first dimension, got logits "
          "shape ",
          logits.ToString(), " and labels shape ", labels.ToString()));
    }
    if (logits.dim(1) > 0) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("Must have at least one class, but got logits shape ",
                     logits.ToString()));
  }
};

class LeakyReluKernel : public OpKernel {
 public:
  explicit LeakyReluKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        alpha_(construction.GetAttr<float>("alpha").value_or(0.2f)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& gradient = context.input(0);
    // Its own gradient has the features too.
    const Tensor& x = context.input(context.num_inputs() - 1);
    if (gradient.shape() != x.shape()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "g and a must be the same size: ", gradient.shape().ToString(),
          " vs. ", x.shape().ToString()));
    }
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
