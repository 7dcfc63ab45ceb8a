// How launches walk operands that broadcast.
#ifndef WEFT_LIBS_KERNELS_CUDA_BROADCAST_DIMS_H_
#define WEFT_LIBS_KERNELS_CUDA_BROADCAST_DIMS_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "libs/kernels/cuda/math.cu.h"
#include "libs/tensor/shape.h"

namespace weft {

// For two or three operands of a result of shape `out`, which they broadcast
// to.
// Neighbouring dimensions along which the same operands move are joined.
// UNIMPLEMENTED when more than cuda::kMostDims are left.
absl::StatusOr<cuda::Dims> BroadcastDims(
    absl::Span<const TensorShape* const> operands, const TensorShape& out);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_CUDA_BROADCAST_DIMS_H_
