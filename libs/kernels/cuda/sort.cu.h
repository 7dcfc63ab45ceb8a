// Sorts of pairs of 64-bit numbers in GPU memory, by CUB.
#ifndef WEFT_LIBS_KERNELS_CUDA_SORT_CU_H_
#define WEFT_LIBS_KERNELS_CUDA_SORT_CU_H_

#include <cstdint>

#include "libs/device/cuda/cuda_types.h"

namespace weft::cuda {

// The number of bits of numbers below `count`.
inline int BitsFor(int64_t count) {
  int bits = 0;
  while (bits < 63 && (int64_t{1} << bits) < count) ++bits;
  return bits;
}

// n > 0 keys, with a number for each.
struct PairSort {
  int64_t n = 0;
  // The significant bits of the keys: [begin_bit, end_bit).
  int begin_bit = 0, end_bit = 64;
  const uint64_t* keys = nullptr;
  const int64_t* values = nullptr;
  // Must not overlap the inputs.
  uint64_t* sorted_keys = nullptr;
  int64_t* sorted_values = nullptr;
};

// The size of the scratch memory for up to n pairs in bytes; 0 if CUDA cannot
// compute it.
int64_t PairSortScratch(int64_t n);

// Sorts by ascending keys; stable. Returns the cudaError_t, which is cleared.
int LaunchPairSort(const PairSort& sort, void* scratch, int64_t bytes,
                   cudaStream_t stream);

}  // namespace weft::cuda

#endif  // WEFT_LIBS_KERNELS_CUDA_SORT_CU_H_
