// Element-wise ops, MatMul, reductions, BiasAdd and softmax on GPUs.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/device/cuda/cuda_blas.h"
#include "libs/kernels/cuda/broadcast_dims.h"
#include "libs/kernels/cuda/cuda_context.h"
#include "libs/kernels/cuda/cuda_kernels.h"
#include "libs/kernels/cuda/math.cu.h"
#include "libs/kernels/math/axes.h"
#include "libs/kernels/math/broadcast.h"

namespace weft {
namespace {

using cuda::BinaryOp;
using cuda::Comparison;
using cuda::Reduction;
using cuda::UnaryOp;
using Types = std::vector<DataType>;

const Types& Floats() {
  static const Types types = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16};
  return types;
}
const Types& FloatsAndInt64() {
  static const Types types = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16,
                              DT_INT64};
  return types;
}

// Launches that know which elements meet.
class BinaryKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& x = context.input(0);
    const Tensor& y = context.input(1);
    ASSIGN_OR_RETURN(const TensorShape shape,
                     BroadcastShape(x.shape(), y.shape()));
    ASSIGN_OR_RETURN(const cuda::Dims dims,
                     BroadcastDims(x.shape(), y.shape(), shape));
    // The inputs' memory is theirs yet, also where the output takes it.
    ASSIGN_OR_RETURN(Tensor * out, context.ForwardOrAllocate({0, 1}, 0, shape));
    if (out->num_elements() == 0) return absl::OkStatus();
    Launch(context, dims, x, y, *out);
    return LaunchStatus();
  }

 protected:
  virtual void Launch(OpKernelContext& context, const cuda::Dims& dims,
                      const Tensor& x, const Tensor& y, Tensor& out) = 0;
};

class ArithmeticKernel : public BinaryKernel {
 public:
  ArithmeticKernel(const OpKernelConstruction& construction, BinaryOp op)
      : BinaryKernel(construction), op_(op) {}

 protected:
  void Launch(OpKernelContext& context, const cuda::Dims& dims, const Tensor& x,
              const Tensor& y, Tensor& out) override {
    LaunchBinary(op_, ElementTypeOf(x.dtype()), dims, out.num_elements(),
                 x.data(), y.data(), out.mutable_data(), StreamOf(context));
  }

 private:
  const BinaryOp op_;
};

// Its operands do not broadcast.
class ActivationGradKernel : public ArithmeticKernel {
 public:
  using ArithmeticKernel::ArithmeticKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const TensorShape& gradient = context.input(0).shape();
    const TensorShape& other = context.input(1).shape();
    if (gradient != other) {
      return absl::InvalidArgumentError(
          absl::StrCat("g and a must be the same size: ", gradient.ToString(),
                       " vs. ", other.ToString()));
    }
    return ArithmeticKernel::Compute(context);
  }
};

class ComparisonKernel : public BinaryKernel {
 public:
  ComparisonKernel(const OpKernelConstruction& construction, Comparison op)
      : BinaryKernel(construction), op_(op) {}

 protected:
  void Launch(OpKernelContext& context, const cuda::Dims& dims, const Tensor& x,
              const Tensor& y, Tensor& out) override {
    LaunchComparison(op_, ElementTypeOf(x.dtype()), dims, out.num_elements(),
                     x.data(), y.data(), static_cast<bool*>(out.mutable_data()),
                     StreamOf(context));
  }

 private:
  const Comparison op_;
};

class UnaryKernel : public OpKernel {
 public:
  UnaryKernel(const OpKernelConstruction& construction, UnaryOp op)
      : OpKernel(construction), op_(op) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& x = context.input(0);
    ASSIGN_OR_RETURN(Tensor * out,
                     context.ForwardOrAllocate({0}, 0, x.shape()));
    if (out->num_elements() == 0) return absl::OkStatus();
    LaunchUnary(op_, ElementTypeOf(x.dtype()), out->num_elements(), x.data(),
                out->mutable_data(), StreamOf(context));
    return LaunchStatus();
  }

 private:
  const UnaryOp op_;
};

