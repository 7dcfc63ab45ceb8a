#include <cub/device/device_radix_sort.cuh>

#include "libs/kernels/cuda/elements.cu.h"
#include "libs/kernels/cuda/row_places.h"
#include "libs/kernels/cuda/training.cu.h"

namespace weft::cuda {
namespace {

constexpr int64_t kAligned = 256;

int64_t Aligned(int64_t bytes) {
  return (bytes + kAligned - 1) / kAligned * kAligned;
}

// Rows from 0 to `rows`, which stands for an index out of range.
int BitsOfRows(const Rows& rows) { return BitsFor(rows.rows + 1); }

size_t BytesToSort(const Rows& rows, int bits) {
  size_t bytes = 0;
  const uint64_t* in = nullptr;
  uint64_t* out = nullptr;
  cub::DeviceRadixSort::SortKeys(nullptr, bytes, in, out, rows.count, 0, bits);
  return bytes;
}

template <typename I>
__global__ void MakeKeys(RowOrder order, const I* indices, uint64_t* keys) {
  for (int64_t i = FirstItem(); i < order.count; i += ItemStep()) {
    keys[i] = KeyOf(order, static_cast<int64_t>(indices[i]), i);
  }
}

}  // namespace

int64_t RowOrderScratch(const Rows& rows) {
  const int bits = BitsFor(rows.count) + BitsOfRows(rows);
  if (bits > 64) return 0;
  return 2 * Aligned(rows.count * static_cast<int64_t>(sizeof(uint64_t))) +
         static_cast<int64_t>(BytesToSort(rows, bits));
}

RowOrder LaunchRowOrder(const Rows& rows, void* scratch, int64_t bytes,
                        cudaStream_t stream) {
  RowOrder order;
  order.place_bits = BitsFor(rows.count);
  order.count = rows.count;
  order.rows = rows.rows;
  order.row = rows.row;
  const int64_t size =
      Aligned(rows.count * static_cast<int64_t>(sizeof(uint64_t)));
  auto* const memory = static_cast<char*>(scratch);
  auto* const unordered = reinterpret_cast<uint64_t*>(memory);
  auto* const keys = reinterpret_cast<uint64_t*>(memory + size);
  if (rows.is_int64) {
    MakeKeys<<<BlocksFor(rows.count), kThreads, 0, stream>>>(
        order, static_cast<const int64_t*>(rows.indices), unordered);
  } else {
    MakeKeys<<<BlocksFor(rows.count), kThreads, 0, stream>>>(
        order, static_cast<const int32_t*>(rows.indices), unordered);
  }
  // Positions are sorted already, and the sort is stable.
  const int bits = order.place_bits + BitsOfRows(rows);
  // Too little memory is an error.
  auto left = static_cast<size_t>(bytes - 2 * size);
  order.error = cub::DeviceRadixSort::SortKeys(memory + 2 * size, left,
                                               unordered, keys, rows.count,
                                               order.place_bits, bits, stream);
  order.keys = keys;
  return order;
}

}  // namespace weft::cuda
