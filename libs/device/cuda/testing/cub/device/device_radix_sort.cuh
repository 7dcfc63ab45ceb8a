// The calls of cub::DeviceRadixSort that *.cu sources make, of keys of 64 bits,
// for kernels that the processor runs (EmulatedCuda).
#ifndef WEFT_LIBS_DEVICE_CUDA_TESTING_CUB_DEVICE_DEVICE_RADIX_SORT_CUH_
#define WEFT_LIBS_DEVICE_CUDA_TESTING_CUB_DEVICE_DEVICE_RADIX_SORT_CUH_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "libs/device/cuda/testing/emulated_kernel.h"

namespace cub {

struct DeviceRadixSort {
  static cudaError_t SortKeys(void* scratch, size_t& bytes, const uint64_t* in,
                              uint64_t* out, int64_t n, int begin_bit,
                              int end_bit, cudaStream_t stream = nullptr) {
    const uint64_t* const nothing = nullptr;
    return SortPairs(scratch, bytes, in, out, nothing,
                     static_cast<uint64_t*>(nullptr), n, begin_bit, end_bit,
                     stream);
  }

  // `values` may be null. Without `scratch` it says how much that has to be.
  template <typename V>
  static cudaError_t SortPairs(void* scratch, size_t& bytes, const uint64_t* in,
                               uint64_t* out, const V* values, V* sorted,
                               int64_t n, int begin_bit, int end_bit,
                               cudaStream_t stream) {
    const size_t needed = static_cast<size_t>(n) + 1;
    if (scratch == nullptr) {
      bytes = needed;
      return cudaSuccess;
    }
    if (bytes < needed) return cudaErrorInvalidValue;
    return weft::EmulatedEnqueue(stream, [=] {
      const uint64_t mask = BitsFrom(begin_bit) & ~BitsFrom(end_bit);
      std::vector<int64_t> order(static_cast<size_t>(n));
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        return (in[a] & mask) < (in[b] & mask);
      });
      for (int64_t i = 0; i < n; ++i) {
        const int64_t from = order[static_cast<size_t>(i)];
        out[i] = in[from];
        if (values != nullptr) sorted[i] = values[from];
      }
      // What lies there is lost.
      std::fill_n(static_cast<char*>(scratch), needed, '\xff');
    });
  }

 private:
  static uint64_t BitsFrom(int bit) {
    return bit < 64 ? ~uint64_t{0} << bit : 0;
  }
};

}  // namespace cub

#endif  // WEFT_LIBS_DEVICE_CUDA_TESTING_CUB_DEVICE_DEVICE_RADIX_SORT_CUH_
