// Cast, Select, Fill and related ops on GPUs; AddN; ops with bool results.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/cuda/broadcast_dims.h"
#include "libs/kernels/cuda/cuda_context.h"
#include "libs/kernels/cuda/cuda_kernels.h"
#include "libs/kernels/cuda/math.cu.h"
#include "libs/kernels/cuda/registration.h"
#include "libs/kernels/math/broadcast.h"
#include "libs/kernels/math/operand_checks.h"

namespace weft {
namespace {

using cuda::Comparison;
using cuda::Predicate;

// Equal and NotEqual, LogicalAnd and LogicalOr.
class EqualityKernel : public OpKernel {
 public:
  EqualityKernel(const OpKernelConstruction& construction, Comparison op)
      : OpKernel(construction),
        op_(op),
        is_strict_(construction.GetAttr<bool>("incompatible_shape_error")
                       .value_or(true)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& x = context.input(0);
    const Tensor& y = context.input(1);
    const auto shape = BroadcastShape(x.shape(), y.shape());
    if (!shape.ok() && !is_strict_) return MakeUnequal(context);
    RETURN_IF_ERROR(shape.status());
    ASSIGN_OR_RETURN(const cuda::Dims dims,
                     BroadcastDims({&x.shape(), &y.shape()}, *shape));
    ASSIGN_OR_RETURN(Tensor * out,
                     context.ForwardOrAllocate({0, 1}, 0, *shape));
    if (out->num_elements() == 0) return absl::OkStatus();
    cuda::LaunchComparison(
        op_, ElementTypeOf(x.dtype()), dims, out->num_elements(), x.data(),
        y.data(), static_cast<bool*>(out->mutable_data()), StreamOf(context));
    return LaunchStatus();
  }

 private:
  absl::Status MakeUnequal(OpKernelContext& context) const {
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, TensorShape()));
    cuda::LaunchBytes(op_ == Comparison::kNotEqual ? 1 : 0, 1,
                      out->mutable_data(), StreamOf(context));
    return LaunchStatus();
  }

  const Comparison op_;
  const bool is_strict_;
};

class PredicateKernel : public OpKernel {
 public:
  PredicateKernel(const OpKernelConstruction& construction, Predicate op)
      : OpKernel(construction), op_(op) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& x = context.input(0);
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, x.shape()));
    if (out->num_elements() == 0) return absl::OkStatus();
    cuda::LaunchPredicate(op_, ElementTypeOf(x.dtype()), out->num_elements(),
                          x.data(), static_cast<bool*>(out->mutable_data()),
                          StreamOf(context));
    return LaunchStatus();
  }

 private:
  const Predicate op_;
};

class NotKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& x = context.input(0);
    ASSIGN_OR_RETURN(Tensor * out,
                     context.ForwardOrAllocate({0}, 0, x.shape()));
    if (out->num_elements() == 0) return absl::OkStatus();
    cuda::LaunchNot(out->num_elements(), static_cast<const bool*>(x.data()),
                    static_cast<bool*>(out->mutable_data()), StreamOf(context));
    return LaunchStatus();
  }
};

class CastKernel : public OpKernel {
 public:
  explicit CastKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        truncates_(construction.GetAttr<bool>("Truncate").value_or(false)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& x = context.input(0);
    if (x.dtype() == context.output_type(0)) {
      context.SetOutput(0, context.TakeInput(0));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, x.shape()));
    if (out->num_elements() == 0) return absl::OkStatus();
    cuda::LaunchCast(ElementTypeOf(x.dtype()), ElementTypeOf(out->dtype()),
                     out->num_elements(),
                     truncates_ ? LostBits(x.dtype(), out->dtype()) : 0,
                     x.data(), out->mutable_data(), StreamOf(context));
    return LaunchStatus();
  }

 private:
  const bool truncates_;
};