// Registers a kernel whose constructor takes `args` as well.
template <typename Kernel, typename... Args>
void Register(KernelRegistry& registry, KernelDef def, Args... args) {
  def.device_type = "GPU";
  registry.Register(std::move(def),
                    [args...](const OpKernelConstruction& construction)
                        -> absl::StatusOr<std::unique_ptr<OpKernel>> {
                      return std::make_unique<Kernel>(construction, args...);
                    });
}

KernelDef DefOf(absl::string_view op, const Types& types) {
  KernelDef def{std::string(op)};
  def.types["T"] = types;
  return def;
}

void RegisterBinary(KernelRegistry& registry) {
  const std::pair<const char*, BinaryOp> of_numbers[] = {
      {"Add", BinaryOp::kAdd},
      {"AddV2", BinaryOp::kAdd},
      {"Sub", BinaryOp::kSub},
      {"Mul", BinaryOp::kMul},
      {"Maximum", BinaryOp::kMaximum},
      {"Minimum", BinaryOp::kMinimum},
      {"SquaredDifference", BinaryOp::kSquaredDifference}};
  for (const auto& [name, op] : of_numbers) {
    Register<ArithmeticKernel>(registry, DefOf(name, FloatsAndInt64()), op);
  }
  const std::pair<const char*, BinaryOp> of_floats[] = {
      {"Div", BinaryOp::kDiv},
      {"RealDiv", BinaryOp::kDiv},
      {"DivNoNan", BinaryOp::kDivNoNan},
      {"Pow", BinaryOp::kPow},
      {"TanhGrad", BinaryOp::kTanhGrad},
      {"SigmoidGrad", BinaryOp::kSigmoidGrad},
      {"SqrtGrad", BinaryOp::kSqrtGrad},
      {"RsqrtGrad", BinaryOp::kRsqrtGrad}};
  for (const auto& [name, op] : of_floats) {
    Register<ArithmeticKernel>(registry, DefOf(name, Floats()), op);
  }
  const std::pair<const char*, BinaryOp> gradients[] = {
      {"ReluGrad", BinaryOp::kReluGrad},
      {"Relu6Grad", BinaryOp::kRelu6Grad},
      {"EluGrad", BinaryOp::kEluGrad},
      {"SoftplusGrad", BinaryOp::kSoftplusGrad}};
  for (const auto& [name, op] : gradients) {
    Register<ActivationGradKernel>(registry, DefOf(name, Floats()), op);
  }
}

void RegisterComparisons(KernelRegistry& registry) {
  const std::pair<const char*, Comparison> ops[] = {
      {"Less", Comparison::kLess},
      {"LessEqual", Comparison::kLessEqual},
      {"Greater", Comparison::kGreater},
      {"GreaterEqual", Comparison::kGreaterEqual}};
  for (const auto& [name, op] : ops) {
    Register<ComparisonKernel>(registry, DefOf(name, FloatsAndInt64()), op);
  }
}

void RegisterUnary(KernelRegistry& registry) {
  const std::pair<const char*, UnaryOp> ops[] = {
      {"Neg", UnaryOp::kNeg},          {"Abs", UnaryOp::kAbs},
      {"Sign", UnaryOp::kSign},        {"Square", UnaryOp::kSquare},
      {"Sqrt", UnaryOp::kSqrt},        {"Rsqrt", UnaryOp::kRsqrt},
      {"Inv", UnaryOp::kReciprocal},   {"Reciprocal", UnaryOp::kReciprocal},
      {"Exp", UnaryOp::kExp},          {"Expm1", UnaryOp::kExpm1},
      {"Log", UnaryOp::kLog},          {"Log1p", UnaryOp::kLog1p},
      {"Sin", UnaryOp::kSin},          {"Cos", UnaryOp::kCos},
      {"Tanh", UnaryOp::kTanh},        {"Sigmoid", UnaryOp::kSigmoid},
      {"Erf", UnaryOp::kErf},          {"Floor", UnaryOp::kFloor},
      {"Ceil", UnaryOp::kCeil},        {"Rint", UnaryOp::kRint},
      {"Round", UnaryOp::kRint},       {"Relu", UnaryOp::kRelu},
      {"Relu6", UnaryOp::kRelu6},      {"Elu", UnaryOp::kElu},
      {"Softplus", UnaryOp::kSoftplus}};
  for (const auto& [name, op] : ops) {
    Register<UnaryKernel>(registry, DefOf(name, Floats()), op);
  }
}

