// Slice specifications from a node's attributes and inputs, for kernels that
// read or write slices.
#ifndef WEFT_LIBS_KERNELS_ARRAY_SLICE_PLAN_H_
#define WEFT_LIBS_KERNELS_ARRAY_SLICE_PLAN_H_

#include "absl/status/statusor.h"
#include "libs/kernels/op_kernel.h"
#include "libs/ops/array/strided_slice.h"
#include "libs/tensor/shape.h"

namespace weft {

// SliceBox is the begin and the size of a Slice in each dimension.
struct SliceBox {
  Dims begin;
  Dims size;
};
// Reads the inputs `begin` and `size` of a Slice of a tensor of shape `whole`;
// a size of -1 means the rest. Returns INVALID_ARGUMENT if they do not fit.
absl::StatusOr<SliceBox> ReadSliceBox(const TensorShape& whole,
                                      const Tensor& begin, const Tensor& size);

// Reads begin_mask and the other mask attributes.
absl::StatusOr<StridedSliceMasks> ReadMasks(
    const OpKernelConstruction& construction);

// Plans a strided slice of a tensor of shape `whole`; begin, end and strides
// are inputs 1, 2 and 3. Returns INVALID_ARGUMENT if they do not fit.
absl::StatusOr<StridedSlicePlan> ReadPlan(OpKernelContext& context,
                                          const StridedSliceMasks& masks,
                                          const TensorShape& whole);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ARRAY_SLICE_PLAN_H_
