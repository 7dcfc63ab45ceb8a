#include <cub/device/device_radix_sort.cuh>

#include "libs/kernels/cuda/sort.cu.h"

namespace weft::cuda {
namespace {

cudaError_t Sort(const PairSort& sort, void* scratch, size_t& bytes,
                 cudaStream_t stream) {
  return cub::DeviceRadixSort::SortPairs(
      scratch, bytes, sort.keys, sort.sorted_keys, sort.values,
      sort.sorted_values, sort.n, sort.begin_bit, sort.end_bit, stream);
}

}  // namespace

int64_t PairSortScratch(int64_t n) {
  PairSort sort;
  sort.n = n;  // all bits need the most memory
  size_t bytes = 0;
  if (Sort(sort, nullptr, bytes, nullptr) != cudaSuccess) return 0;
  return static_cast<int64_t>(bytes);
}

int LaunchPairSort(const PairSort& sort, void* scratch, int64_t bytes,
                   cudaStream_t stream) {
  auto size = static_cast<size_t>(bytes);
  return Sort(sort, scratch, size, stream);
}

}  // namespace weft::cuda
