// StridedSliceAssign and ResourceStridedSliceAssign: assign to a slice of a
// variable.
#include <memory>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/array/slice_plan.h"
#include "libs/kernels/resource/variable_lookup.h"
#include "libs/kernels/state/state_kernels.h"

namespace weft {
namespace {

// `value` broadcast to the shape of a slice as in NumPy; unchanged if it has
// that shape. Leading sizes of 1 are ignored.
absl::StatusOr<Tensor> BroadcastValue(OpKernelContext& context,
                                      const Tensor& value,
                                      const TensorShape& slice) {
  if (value.shape() == slice) return value;
  Dims dims(value.shape().dims().begin(), value.shape().dims().end());
  while (static_cast<int>(dims.size()) > slice.rank() && dims[0] == 1) {
    dims.erase(dims.begin());
  }
  const int missing = slice.rank() - static_cast<int>(dims.size());
  bool fits = missing >= 0;
  for (int d = 0; fits && d < static_cast<int>(dims.size()); ++d) {
    fits = dims[d] == 1 || dims[d] == slice.dim(missing + d);
  }
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat("Cannot broadcast input shape ", value.shape().ToString(),
                     " into final shape ", slice.ToString()));
  }
  ASSIGN_OR_RETURN(Tensor whole, context.AllocateTemp(value.dtype(), slice));
  RETURN_IF_ERROR(
      CopyFromPattern(value, BroadcastPattern(dims, slice.dims()), whole));
  return whole;
}

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
    // An empty slice accepts a value of any shape.
    const bool is_empty = plan.processing_shape.num_elements() == 0;
    Tensor value;
    if (!is_empty) {
      ASSIGN_OR_RETURN(const TensorShape slice,
                       TensorShape::Create(plan.final_shape.dims()));
      ASSIGN_OR_RETURN(value, BroadcastValue(context, context.input(4), slice));
    }
    if (&from != &to) CopyElements(from, 0, from.num_elements(), to, 0);
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
