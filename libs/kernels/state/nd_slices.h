// Resolves indices in host memory for ScatterNdAdd and related ops, on CPUs and
// GPUs. Each row of indices selects a slice of a variable by its first
// dimensions. Errors are INVALID_ARGUMENT, or RESOURCE_EXHAUSTED if the numbers
// of slices, which `charge` counts, exceed the memory bound.
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
  Dims slices;       // the slice number of each row
  int64_t size = 1;  // elements of one slice
};

absl::StatusOr<VariableSlices> FindVariableSlices(HeapCharge& charge,
                                                  const TensorShape& variable,
                                                  const Tensor& indices,
                                                  const TensorShape& updates);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_STATE_ND_SLICES_H_
