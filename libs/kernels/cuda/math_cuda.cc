// Elementwise ops with broadcasting on GPUs.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/status.h"
#include "libs/kernels/cuda/broadcast_dims.h"
#include "libs/kernels/cuda/cuda_context.h"
#include "libs/kernels/cuda/cuda_kernels.h"
#include "libs/kernels/cuda/math.cu.h"
#include "libs/kernels/cuda/registration.h"
#include "libs/kernels/math/broadcast.h"
#include "libs/kernels/nn/operand_checks.h"

namespace weft {
namespace {

using cuda::BinaryOp;
using cuda::Comparison;
using cuda::UnaryOp;

// Launches of ops with two broadcast operands.
class BinaryKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& x = context.input(0);
    const Tensor& y = context.input(1);
    ASSIGN_OR_RETURN(const TensorShape shape,
                     BroadcastShape(x.shape(), y.shape()));
    ASSIGN_OR_RETURN(const cuda::Dims dims,
                     BroadcastDims({&x.shape(), &y.shape()}, shape));
    // The inputs keep their memory, even if the output shares it.
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
    RETURN_IF_ERROR(CheckGradientShapes(gradient, other));
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
    RegisterForGpu<ArithmeticKernel>(registry, DefOf(name, CudaNumbers()), op);
  }
  const std::pair<const char*, BinaryOp> of_floats[] = {
      {"Div", BinaryOp::kDiv},
      {"RealDiv", BinaryOp::kDiv},
      {"DivNoNan", BinaryOp::kDivNoNan},
      {"Pow", BinaryOp::kPow},
      {"Atan2", BinaryOp::kAtan2},
      {"Xdivy", BinaryOp::kXdivy},
      {"FloorDiv", BinaryOp::kFloorDiv},
      {"TanhGrad", BinaryOp::kTanhGrad},
      {"SigmoidGrad", BinaryOp::kSigmoidGrad},
      {"SqrtGrad", BinaryOp::kSqrtGrad},
      {"RsqrtGrad", BinaryOp::kRsqrtGrad},
      {"InvGrad", BinaryOp::kReciprocalGrad},
      {"ReciprocalGrad", BinaryOp::kReciprocalGrad}};
  for (const auto& [name, op] : of_floats) {
    RegisterForGpu<ArithmeticKernel>(registry, DefOf(name, CudaFloats()), op);
  }
  const std::pair<const char*, BinaryOp> gradients[] = {
      {"ReluGrad", BinaryOp::kReluGrad},
      {"Relu6Grad", BinaryOp::kRelu6Grad},
      {"EluGrad", BinaryOp::kEluGrad},
      {"SeluGrad", BinaryOp::kSeluGrad},
      {"SoftsignGrad", BinaryOp::kSoftsignGrad},
      {"SoftplusGrad", BinaryOp::kSoftplusGrad}};
  for (const auto& [name, op] : gradients) {
    RegisterForGpu<ActivationGradKernel>(registry, DefOf(name, CudaFloats()),
                                         op);
  }
}

void RegisterComparisons(KernelRegistry& registry) {
  const std::pair<const char*, Comparison> ops[] = {
      {"Less", Comparison::kLess},
      {"LessEqual", Comparison::kLessEqual},
      {"Greater", Comparison::kGreater},
      {"GreaterEqual", Comparison::kGreaterEqual}};
  for (const auto& [name, op] : ops) {
    RegisterForGpu<ComparisonKernel>(registry, DefOf(name, CudaNumbers()), op);
  }
}

void RegisterUnary(KernelRegistry& registry) {
  const std::pair<const char*, UnaryOp> ops[] = {
      {"Sqrt", UnaryOp::kSqrt},      {"Rsqrt", UnaryOp::kRsqrt},
      {"Inv", UnaryOp::kReciprocal}, {"Reciprocal", UnaryOp::kReciprocal},
      {"Exp", UnaryOp::kExp},        {"Expm1", UnaryOp::kExpm1},
      {"Log", UnaryOp::kLog},        {"Log1p", UnaryOp::kLog1p},
      {"Sin", UnaryOp::kSin},        {"Cos", UnaryOp::kCos},
      {"Tan", UnaryOp::kTan},        {"Asin", UnaryOp::kAsin},
      {"Acos", UnaryOp::kAcos},      {"Atan", UnaryOp::kAtan},
      {"Sinh", UnaryOp::kSinh},      {"Cosh", UnaryOp::kCosh},
      {"Atanh", UnaryOp::kAtanh},    {"Selu", UnaryOp::kSelu},
      {"Tanh", UnaryOp::kTanh},      {"Sigmoid", UnaryOp::kSigmoid},
      {"Erf", UnaryOp::kErf},        {"Floor", UnaryOp::kFloor},
      {"Ceil", UnaryOp::kCeil},      {"Round", UnaryOp::kRint},
      {"Relu", UnaryOp::kRelu},      {"Relu6", UnaryOp::kRelu6},
      {"Elu", UnaryOp::kElu}};
  for (const auto& [name, op] : ops) {
    RegisterForGpu<UnaryKernel>(registry, DefOf(name, CudaFloats()), op);
  }
  const std::pair<const char*, UnaryOp> of_numbers[] = {
      {"Neg", UnaryOp::kNeg},
      {"Abs", UnaryOp::kAbs},
      {"Sign", UnaryOp::kSign},
      {"Square", UnaryOp::kSquare}};
  for (const auto& [name, op] : of_numbers) {
    RegisterForGpu<UnaryKernel>(registry, DefOf(name, CudaNumbers()), op);
  }
  // TensorFlow's GPU kernels lack bfloat16 for these.
  const std::pair<const char*, UnaryOp> of_fewer[] = {
      {"Rint", UnaryOp::kRint},
      {"Softplus", UnaryOp::kSoftplus},
      {"Softsign", UnaryOp::kSoftsign}};
  for (const auto& [name, op] : of_fewer) {
    RegisterForGpu<UnaryKernel>(
        registry, DefOf(name, {DT_FLOAT, DT_DOUBLE, DT_HALF}), op);
  }
  RegisterForGpu<ArithmeticKernel>(
      registry, DefOf("FloorMod", {DT_FLOAT, DT_DOUBLE, DT_HALF}),
      BinaryOp::kFloorMod);
}

}  // namespace

void RegisterCudaMathKernels(KernelRegistry& registry) {
  RegisterBinary(registry);
  RegisterComparisons(registry);
  RegisterUnary(registry);
}

}  // namespace weft
