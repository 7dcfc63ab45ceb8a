// The division of row changes into chunks, for GPU kernels and for tests on the
// CPU.
//
// Sums of a row's changes: the ordered changes are divided into chunks, which
// are summed in parallel. The chunk in which a row's changes begin adds its sum
// to the row. Sums of later chunks are partial and are added afterwards, in
// order, by the thread that owns the first of them.
#ifndef WEFT_LIBS_KERNELS_CUDA_ROW_PLACES_H_
#define WEFT_LIBS_KERNELS_CUDA_ROW_PLACES_H_

#include <cstdint>

#include "libs/kernels/cuda/host_device.h"
#include "libs/kernels/cuda/sort.cu.h"
#include "libs/kernels/cuda/training.cu.h"

namespace weft::cuda {

// Larger chunks have longer sequential sums, smaller chunks more partial sums:
// this balances both.
inline int64_t ChunkOfChanges(int64_t count) {
  int64_t chunk = 32;
  while (chunk * chunk < count) chunk *= 2;
  return chunk;
}

WEFT_HOST_DEVICE inline uint64_t KeyOf(const RowOrder& order, int64_t index,
                                       int64_t place) {
  const bool is_row = index >= 0 && index < order.rows;
  const auto row = static_cast<uint64_t>(is_row ? index : order.rows);
  return row << order.place_bits | static_cast<uint64_t>(place);
}

// The row of change `j` in sorted order.
WEFT_HOST_DEVICE inline int64_t RowOf(const RowOrder& order, int64_t j) {
  return static_cast<int64_t>(order.keys[j] >> order.place_bits);
}
WEFT_HOST_DEVICE inline int64_t PlaceOf(const RowOrder& order, int64_t j) {
  return static_cast<int64_t>(order.keys[j] &
                              ((uint64_t{1} << order.place_bits) - 1));
}
WEFT_HOST_DEVICE inline bool IsFirstOfRow(const RowOrder& order, int64_t j) {
  return j == 0 || RowOf(order, j - 1) != RowOf(order, j);
}
WEFT_HOST_DEVICE inline bool IsLastOfRow(const RowOrder& order, int64_t j) {
  return j + 1 == order.count || RowOf(order, j + 1) != RowOf(order, j);
}

// Sums changes [begin, end): calls sum(row, first, last, is_first) for those of
// each row; `is_first` tells whether the row's changes begin here.
template <typename Sum>
WEFT_HOST_DEVICE inline void ForEachRun(const RowOrder& order, int64_t begin,
                                        int64_t end, Sum sum) {
  for (int64_t first = begin; first < end;) {
    const int64_t row = RowOf(order, first);
    if (row >= order.rows) return;  // all later rows are out of range, too
    int64_t last = first + 1;
    while (last < end && RowOf(order, last) == row) ++last;
    sum(row, first, last, IsFirstOfRow(order, first));
    first = last;
  }
}

// Returns whether the chunk starts with changes of a row that began before it.
WEFT_HOST_DEVICE inline bool StartsInsideRow(const RowOrder& order,
                                             int64_t chunk,
                                             int64_t chunk_size) {
  const int64_t begin = chunk * chunk_size;
  return begin > 0 && begin < order.count && !IsFirstOfRow(order, begin);
}

// The chunks [chunk, end) with partial sums of one row, if `chunk` is the first
// of them; otherwise end is `chunk`.
WEFT_HOST_DEVICE inline int64_t EndOfPartialSums(const RowOrder& order,
                                                 int64_t chunk,
                                                 int64_t chunk_size) {
  if (!StartsInsideRow(order, chunk, chunk_size)) return chunk;
  const int64_t row = RowOf(order, chunk * chunk_size);
  if (row >= order.rows) return chunk;
  const auto is_of_row = [&](int64_t other) {
    return StartsInsideRow(order, other, chunk_size) &&
           RowOf(order, other * chunk_size) == row;
  };
  if (is_of_row(chunk - 1)) return chunk;
  int64_t end = chunk + 1;
  while (is_of_row(end)) ++end;
  return end;
}

}  // namespace weft::cuda

#endif  // WEFT_LIBS_KERNELS_CUDA_ROW_PLACES_H_
