// What ScatterNdAdd and its like, for CPUs and for GPUs, find out from indices
// in host memory: each row of them names a slice of a variable by its first
// dimensions. Errors are INVALID_ARGUMENT.
//
// Threads: pure functions.
#ifndef WEFT_LIBS_KERNELS_STATE_ND_SLICES_H_
#define WEFT_LIBS_KERNELS_STATE_ND_SLICES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "libs/tensor/tensor.h"

namespace weft {

struct VariableSlices {
  Dims slices;       // the number of each row's
  int64_t size = 1;  // elements of one
};

absl::StatusOr<VariableSlices> FindVariableSlices(const TensorShape& variable,
                                                  const Tensor& indices,
                                                  const TensorShape& updates);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_STATE_ND_SLICES_H_