class MatMulKernel : public OpKernel {
 public:
  explicit MatMulKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        transpose_a_(construction.GetAttr<bool>("transpose_a").value_or(false)),
        transpose_b_(
            construction.GetAttr<bool>("transpose_b").value_or(false)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& a = context.input(0);
    const Tensor& b = context.input(1);
    ASSIGN_OR_RETURN(const CudaProduct product, ProductOf(a, b));
    ASSIGN_OR_RETURN(const TensorShape shape,
                     TensorShape::Create({product.m, product.n}));
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    const cudaStream_t stream = StreamOf(context);
    if (product.k > 0) {
      const absl::Status done = CudaDeviceOf(context).blas().Multiply(
          product, a.data(), b.data(), out->mutable_data());
      if (!absl::IsUnavailable(done)) return done;
    }
    cuda::LaunchMatMul(ElementTypeOf(a.dtype()), transpose_a_, transpose_b_,
                       product.m, product.n, product.k, a.data(), b.data(),
                       out->mutable_data(), stream);
    return LaunchStatus();
  }

 private:
  absl::StatusOr<CudaProduct> ProductOf(const Tensor& a,
                                        const Tensor& b) const {
    if (a.rank() != b.rank()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "In[0] and In[1] has different ndims: ", a.shape().ToString(),
          " vs. ", b.shape().ToString()));
    }
    if (a.rank() != 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("In[0] is not a matrix. Instead it has shape ",
                       a.shape().ToString()));
    }
    CudaProduct product;
    product.dtype = a.dtype();
    product.transpose_a = transpose_a_;
    product.transpose_b = transpose_b_;
    product.m = a.dim(transpose_a_ ? 1 : 0);
    product.k = a.dim(transpose_a_ ? 0 : 1);
    product.n = b.dim(transpose_b_ ? 0 : 1);
    product.a_stride = a.dim(1);
    product.b_stride = b.dim(1);
    product.c_stride = product.n;
    if (product.k == b.dim(transpose_b_ ? 1 : 0)) return product;
    return absl::InvalidArgumentError(
        absl::StrCat("Matrix size-incompatible: In[0]: ", a.shape().ToString(),
                     ", In[1]: ", b.shape().ToString()));
  }

  const bool transpose_a_;
  const bool transpose_b_;
};

// Adds a dimension outside those before.
absl::Status AddDim(cuda::Dims& dims, int64_t size, int64_t stride) {
  if (dims.rank == cuda::kMostDims) {
    return absl::UnimplementedError(
        "the reduction takes more dimensions than GPUs are given");
  }
  dims.sizes[dims.rank] = size;
  dims.strides[0][dims.rank] = stride;
  ++dims.rank;
  return absl::OkStatus();
}

absl::Status DimsOf(const ReductionPlan& plan, cuda::Dims& kept,
                    cuda::Dims& reduced) {
  RETURN_IF_ERROR(
      AddDim(plan.inner_is_reduced() ? reduced : kept, plan.inner_size(), 1));
  for (const ReductionPlan::Dim& dim : plan.outer_kept()) {
    RETURN_IF_ERROR(AddDim(kept, dim.size, dim.stride));
  }
  for (const ReductionPlan::Dim& dim : plan.outer_reduced()) {
    RETURN_IF_ERROR(AddDim(reduced, dim.size, dim.stride));
  }
  return absl::OkStatus();
}

