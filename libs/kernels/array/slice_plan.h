// What a slice or a strided one means that a node's attributes and inputs tell:
// for kernels that read slices, and for those that write them.
#ifndef WEFT_LIBS_KERNELS_ARRAY_SLICE_PLAN_H_
#define WEFT_LIBS_KERNELS_ARRAY_SLICE_PLAN_H_

#include "absl/status/statusor.h"
#include "libs/kernels/op_kernel.h"
#include "libs/ops/array/strided_slice.h"
#include "libs/tensor/shape.h"

namespace weft {

// What a Slice takes, of each dimension.
struct SliceBox {
  Dims begin;
  Dims size;
};
// Of something of shape `whole`, as the inputs `begin` and `size` of a Slice
// say; a size of -1 is what is left. INVALID_ARGUMENT where they do not fit.
absl::StatusOr<SliceBox> ReadSliceBox(const TensorShape& whole,
                                      const Tensor& begin, const Tensor& size);

// The attributes begin_mask and its like.
absl::StatusOr<StridedSliceMasks> ReadMasks(
    const OpKernelConstruction& construction);

// Of a slice of something of shape `whole`; begin, end and strides are inputs
// 1, 2 and 3. INVALID_ARGUMENT where they do not fit.
absl::StatusOr<StridedSlicePlan> ReadPlan(OpKernelContext& context,
                                          const StridedSliceMasks& masks,
                                          const TensorShape& whole);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ARRAY_SLICE_PLAN_H_
