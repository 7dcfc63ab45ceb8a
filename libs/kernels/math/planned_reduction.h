// PlannedReduction is the base of kernels that reduce their first input along
// the axes in the second one, with attr keep_dims. It makes the plan and
// allocates the output, or forwards the input if nothing is reduced.
#ifndef WEFT_LIBS_KERNELS_MATH_PLANNED_REDUCTION_H_
#define WEFT_LIBS_KERNELS_MATH_PLANNED_REDUCTION_H_

#include <utility>

#include "libs/base/status.h"
#include "libs/kernels/math/axes.h"
#include "libs/kernels/op_kernel.h"

namespace weft {

class PlannedReduction : public OpKernel {
 public:
  PlannedReduction(const OpKernelConstruction& construction, bool keep_dims)
      : OpKernel(construction), keep_dims_(keep_dims) {}

  absl::Status Compute(OpKernelContext& context) final {
    const Tensor& input = context.input(0);
    ASSIGN_OR_RETURN(
        const ReductionPlan plan,
        ReductionPlan::Make(input.shape(), context.input(1), keep_dims_));
    if (plan.is_copy()) {
      ASSIGN_OR_RETURN(Tensor same, input.Reshaped(plan.output_shape()));
      context.SetOutput(0, std::move(same));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * out,
                     context.AllocateOutput(0, plan.output_shape()));
    Reduce(context, plan, input, *out);
    return absl::OkStatus();
  }

 private:
  // `input` may have no elements.
  virtual void Reduce(OpKernelContext& context, const ReductionPlan& plan,
                      const Tensor& input, Tensor& out) = 0;

  const bool keep_dims_;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_MATH_PLANNED_REDUCTION_H_
