// StridedSliceAssign and ResourceStridedSliceAssign: a part of a variable
// becomes something else.
#include <memory>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/array/slice_plan.h"
#include "libs/kernels/resource/variable_lookup.h"
#include "libs/kernels/state/state_kernels.h"

namespace weft {
namespace {

class StridedSliceAssignKernel : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    ASSIGN_OR_RETURN(const StridedSliceMasks masks, ReadMasks(construction));
    return std::make_unique<StridedSliceAssignKernel>(construction, masks);
  }
  StridedSliceAssignKernel(const OpKernelConstruction& construction,
                           const StridedSliceMasks& masks)
      : OpKernel(construction), masks_(masks) {}

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const std::shared_ptr<Variable> variable,
                     lookup_.FromInput(context, 0));
    RETURN_IF_ERROR(CheckVariableType(*variable, context.input(4).dtype()));
    RETURN_IF_ERROR(variable->Update(context.cancellation(),
                                     context.allocator(),
                                     [&](const Tensor& from, Tensor& to) {
                                       return Write(context, from, to);
                                     }));
    ForwardReference(context);
    return absl::OkStatus();
  }

 private:
  absl::Status Write(OpKernelContext& context, const Tensor& from,
                     Tensor& to) const {
    const TensorShape whole = from.shape();
    ASSIGN_OR_RETURN(const StridedSlicePlan plan,
                     ReadPlan(context, masks_, whole));
    const Tensor& value = context.input(4);
    // Nothing is written to nothing, whatever the shape.
    const bool is_empty = plan.processing_shape.num_elements() == 0;
    if (!is_empty && !plan.final_shape.IsCompatibleWith(value.shape())) {
      return absl::UnimplementedError(absl::StrCat(
          "sliced l-value shape ", plan.final_shape.ToString(),
          " does not match r-value shape ", value.shape().ToString(),
          ". Automatic broadcasting not yet implemented."));
    }
    if (&from != &to) {
      ASSIGN_OR_RETURN(to, from.DeepCopy(context.allocator()));
    }
    if (is_empty) return absl::OkStatus();
    return CopyToPattern(value,
                         BoxPattern(whole, plan.begin, plan.strides,
                                    plan.processing_shape.dims()),
                         to);
  }

  const StridedSliceMasks masks_;
  VariableLookup lookup_;
};

}  // namespace

void RegisterStateSliceAssignKernels(KernelRegistry& registry) {
  registry.Register({.op = "StridedSliceAssign"},
                    StridedSliceAssignKernel::Make);
  registry.Register({.op = "ResourceStridedSliceAssign"},
                    StridedSliceAssignKernel::Make);
}

}  // namespace weft
