// What GatherNd, ScatterNd and TensorScatterUpdate, for CPUs and for GPUs, find
// out from tuples of indices in host memory: each names a slice of a tensor by
// its first dimensions. Errors are INVALID_ARGUMENT; RESOURCE_EXHAUSTED where
// `charge`, which counts the numbers of slices, has no room for them.
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
  // The number of the slice that tuple `i` names; -1: there is none.
  int64_t slice(int64_t i) const { return numbers.empty() ? 0 : numbers[i]; }

  int64_t count = 0;  // tuples
  int64_t inner = 1;  // elements of one slice
  // Of all tuples. None where tuples are empty, so that each names the whole
  // tensor: there may be any number of these.
  Dims numbers;
};

// Whether a tuple that names no slice is passed over, and is no error.
bool IgnoresBadIndices(const OpKernelConstruction& construction);

// Of all slices that tuples name of a tensor of shape `params`.
absl::StatusOr<TensorShape> ShapeOfSlices(const TensorShape& params,
                                          const TensorShape& indices);
// Which these are; `node` is for error texts. REQUIRES: ShapeOfSlices is OK.
absl::StatusOr<NdSlices> SlicesToGather(HeapCharge& charge,
                                        const TensorShape& params,
                                        const Tensor& indices, bool ignores_bad,
                                        const std::string& node);

// Where in a tensor of shape `target` updates of that shape go.
absl::StatusOr<NdSlices> SlicesToScatter(HeapCharge& charge,
                                         const TensorShape& target,
                                         const Tensor& indices,
                                         const TensorShape& updates,
                                         bool ignores_bad);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ARRAY_ND_INDICES_H_