// For a condition whose shape was made to broadcast if necessary.
absl::Status Choose(OpKernelContext& context, const TensorShape& condition) {
  const Tensor& yes = context.input(1);
  const Tensor& no = context.input(2);
  ASSIGN_OR_RETURN(const TensorShape both,
                   BroadcastShape(condition, yes.shape()));
  ASSIGN_OR_RETURN(const TensorShape shape, BroadcastShape(both, no.shape()));
  ASSIGN_OR_RETURN(
      const cuda::Dims dims,
      BroadcastDims({&condition, &yes.shape(), &no.shape()}, shape));
  ASSIGN_OR_RETURN(Tensor * out, context.ForwardOrAllocate({1, 2}, 0, shape));
  if (out->num_elements() == 0) return absl::OkStatus();
  cuda::LaunchSelect(ElementSize(*out), dims, out->num_elements(),
                     static_cast<const bool*>(context.input(0).data()),
                     yes.data(), no.data(), out->mutable_data(),
                     StreamOf(context));
  return LaunchStatus();
}

class SelectV2Kernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    return Choose(context, context.input(0).shape());
  }
};

// The condition has the shape of the others, or is a scalar or a vector of
// rows.
class SelectKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const TensorShape& condition = context.input(0).shape();
    const TensorShape& yes = context.input(1).shape();
    const TensorShape& no = context.input(2).shape();
    if (yes != no) return SizesDiffer(context, 1, yes, 2, no);
    if (condition.rank() == 0 || condition == yes) {
      return Choose(context, condition);
    }
    if (condition.rank() != 1 || yes.rank() < 2 ||
        condition.dim(0) != yes.dim(0)) {
      return SizesDiffer(context, 0, condition, 1, yes);
    }
    Dims dims(yes.rank(), 1);
    dims[0] = condition.dim(0);
    return Choose(context, TensorShape(dims));
  }
};

class ClipKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& x = context.input(0);
    RETURN_IF_ERROR(CheckClipBounds(context));
    const void* const values = x.data();
    cuda::ClipArgs args;
    args.type = ElementTypeOf(x.dtype());
    args.n = x.num_elements();
    args.low = context.input(1).data();
    args.high = context.input(2).data();
    args.low_step = context.input(1).rank() == 0 ? 0 : 1;
    args.high_step = context.input(2).rank() == 0 ? 0 : 1;
    ASSIGN_OR_RETURN(Tensor * out,
                     context.ForwardOrAllocate({0}, 0, x.shape()));
    if (args.n == 0) return absl::OkStatus();
    cuda::LaunchClip(args, values, out->mutable_data(), StreamOf(context));
    return LaunchStatus();
  }
};

class FillKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& value = context.input(1);
    // One element of any rank counts as a scalar, as in old graphs.
    if (value.num_elements() != 1 || value.rank() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("value must represent a scalar, got shape ",
                       value.shape().ToString()));
    }
    ASSIGN_OR_RETURN(const TensorShape shape, ShapeFromDims(context.input(0)));
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    if (out->num_elements() == 0) return absl::OkStatus();
    cuda::LaunchFill(ElementSize(value), out->num_elements(), value.data(),
                     out->mutable_data(), StreamOf(context));
    return LaunchStatus();
  }
};

class LikeKernel : public OpKernel {
 public:
  LikeKernel(const OpKernelConstruction& construction, bool is_one)
      : OpKernel(construction), is_one_(is_one) {}

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(Tensor * out, context.ForwardOrAllocate(
                                       {0}, 0, context.input(0).shape()));
    const int64_t n = out->num_elements();
    if (n == 0) return absl::OkStatus();
    if (is_one_) {
      cuda::LaunchOnes(ElementTypeOf(out->dtype()), n, out->mutable_data(),
                       StreamOf(context));
    } else {
      cuda::LaunchBytes(0, n * ElementSize(*out), out->mutable_data(),
                        StreamOf(context));
    }
    return LaunchStatus();
  }

 private:
  const bool is_one_;
};

