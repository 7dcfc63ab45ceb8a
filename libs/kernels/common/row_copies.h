// Copies of rows of memory by index, for gathers, stitches and updates of rows.
//
// The rows may be anywhere in a table larger than the caches, so the next rows
// are prefetched while one is copied.
//
// Threads: pure functions.
#ifndef WEFT_LIBS_KERNELS_COMMON_ROW_COPIES_H_
#define WEFT_LIBS_KERNELS_COMMON_ROW_COPIES_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace weft {

// The number of rows to prefetch ahead of the current one.
inline constexpr int64_t kRowsAhead = 8;

// The cost of copying a row, in elements of simple arithmetic
// (parallel_loop.h).
inline int64_t CopyCost(int64_t bytes) { return bytes / 8; }

// Prefetches the first cache lines of a row, every second one: the processor
// fetches the adjacent lines by itself, and predicts the following ones. (1,045
// rows of 256 bytes, anywhere in 128 MB, took 42 us without prefetching and
// with prefetching of each line, and 27 us like this.)
// asked for, 27 so.)
inline void PrefetchRow(const void* row, int64_t bytes) {
  constexpr int64_t kTwoLines = 128, kMost = 512;
  const char* const first = static_cast<const char*>(row);
  const int64_t asked = std::min(bytes, kMost);
  for (int64_t i = 0; i < asked; i += kTwoLines) __builtin_prefetch(first + i);
}

// kBytes is the size of a row if it is known at compile time, else 0.
template <int64_t kBytes, typename Index>
void GatherRowsOf(const char* table, const Index* indices, int64_t count,
                  int64_t bytes, char* out) {
  const int64_t size = kBytes != 0 ? kBytes : bytes;
  for (int64_t i = 0; i < count; ++i, out += size) {
    if (i + kRowsAhead < count) {
      PrefetchRow(table + static_cast<int64_t>(indices[i + kRowsAhead]) * size,
                  size);
    }
    std::memcpy(out, table + static_cast<int64_t>(indices[i]) * size, size);
  }
}

// Copies row indices[i] of `table`, of `bytes` bytes, to row i of `out`.
// REQUIRES: all indices are in range, and elements are plain bytes.
template <typename Index>
void GatherRows(const void* table, const Index* indices, int64_t count,
                int64_t bytes, void* out) {
  const char* const from = static_cast<const char*>(table);
  char* const to = static_cast<char*>(out);
  if (bytes == 4) return GatherRowsOf<4>(from, indices, count, bytes, to);
  if (bytes == 8) return GatherRowsOf<8>(from, indices, count, bytes, to);
  GatherRowsOf<0>(from, indices, count, bytes, to);
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_COMMON_ROW_COPIES_H_
