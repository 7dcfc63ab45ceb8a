// Kernels of slices: Slice, StridedSlice and its gradient.
#include "libs/base/status.h"
#include "libs/kernels/array/array_kernels.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/array/slice_plan.h"

namespace weft {
namespace {

class SliceKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    ASSIGN_OR_RETURN(
        const SliceBox box,
        ReadSliceBox(input.shape(), context.input(1), context.input(2)));
    const TensorShape shape(box.size);
    if (shape == input.shape()) {
      context.SetOutput(0, context.TakeInput(0));
      return absl::OkStatus();
    }
    if (OnlyRows(input.shape(), shape)) {
      ASSIGN_OR_RETURN(Tensor rows,
                       input.SliceRows(box.begin[0], box.begin[0] + box.size[0],
                                       context.allocator()));
      context.SetOutput(0, std::move(rows));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    return CopyFromPattern(context, input,
                           BoxPattern(input.shape(), box.begin,
                                      Dims(input.rank(), 1), shape.dims()),
                           *output);
  }

 private:
  static bool OnlyRows(const TensorShape& whole, const TensorShape& part) {
    for (int i = 1; i < whole.rank(); ++i) {
      if (whole.dim(i) != part.dim(i)) return false;
    }
    return whole.rank() > 0;
  }
};

template <typename Kernel>
absl::StatusOr<std::unique_ptr<OpKernel>> CreateWithMasks(
    const OpKernelConstruction& construction) {
  ASSIGN_OR_RETURN(StridedSliceMasks masks, ReadMasks(construction));
  return std::make_unique<Kernel>(construction, masks);
}

class StridedSliceKernel : public OpKernel {
 public:
  StridedSliceKernel(const OpKernelConstruction& construction,
                     const StridedSliceMasks& masks)
      : OpKernel(construction), masks_(masks) {}

  absl::Status Compute(OpKernelContext& context) override {
    const TensorShape& whole = context.input(0).shape();
    ASSIGN_OR_RETURN(StridedSlicePlan plan, ReadPlan(context, masks_, whole));
    ASSIGN_OR_RETURN(TensorShape shape,
                     TensorShape::Create(plan.final_shape.dims()));
    if (plan.is_identity) {
      ASSIGN_OR_RETURN(Tensor same,
                       context.TakeInput(0).Reshaped(std::move(shape)));
      context.SetOutput(0, std::move(same));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    return CopyFromPattern(context, context.input(0),
                           BoxPattern(whole, plan.begin, plan.strides,
                                      plan.processing_shape.dims()),
                           *output);
  }

 private:
  const StridedSliceMasks masks_;
};

// Zeros, with dy at the position of the slice.
class StridedSliceGradKernel : public OpKernel {
 public:
  StridedSliceGradKernel(const OpKernelConstruction& construction,
                         const StridedSliceMasks& masks)
      : OpKernel(construction), masks_(masks) {}

  absl::Status Compute(OpKernelContext& context) override {
    if (context.input(0).rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape must be 1-D, got shape.shape = ",
                       context.input(0).shape().ToString()));
    }
    ASSIGN_OR_RETURN(Dims dims, IntegersOf(context.input(0)));
    ASSIGN_OR_RETURN(TensorShape whole, TensorShape::Create(dims));
    ASSIGN_OR_RETURN(StridedSlicePlan plan, ReadPlan(context, masks_, whole));
    const Tensor& dy = context.input(4);
    if (!plan.final_shape.IsCompatibleWith(dy.shape())) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape of dy was ", dy.shape().ToString(),
                       " instead of ", plan.final_shape.ToString()));
    }
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, whole));
    RETURN_IF_ERROR(FillWithZeros(*output));
    return CopyToPattern(context, dy,
                         BoxPattern(whole, plan.begin, plan.strides,
                                    plan.processing_shape.dims()),
                         *output);
  }

 private:
  const StridedSliceMasks masks_;
};

}  // namespace

void RegisterArraySliceKernels(KernelRegistry& registry) {
  registry.Register<SliceKernel>("Slice", {}, true);
  registry.Register({.op = "StridedSlice", .types = {}, .is_cheap = true},
                    CreateWithMasks<StridedSliceKernel>);
  registry.Register({.op = "StridedSliceGrad", .types = {}},
                    CreateWithMasks<StridedSliceGradKernel>);
}

}  // namespace weft
