#include "libs/kernels/array/slice_plan.h"

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"

namespace weft {

absl::StatusOr<StridedSliceMasks> ReadMasks(const OpKernelConstruction& c) {
  StridedSliceMasks masks;
  ASSIGN_OR_RETURN(masks.begin, c.GetAttr<int64_t>("begin_mask"));
  ASSIGN_OR_RETURN(masks.end, c.GetAttr<int64_t>("end_mask"));
  ASSIGN_OR_RETURN(masks.ellipsis, c.GetAttr<int64_t>("ellipsis_mask"));
  ASSIGN_OR_RETURN(masks.new_axis, c.GetAttr<int64_t>("new_axis_mask"));
  ASSIGN_OR_RETURN(masks.shrink_axis, c.GetAttr<int64_t>("shrink_axis_mask"));
  return masks;
}

absl::StatusOr<StridedSlicePlan> ReadPlan(OpKernelContext& context,
                                          const StridedSliceMasks& masks,
                                          const TensorShape& whole) {
  const TensorShape& begin = context.input(1).shape();
  const TensorShape& end = context.input(2).shape();
  const TensorShape& strides = context.input(3).shape();
  if (begin.rank() != 1 || begin != end || begin != strides) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Expected begin, end, and strides to be 1D equal size tensors, but got "
        "shapes ",
        begin.ToString(), ", ", end.ToString(), ", and ", strides.ToString(),
        " instead."));
  }
  StridedSliceSpec spec;
  spec.masks = masks;
  ASSIGN_OR_RETURN(spec.begin, IntegersOf(context.input(1)));
  ASSIGN_OR_RETURN(spec.end, IntegersOf(context.input(2)));
  ASSIGN_OR_RETURN(spec.strides, IntegersOf(context.input(3)));
  return PlanStridedSlice(spec, whole);
}

}  // namespace weft
