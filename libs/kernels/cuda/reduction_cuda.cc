// Sum, Mean, Prod, Max, Min, All, Any, L2Loss, ArgMax and ArgMin on GPUs.
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
#include "libs/kernels/math/axes.h"

namespace weft {

absl::Status AddDim(cuda::Dims& dims, int64_t size, int64_t stride) {
  if (dims.rank == cuda::kMostDims) {
    return absl::UnimplementedError(
        "the reduction needs more dimensions than GPU kernels support");
  }
  dims.sizes[dims.rank] = size;
  dims.strides[0][dims.rank] = stride;
  ++dims.rank;
  return absl::OkStatus();
}

absl::Status Reduce(OpKernelContext& context, cuda::ReductionArgs args,
                    const Tensor& x, Tensor& out) {
  args.type = ElementTypeOf(x.dtype());
  Tensor scratch;
  const int64_t bytes = cuda::ReductionScratch(args);
  if (bytes > 0) {
    // May be released at once: later launches run later.
    ASSIGN_OR_RETURN(scratch,
                     context.AllocateTemp(DT_UINT8, TensorShape({bytes})));
  }
  cuda::LaunchReduction(args, x.data(),
                        bytes > 0 ? scratch.mutable_data() : nullptr,
                        out.mutable_data(), StreamOf(context));
  return LaunchStatus();
}

namespace {

using cuda::Reduction;

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
  ReductionKernel(const OpKernelConstruction& construction, Reduction op,
                  bool is_mean)
      : OpKernel(construction),
        op_(op),
        is_mean_(is_mean),
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
    cuda::ReductionArgs args;
    args.op = op_;
    if (x.num_elements() > 0) {
      RETURN_IF_ERROR(DimsOf(plan, args.kept_dims, args.reduced_dims));
    }
    ASSIGN_OR_RETURN(Tensor * out,
                     context.AllocateOutput(0, plan.output_shape()));
    if (out->num_elements() == 0) return absl::OkStatus();
    args.kept = out->num_elements();
    args.reduced = x.num_elements() > 0 ? plan.reduced_count() : 0;
    if (is_mean_) args.divisor = args.reduced;
    if (is_mean_ && args.reduced == 0) return MakeNan(context, *out);
    return Reduce(context, args, x, *out);
  }

 private:
  // Writes the mean of an empty tensor: all bits set.
  static absl::Status MakeNan(OpKernelContext& context, Tensor& out) {
    cuda::LaunchBytes(0xff, out.num_elements() * ElementSize(out),
                      out.mutable_data(), StreamOf(context));
    return LaunchStatus();
  }

  const Reduction op_;
  const bool is_mean_;
  const bool keep_dims_;
};

class L2LossKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& x = context.input(0);
    cuda::ReductionArgs args;
    args.squares = true;
    args.divisor = 2;
    args.reduced = x.num_elements();
    if (args.reduced > 0) {
      RETURN_IF_ERROR(AddDim(args.reduced_dims, args.reduced, 1));
    }
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, TensorShape()));
    return Reduce(context, args, x, *out);
  }
};

class ArgExtremeKernel : public OpKernel {
 public:
  ArgExtremeKernel(const OpKernelConstruction& construction, bool is_max)
      : OpKernel(construction), is_max_(is_max) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& x = context.input(0);
    ASSIGN_OR_RETURN(const int axis, AxisOf(x, context.input(1)));
    TensorShape shape = x.shape();
    shape.RemoveDim(axis);
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    if (out->num_elements() == 0) return absl::OkStatus();
    int64_t inner = 1;
    for (int i = axis + 1; i < x.rank(); ++i) inner *= x.dim(i);
    cuda::LaunchArgExtreme(is_max_, ElementTypeOf(x.dtype()),
                           ElementTypeOf(out->dtype()),
                           out->num_elements() / inner, x.dim(axis), inner,
                           x.data(), out->mutable_data(), StreamOf(context));
    return LaunchStatus();
  }

 private:
  static absl::StatusOr<int> AxisOf(const Tensor& x, const Tensor& dimension) {
    ASSIGN_OR_RETURN(int64_t axis, IntegerScalar(dimension, "dim"));
    const int rank = x.rank();
    if (axis < -rank || axis >= rank) {
      return absl::InvalidArgumentError(
          absl::StrCat("Expected dimension in the range [", -rank, ", ", rank,
                       "), but got ", axis));
    }
    if (axis < 0) axis += rank;
    if (x.dim(static_cast<int>(axis)) > 0) return static_cast<int>(axis);
    return absl::InvalidArgumentError(absl::StrCat(
        "Reduction axis ", axis, " is empty in shape ", x.shape().ToString()));
  }

  const bool is_max_;
};

void Register(KernelRegistry& registry, KernelDef def, Reduction op,
              bool is_mean = false) {
  def.host_memory = {"reduction_indices"};
  RegisterForGpu<ReductionKernel>(registry, std::move(def), op, is_mean);
}

void RegisterArgExtreme(KernelRegistry& registry, const char* op, bool is_max) {
  std::vector<DataType> types = CudaFloats();
  types.push_back(DT_BOOL);
  KernelDef def = DefOf(op, types);
  def.types["output_type"] = {DT_INT32, DT_INT64};
  def.host_memory = {"dimension"};
  RegisterForGpu<ArgExtremeKernel>(registry, std::move(def), is_max);
}

}  // namespace

void RegisterCudaReductionKernels(KernelRegistry& registry) {
  std::vector<DataType> with_int32 = CudaNumbers();
  with_int32.push_back(DT_INT32);
  Register(registry, DefOf("Sum", CudaNumbers()), Reduction::kSum);
  Register(registry, DefOf("Prod", with_int32), Reduction::kProd);
  Register(registry, DefOf("Max", CudaNumbers()), Reduction::kMax);
  Register(registry, DefOf("Min", CudaFloats()), Reduction::kMin);
  Register(registry, DefOf("Mean", CudaFloats()), Reduction::kSum, true);
  Register(registry, KernelDef{"All"}, Reduction::kMin);
  Register(registry, KernelDef{"Any"}, Reduction::kMax);
  RegisterForGpu<L2LossKernel>(registry, DefOf("L2Loss", CudaFloats()));
  RegisterArgExtreme(registry, "ArgMax", true);
  RegisterArgExtreme(registry, "ArgMin", false);
}

}  // namespace weft
