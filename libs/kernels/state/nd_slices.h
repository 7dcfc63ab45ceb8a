// What ScatterNdAdd and its like, for CPUs and for GPUs, find out from indices
// in host memory: each row of them names a slice of a variable by its first
// dimensions. Errors are INVALID_ARGUMENT; RESOURCE_EXHAUSTED where `charge`,
// which counts the numbers of slices, has no room for them.
//
// Threads: pure functions.
#ifndef WEFT_LIBS_KERNELS_STATE_ND_SLICES_H_
#define WEFT_LIBS_KERNELS_STATE_ND_SLICES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "libs/tensor/heap_charge.h"
#include "libs/tensor/tensor.h"

namespace weft {

struct VariableSlices {
  Dims slices;       // the number of each row's
  int64_t size = 1;  // elements of one
};

absl::StatusOr<VariableSlices> FindVariableSlices(HeapCharge& charge,
                                                  const TensorShape& variable,
                                                  const Tensor& indices,
                                                  const TensorShape& updates);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_STATE_ND_SLICES_H_