// Adds one input after another.
class AddNKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const int count = context.num_inputs();
    const TensorShape shape = context.input(0).shape();
    for (int i = 1; i < count; ++i) {
      if (context.input(i).shape() == shape) continue;
      return SizesDiffer(context, 0, shape, i, context.input(i).shape());
    }
    if (count == 1) {
      context.SetOutput(0, context.TakeInput(0));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const cuda::Dims dims,
                     BroadcastDims({&shape, &shape}, shape));
    ASSIGN_OR_RETURN(Tensor * out, context.ForwardOrAllocate({0, 1}, 0, shape));
    if (out->num_elements() == 0) return absl::OkStatus();
    const void* sum = context.input(0).data();
    for (int i = 1; i < count; ++i) {
      cuda::LaunchBinary(cuda::BinaryOp::kAdd, ElementTypeOf(out->dtype()),
                         dims, out->num_elements(), sum,
                         context.input(i).data(), out->mutable_data(),
                         StreamOf(context));
      sum = out->data();
    }
    return LaunchStatus();
  }
};

void RegisterTruth(KernelRegistry& registry) {
  std::vector<DataType> types = CudaNumbers();
  types.push_back(DT_BOOL);
  RegisterForGpu<EqualityKernel>(registry, DefOf("Equal", types),
                                 Comparison::kEqual);
  RegisterForGpu<EqualityKernel>(registry, DefOf("NotEqual", types),
                                 Comparison::kNotEqual);
  RegisterForGpu<EqualityKernel>(registry, KernelDef{"LogicalAnd"},
                                 Comparison::kAnd);
  RegisterForGpu<EqualityKernel>(registry, KernelDef{"LogicalOr"},
                                 Comparison::kOr);
  RegisterForGpu<NotKernel>(registry, KernelDef{"LogicalNot"});
  const std::pair<const char*, Predicate> ops[] = {
      {"IsNan", Predicate::kIsNan},
      {"IsInf", Predicate::kIsInf},
      {"IsFinite", Predicate::kIsFinite}};
  for (const auto& [name, op] : ops) {
    RegisterForGpu<PredicateKernel>(registry, DefOf(name, CudaFloats()), op);
  }
}

}  // namespace

void RegisterCudaMoveKernels(KernelRegistry& registry) {
  RegisterTruth(registry);
  const std::vector<DataType> all = {
      DT_FLOAT,  DT_DOUBLE, DT_HALF,  DT_BFLOAT16, DT_INT8,
      DT_INT16,  DT_INT32,  DT_INT64, DT_UINT8,    DT_UINT16,
      DT_UINT32, DT_UINT64, DT_BOOL};
  KernelDef cast{"Cast"};
  cast.types = {{"SrcT", all}, {"DstT", all}};
  RegisterForGpu<CastKernel>(registry, std::move(cast));
  RegisterForGpu<SelectV2Kernel>(registry, DefOf("SelectV2", all));
  std::vector<DataType> chosen = CudaNumbers();
  chosen.insert(chosen.end(), {DT_INT32, DT_BOOL});
  RegisterForGpu<SelectKernel>(registry, DefOf("Select", chosen));
  KernelDef fill =
      DefOf("Fill", {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT8,
                     DT_INT16, DT_INT64, DT_UINT8, DT_UINT16, DT_BOOL});
  fill.host_memory = {"dims"};
  RegisterForGpu<FillKernel>(registry, std::move(fill));
  RegisterForGpu<LikeKernel>(registry, DefOf("ZerosLike", all), false);
  RegisterForGpu<LikeKernel>(registry, DefOf("OnesLike", all), true);
  RegisterForGpu<AddNKernel>(registry, DefOf("AddN", CudaNumbers()));
  RegisterForGpu<ClipKernel>(registry, DefOf("ClipByValue", CudaNumbers()));
}

}  // namespace weft
