// Cumsum, Cumprod, TopK, InTopK, LRN and LRNGrad on GPUs.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "libs/base/status.h"
#include "libs/kernels/cuda/cuda_context.h"
#include "libs/kernels/cuda/cuda_kernels.h"
#include "libs/kernels/cuda/lines.cu.h"
#include "libs/kernels/cuda/pair_sorter.h"
#include "libs/kernels/cuda/registration.h"
#include "libs/kernels/cuda/sort.cu.h"
#include "libs/kernels/math/axes.h"
#include "libs/kernels/nn/operand_checks.h"

namespace weft {
namespace {

// The axis is in host memory.
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
    Tensor scratch;
    if (const int64_t bytes = ScanScratch(args); bytes > 0) {
      ASSIGN_OR_RETURN(scratch,
                       context.AllocateTemp(DT_UINT8, TensorShape({bytes})));
    }
    LaunchScan(args, x.data(),
               scratch.IsInitialized() ? scratch.mutable_data() : nullptr,
               out->mutable_data(), StreamOf(context));
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
    cuda::TopKArgs args;
    args.type = ElementTypeOf(input.dtype());
    args.has_long_indices = indices->dtype() == DT_INT64;
    args.columns = input.dim(input.rank() - 1);
    args.rows = input.num_elements() / args.columns;
    args.k = shape.dim(shape.rank() - 1);
    if (IsForSort(args)) return Sort(context, args, input, *values, *indices);
    LaunchTopK(args, input.data(), values->mutable_data(),
               indices->mutable_data(), StreamOf(context));
    return LaunchStatus();
  }

 private:
  // Limits the rows sorted at a time by their memory.
  static constexpr int64_t kMostSorted = int64_t{1} << 24;

  static absl::Status Sort(OpKernelContext& context, cuda::TopKArgs args,
                           const Tensor& input, Tensor& values,
                           Tensor& indices) {
    const int64_t all = args.rows;
    const int64_t most = std::min(
        all, std::max<int64_t>(1, kMostSorted / args.columns));  // rows
    ASSIGN_OR_RETURN(PairSorter sorter,
                     PairSorter::Create(context, most * args.columns));
    const auto* x = static_cast<const char*>(input.data());
    auto* value = static_cast<char*>(values.mutable_data());
    auto* index = static_cast<char*>(indices.mutable_data());
    for (int64_t row = 0; row < all; row += most) {
      args.rows = std::min(most, all - row);
      RETURN_IF_ERROR(SortRows(context, args, x, sorter));
      LaunchTakeTopK(args, x, sorter.values(), value, index, StreamOf(context));
      x += args.rows * args.columns * ElementSize(input);
      value += args.rows * args.k * ElementSize(values);
      index += args.rows * args.k * ElementSize(indices);
    }
    return LaunchStatus();
  }

  // The positions of the elements at `x` become the sorter's values.
  static absl::Status SortRows(OpKernelContext& context,
                               const cuda::TopKArgs& args, const void* x,
                               PairSorter& sorter) {
    const int64_t n = args.rows * args.columns;
    const int row_bits = cuda::BitsFor(args.rows);
    LaunchTopKKeys(args, x, sorter.keys(), sorter.values(), StreamOf(context));
    if (HasRowInKey(args.type)) return sorter.Sort(n, 0, 32 + row_bits);
    RETURN_IF_ERROR(sorter.Sort(n, 0, 64));
    if (args.rows == 1) return absl::OkStatus();
    LaunchRowKeys(args, sorter.values(), sorter.keys(), StreamOf(context));
    return sorter.Sort(n, 0, row_bits);
  }

  const int64_t k_;
};

// InTopK's k is an attribute, InTopKV2's an input in host memory.
class InTopKKernel : public OpKernel {
 public:
  explicit InTopKKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        k_(construction.GetAttr<int64_t>("k").value_or(0)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& predictions = context.input(0);
    const Tensor& targets = context.input(1);
    cuda::InTopKArgs args;
    ASSIGN_OR_RETURN(args.k, InTopKOf(context, k_));
    args.rows = predictions.dim(0);
    args.classes = predictions.dim(1);
    args.has_long_targets = targets.dtype() == DT_INT64;
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, targets.shape()));
    if (args.rows == 0) return absl::OkStatus();
    LaunchInTopK(args, predictions.data(), targets.data(), out->mutable_data(),
                 StreamOf(context));
    return LaunchStatus();
  }

 private:
  const int64_t k_;
};

// LRN and its gradient, whose inputs are the gradient, LRN's input and its
// output.
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
  RegisterForGpu<InTopKKernel>(registry, DefOf("InTopK", {DT_INT32, DT_INT64}));
  KernelDef in_top_k = DefOf("InTopKV2", {DT_INT32, DT_INT64});
  in_top_k.host_memory = {"k"};
  RegisterForGpu<InTopKKernel>(registry, std::move(in_top_k));
  for (const char* op : {"LRN", "LRNGrad"}) {
    KernelDef def = DefOf(op, {DT_FLOAT, DT_HALF, DT_BFLOAT16});
    def.device_type = "GPU";
    registry.Register(std::move(def), LrnKernel::Make);
  }
}

}  // namespace weft
