#include "libs/kernels/array/slice_plan.h"

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"

namespace weft {
namespace {

// Replaces a size of -1 by the remaining size.
absl::Status CheckRange(int i, int64_t whole, int64_t begin, int64_t& size) {
  if (begin < 0 || begin > whole) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Expected begin[", i, "] in [0, ", whole, "], but got ", begin));
  }
  if (size == -1) size = whole - begin;
  if (size < 0 || size > whole - begin) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Expected size[", i, "] in [0, ", whole - begin, "], but got ", size));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SliceBox> ReadSliceBox(const TensorShape& whole,
                                      const Tensor& begin, const Tensor& size) {
  if (begin.rank() > 1 || size.rank() > 1 ||
      begin.num_elements() != whole.rank() ||
      size.num_elements() != whole.rank()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Expected begin and size arguments to be 1-D tensors of size ",
        whole.rank(), ", but got shapes ", begin.shape().ToString(), " and ",
        size.shape().ToString(), " instead."));
  }
  SliceBox box;
  ASSIGN_OR_RETURN(box.begin, IntegersOf(begin));
  ASSIGN_OR_RETURN(box.size, IntegersOf(size));
  for (int i = 0; i < whole.rank(); ++i) {
    RETURN_IF_ERROR(CheckRange(i, whole.dim(i), box.begin[i], box.size[i]));
  }
  return box;
}

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
