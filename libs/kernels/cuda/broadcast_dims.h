// BroadcastDims describes broadcast operands for launches.
#ifndef WEFT_LIBS_KERNELS_CUDA_BROADCAST_DIMS_H_
#define WEFT_LIBS_KERNELS_CUDA_BROADCAST_DIMS_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "libs/kernels/cuda/math.cu.h"
#include "libs/tensor/shape.h"

namespace weft {

// For two or three operands that broadcast to shape `out`. Adjacent dimensions
// with the same broadcast operands are joined. Returns UNIMPLEMENTED if more
// than cuda::kMostDims remain.
absl::StatusOr<cuda::Dims> BroadcastDims(
    absl::Span<const TensorShape* const> operands, const TensorShape& out);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_CUDA_BROADCAST_DIMS_H_
