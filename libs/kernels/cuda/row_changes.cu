#include "libs/kernels/cuda/elements.cu.h"
#include "libs/kernels/cuda/row_places.h"
#include "libs/kernels/cuda/training.cu.h"

namespace weft::cuda {
namespace {

template <typename W>
__device__ __forceinline__ W Changed(Change change, W x, W by) {
  if constexpr (std::is_same_v<W, int64_t>) {
    // Wraps around.
    const auto a = static_cast<uint64_t>(x), b = static_cast<uint64_t>(by);
    return static_cast<int64_t>(change == Change::kAdd ? a + b : a - b);
  } else {
    return change == Change::kAdd ? x + by : x - by;
  }
}

template <typename T>
__global__ void SumChunks(Change change, RowOrder order, int64_t chunk_size,
                          int64_t n, const T* by, bool is_scalar,
                          Wide<T>* partial, T* to) {
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    const int64_t begin = i / order.row * chunk_size, column = i % order.row;
    const int64_t end =
        begin + chunk_size < order.count ? begin + chunk_size : order.count;
    ForEachRun(order, begin, end,
               [&](int64_t row, int64_t first, int64_t last, bool is_first) {
                 T* const place = to + row * order.row + column;
                 Wide<T> sum = is_first ? ToWide(*place) : Wide<T>(0);
                 for (int64_t j = first; j < last; ++j) {
                   const int64_t at =
                       is_scalar ? 0 : PlaceOf(order, j) * order.row + column;
                   sum = Changed(change, sum, ToWide(by[at]));
                 }
                 if (is_first) {
                   *place = FromWide<T>(sum);
                 } else {
                   partial[i] = sum;
                 }
               });
  }
}

template <typename T>
__global__ void AddPartialSums(RowOrder order, int64_t chunk_size, int64_t n,
                               const Wide<T>* partial, T* to) {
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    const int64_t chunk = i / order.row, column = i % order.row;
    const int64_t end = EndOfPartialSums(order, chunk, chunk_size);
    if (end == chunk) continue;
    T* const place = to + RowOf(order, chunk * chunk_size) * order.row + column;
    Wide<T> sum = ToWide(*place);
    for (int64_t c = chunk; c < end; ++c) {
      sum = Changed(Change::kAdd, sum, partial[c * order.row + column]);
    }
    *place = FromWide<T>(sum);
  }
}

template <typename T>
__global__ void ReplaceRows(RowOrder order, const T* by, bool is_scalar,
                            T* to) {
  const int64_t n = order.count * order.row;
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    const int64_t j = i / order.row, column = i % order.row;
    const int64_t row = RowOf(order, j);
    if (row >= order.rows || !IsLastOfRow(order, j)) continue;
    to[row * order.row + column] =
        by[is_scalar ? 0 : PlaceOf(order, j) * order.row + column];
  }
}

template <typename W>
__device__ __forceinline__ W Reduced(RowReduction op, W a, W b) {
  switch (op) {
    case RowReduction::kMax:
      return a > b ? a : b;
    case RowReduction::kMin:
      return a < b ? a : b;
    default:
      return a * b;
  }
}

// One thread for each element of a row whose changes begin at a position.
template <typename T>
__global__ void ReduceRows(RowReduction op, RowOrder order, const T* by,
                           T* to) {
  const int64_t n = order.count * order.row;
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    const int64_t first = i / order.row, column = i % order.row;
    const int64_t row = RowOf(order, first);
    if (row >= order.rows || !IsFirstOfRow(order, first)) continue;
    T* const place = to + row * order.row + column;
    Wide<T> result = ToWide(*place);
    for (int64_t j = first; j < order.count && RowOf(order, j) == row; ++j) {
      const int64_t at = PlaceOf(order, j) * order.row + column;
      result = Reduced(op, result, ToWide(by[at]));
    }
    *place = FromWide<T>(result);
  }
}

int64_t ChunksOf(const RowOrder& order) {
  const int64_t chunk = ChunkOfChanges(order.count);
  return (order.count + chunk - 1) / chunk;
}

}  // namespace

int64_t RowSumScratch(ElementType type, const RowOrder& order) {
  const bool is_wide =
      type == ElementType::kDouble || type == ElementType::kInt64;
  const int64_t chunks = ChunksOf(order);
  // A single chunk has no partial sums.
  return chunks == 1 ? 0 : chunks * order.row * (is_wide ? 8 : 4);
}

void LaunchRowSum(Change change, ElementType type, const RowOrder& order,
                  const void* by, bool is_scalar, void* scratch, void* to,
                  cudaStream_t stream) {
  const int64_t chunk_size = ChunkOfChanges(order.count);
  const int64_t n = ChunksOf(order) * order.row;
  ForNumbers(type, [&]<typename T>(Tag<T>) {
    auto* const partial = static_cast<Wide<T>*>(scratch);
    SumChunks<T><<<BlocksFor(n), kThreads, 0, stream>>>(
        change, order, chunk_size, n, static_cast<const T*>(by), is_scalar,
        partial, static_cast<T*>(to));
    if (order.count <= chunk_size) return;
    AddPartialSums<T><<<BlocksFor(n), kThreads, 0, stream>>>(
        order, chunk_size, n, partial, static_cast<T*>(to));
  });
}

void LaunchRowReduction(RowReduction op, ElementType type,
                        const RowOrder& order, const void* by, void* to,
                        cudaStream_t stream) {
  const int64_t n = order.count * order.row;
  ForFloats(type, [&]<typename T>(Tag<T>) {
    ReduceRows<<<BlocksFor(n), kThreads, 0, stream>>>(
        op, order, static_cast<const T*>(by), static_cast<T*>(to));
  });
}

void LaunchRowReplacement(int64_t element_size, const RowOrder& order,
                          const void* by, bool is_scalar, void* to,
                          cudaStream_t stream) {
  const int64_t n = order.count * order.row;
  ForSize(element_size, [&]<typename T>(Tag<T>) {
    ReplaceRows<T><<<BlocksFor(n), kThreads, 0, stream>>>(
        order, static_cast<const T*>(by), is_scalar, static_cast<T*>(to));
  });
}

}  // namespace weft::cuda
