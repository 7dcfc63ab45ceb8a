// Resolves tuples of indices in host memory for GatherNd, ScatterNd and
// TensorScatterUpdate, on CPUs and GPUs. Each tuple selects a slice of a tensor
// by its first dimensions. Errors are INVALID_ARGUMENT, or RESOURCE_EXHAUSTED
// if the numbers of slices, which `charge` counts, exceed the memory bound.
//
// Threads: pure functions.
#ifndef WEFT_LIBS_KERNELS_ARRAY_ND_INDICES_H_
#define WEFT_LIBS_KERNELS_ARRAY_ND_INDICES_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "libs/kernels/op_kernel.h"
#include "libs/tensor/heap_charge.h"
#include "libs/tensor/tensor.h"

namespace weft {

struct NdSlices {
  // Returns the number of the slice that tuple `i` selects, or -1 if the tuple
  // is out of range.
  int64_t slice(int64_t i) const { return numbers.empty() ? 0 : numbers[i]; }

  int64_t count = 0;  // tuples
  int64_t inner = 1;  // elements of one slice
  // The slice numbers of all tuples. Empty if tuples are empty, so that each
  // selects the whole tensor: there may be any number of these.
  Dims numbers;
};

// Returns whether an out-of-range tuple is ignored instead of an error.
bool IgnoresBadIndices(const OpKernelConstruction& construction);

// Returns the shape of all slices that are selected from a tensor of shape
// `params`.
absl::StatusOr<TensorShape> ShapeOfSlices(const TensorShape& params,
                                          const TensorShape& indices);
// Returns the selected slices. `node` is for error texts. REQUIRES:
// ShapeOfSlices is OK.
absl::StatusOr<NdSlices> SlicesToGather(HeapCharge& charge,
                                        const TensorShape& params,
                                        const Tensor& indices, bool ignores_bad,
                                        const std::string& node);

// Returns the slices of a tensor of shape `target` to which the updates go.
absl::StatusOr<NdSlices> SlicesToScatter(HeapCharge& charge,
                                         const TensorShape& target,
                                         const Tensor& indices,
                                         const TensorShape& updates,
                                         bool ignores_bad);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ARRAY_ND_INDICES_H_
