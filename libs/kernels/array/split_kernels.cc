// Kernels that split tensors: Split, SplitV, Unpack.
#include <algorithm>

#include "libs/base/status.h"
#include "libs/kernels/array/array_kernels.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/array/split_pieces.h"
#include "libs/kernels/common/parallel_loop.h"
#include "libs/kernels/common/row_copies.h"
#include "libs/kernels/common/string_charge.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

// Splits the first dimension. Large pieces share the memory.
absl::Status CutRows(OpKernelContext& context, const Tensor& value,
                     const Dims& sizes,
                     const std::vector<TensorShape>& shapes) {
  HeapCharge charge(context.host_allocator());
  RETURN_IF_ERROR(ChargeStrings(charge, value));
  int64_t begin = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    ASSIGN_OR_RETURN(Tensor rows, value.SliceRows(begin, begin + sizes[i],
                                                  context.allocator()));
    ASSIGN_OR_RETURN(Tensor piece, rows.Reshaped(shapes[i]));
    context.SetOutput(static_cast<int>(i), std::move(piece));
    begin += sizes[i];
  }
  return absl::OkStatus();
}

// Splits along `axis` into pieces of `sizes`; piece i has shape `shapes[i]`.
absl::Status Cut(OpKernelContext& context, const Tensor& value, int axis,
                 const Dims& sizes, const std::vector<TensorShape>& shapes) {
  if (axis == 0) return CutRows(context, value, sizes, shapes);
  int64_t before = 1, after = 1;
  for (int i = 0; i < axis; ++i) before *= value.dim(i);
  for (int i = axis + 1; i < value.rank(); ++i) after *= value.dim(i);
  const int64_t row = value.dim(axis) * after;
  // The minimum size of strings and other objects.
  const auto size =
      std::max<int64_t>(static_cast<int64_t>(DataTypeSize(value.dtype())), 1);
  HeapCharge charge(context.host_allocator());
  RETURN_IF_ERROR(ChargeStrings(charge, value));
  int64_t begin = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    ASSIGN_OR_RETURN(Tensor * piece,
                     context.AllocateOutput(static_cast<int>(i), shapes[i]));
    const int64_t length = sizes[i] * after;
    if (length > 0) {
      ParallelLoop(context, before, CopyCost(length * size),
                   [&](int64_t first, int64_t end) {
                     for (int64_t r = first; r < end; ++r) {
                       CopyElements(value, r * row + begin, length, *piece,
                                    r * length);
                     }
                   });
    }
    begin += length;
  }
  return absl::OkStatus();
}

class SplitKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& value = context.input(1);
    ASSIGN_OR_RETURN(const Pieces pieces, PiecesOfSplit(context));
    if (context.num_outputs() == 1) {
      context.SetOutput(0, context.TakeInput(1));
      return absl::OkStatus();
    }
    return Cut(context, value, pieces.axis, pieces.sizes, pieces.shapes);
  }
};

class SplitVKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const Pieces pieces, PiecesOfSplitV(context));
    return Cut(context, context.input(0), pieces.axis, pieces.sizes,
               pieces.shapes);
  }
};

class UnpackKernel : public OpKernel {
 public:
  explicit UnpackKernel(const OpKernelConstruction& construction)
      : OpKernel(construction) {
    const int64_t* axis = construction.node().attr<int64_t>("axis");
    if (axis != nullptr) axis_ = *axis;
  }

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& value = context.input(0);
    const int rank = value.rank();
    if (axis_ < -rank || axis_ >= rank) {
      return absl::InvalidArgumentError(
          absl::StrCat("axis = ", axis_, " not in [", -rank, ", ", rank, ")"));
    }
    const int axis = static_cast<int>(axis_ < 0 ? axis_ + rank : axis_);
    const int count = context.num_outputs();
    if (value.dim(axis) != count) {
      return absl::InvalidArgumentError(
          absl::StrCat("Input shape axis ", axis, " must equal ", count,
                       ", got shape ", value.shape().ToString()));
    }
    TensorShape each = value.shape();
    each.RemoveDim(axis);
    return Cut(context, value, axis, Dims(count, 1),
               std::vector<TensorShape>(count, each));
  }

 private:
  int64_t axis_ = 0;
};

}  // namespace

void RegisterArraySplitKernels(KernelRegistry& registry) {
  registry.Register<SplitKernel>("Split", {}, true);
  registry.Register<SplitVKernel>("SplitV", {}, true);
  registry.Register<UnpackKernel>("Unpack", {}, true);
}

}  // namespace weft
