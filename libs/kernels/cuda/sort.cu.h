// Sorts of pairs of 64-bit numbers that lie in a GPU's memory, by CUB.
#ifndef WEFT_LIBS_KERNELS_CUDA_SORT_CU_H_
#define WEFT_LIBS_KERNELS_CUDA_SORT_CU_H_

#include <cstdint>

#include "libs/device/cuda/cuda_types.h"

namespace weft::cuda {

// Bits that numbers below `count` need.
inline int BitsFor(int64_t count) {
  int bits = 0;
  while (bits < 63 && (int64_t{1} << bits) < count) ++bits;
  return bits;
}

// n > 0 keys, and the number that goes with each.
struct PairSort {
  int64_t n = 0;
  // Of the keys, those that count, from begin_bit to before end_bit.
  int begin_bit = 0, end_bit = 64;
  const uint64_t* keys = nullptr;
  const int64_t* values = nullptr;
  // Lie elsewhere.
  uint64_t* sorted_keys = nullptr;
  int64_t* sorted_values = nullptr;
};

// Bytes of scratch memory for sorts of up to n pairs; 0 when CUDA can't tell.
int64_t PairSortScratch(int64_t n);

// From the smallest key on; equal ones stay in their order. The cudaError_t,
// which the launch leaves to nobody else.
int LaunchPairSort(const PairSort& sort, void* scratch, int64_t bytes,
                   cudaStream_t stream);

}  // namespace weft::cuda

#endif  // WEFT_LIBS_KERNELS_CUDA_SORT_CU_H_