class ReductionKernel : public OpKernel {
 public:
  ReductionKernel(const OpKernelConstruction& construction, Reduction op)
      : OpKernel(construction),
        op_(op),
        keep_dims_(construction.GetAttr<bool>("keep_dims").value_or(false)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& x = context.input(0);
    ASSIGN_OR_RETURN(
        const ReductionPlan plan,
        ReductionPlan::Make(x.shape(), context.input(1), keep_dims_));
    if (plan.is_copy()) {
      ASSIGN_OR_RETURN(Tensor same, x.Reshaped(plan.output_shape()));
      context.SetOutput(0, std::move(same));
      return absl::OkStatus();
    }
    cuda::Dims kept, reduced;
    if (x.num_elements() > 0) RETURN_IF_ERROR(DimsOf(plan, kept, reduced));
    ASSIGN_OR_RETURN(Tensor * out,
                     context.AllocateOutput(0, plan.output_shape()));
    if (out->num_elements() == 0) return absl::OkStatus();
    const int64_t count = x.num_elements() > 0 ? plan.reduced_count() : 0;
    LaunchReduction(op_, ElementTypeOf(x.dtype()), kept, out->num_elements(),
                    reduced, count, x.data(), out->mutable_data(),
                    StreamOf(context));
    return LaunchStatus();
  }

 private:
  const Reduction op_;
  const bool keep_dims_;
};

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
    cuda::Dims kept, reduced;
    int64_t count = 0;
    if (x.num_elements() > 0) {
      RETURN_IF_ERROR(AddDim(kept, view.channels, view.inner));
      RETURN_IF_ERROR(AddDim(reduced, view.inner, 1));
      RETURN_IF_ERROR(AddDim(reduced, view.outer, view.channels * view.inner));
      count = view.outer * view.inner;
    }
    LaunchReduction(Reduction::kSum, ElementTypeOf(x.dtype()), kept,
                    view.channels, reduced, count, x.data(),
                    out->mutable_data(), StreamOf(context));
    return LaunchStatus();
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
    cuda::LaunchCrossEntropy(
        ElementTypeOf(logits.dtype()), ElementTypeOf(labels.dtype()),
        shape.dim(0), shape.dim(1), logits.data(), labels.data(),
        loss->mutable_data(), backprop->mutable_data(), StreamOf(context));
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

}  // namespace

void RegisterCudaMathKernels(KernelRegistry& registry) {
  RegisterBinary(registry);
  RegisterComparisons(registry);
  RegisterUnary(registry);
}

void RegisterCudaLinalgKernels(KernelRegistry& registry) {
  Register<MatMulKernel>(registry, DefOf("MatMul", Floats()));
}

void RegisterCudaReductionKernels(KernelRegistry& registry) {
  const std::pair<const char*, Reduction> ops[] = {{"Sum", Reduction::kSum},
                                                   {"Mean", Reduction::kMean},
                                                   {"Prod", Reduction::kProd},
                                                   {"Max", Reduction::kMax},
                                                   {"Min", Reduction::kMin}};
  for (const auto& [name, op] : ops) {
    KernelDef def = DefOf(name, Floats());
    def.host_memory = {"reduction_indices"};
    Register<ReductionKernel>(registry, std::move(def), op);
  }
}

void RegisterCudaNnKernels(KernelRegistry& registry) {
  Register<BiasAddKernel>(registry, DefOf("BiasAdd", Floats()));
  Register<BiasAddGradKernel>(registry, DefOf("BiasAddGrad", Floats()));
  Register<SoftmaxKernel>(registry, DefOf("Softmax", Floats()));
  Register<SoftmaxKernel>(registry, DefOf("LogSoftmax", Floats()));
  Register<SparseCrossEntropyKernel>(
      registry, DefOf("SparseSoftmaxCrossEntropyWithLogits", Floats()));
}

}  // namespace weft
