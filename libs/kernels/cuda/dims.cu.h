// For *.cu only: the positions of operands' elements.
#ifndef WEFT_LIBS_KERNELS_CUDA_DIMS_CU_H_
#define WEFT_LIBS_KERNELS_CUDA_DIMS_CU_H_

#include <cstdint>

#include "libs/kernels/cuda/math.cu.h"

namespace weft::cuda {

template <int kOperands>
struct Offsets {
  int64_t of[kOperands] = {};
};

// The offsets at position i < n. `Index` is a type that holds n; 4-byte types
// divide fast.
template <int kOperands, typename Index>
__device__ __forceinline__ Offsets<kOperands> OffsetsOf(const Dims& dims,
                                                        Index i) {
  Offsets<kOperands> at;
  for (int d = 0; d < dims.rank; ++d) {
    Index position = i;  // of the outermost dimension: no division needed
    if (d + 1 < dims.rank) {
      const Index size = static_cast<Index>(dims.sizes[d]);
      const Index rest = i / size;
      position = i - rest * size;
      i = rest;
    }
    for (int j = 0; j < kOperands; ++j) {
      at.of[j] += static_cast<int64_t>(position) * dims.strides[j][d];
    }
  }
  return at;
}

template <int kOperands>
__device__ __forceinline__ Offsets<kOperands> OffsetsAt(const Dims& dims,
                                                        int64_t n, int64_t i) {
  if (n <= INT32_MAX) {
    return OffsetsOf<kOperands>(dims, static_cast<uint32_t>(i));
  }
  return OffsetsOf<kOperands>(dims, static_cast<uint64_t>(i));
}

}  // namespace weft::cuda

#endif  // WEFT_LIBS_KERNELS_CUDA_DIMS_CU_H_
