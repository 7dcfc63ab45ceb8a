#include <cstring>

#include "libs/kernels/cuda/array.cu.h"
#include "libs/kernels/cuda/elements.cu.h"

namespace weft::cuda {
namespace {

__device__ int64_t PlaceAt(const Pattern& pattern, int64_t i) {
  int64_t place = pattern.offset;
  for (int d = 0; d < pattern.rank; ++d) {
    place += i % pattern.sizes[d] * pattern.strides[d];
    i /= pattern.sizes[d];
  }
  return place;
}

template <typename T>
__global__ void FromPattern(Pattern pattern, int64_t n, const T* in, T* out) {
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    out[i] = in[PlaceAt(pattern, i)];
  }
}

template <typename T>
__global__ void ToPattern(Pattern pattern, int64_t n, const T* in, T* out) {
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    out[PlaceAt(pattern, i)] = in[i];
  }
}

template <typename T>
__global__ void GatherRows(Gather gather, int64_t n, const T* params, T* out) {
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    const int64_t inner = i % gather.inner;
    const int64_t position = i / gather.inner % gather.count;
    const int64_t box = i / gather.inner / gather.count;
    const int64_t at = box / gather.outer * gather.count + position;
    const int64_t index =
        gather.is_int64 ? static_cast<const int64_t*>(gather.indices)[at]
                        : static_cast<int64_t>(
                              static_cast<const int32_t*>(gather.indices)[at]);
    const bool is_row = index >= 0 && index < gather.rows;
    out[i] = is_row ? params[(box * gather.rows + index) * gather.inner + inner]
                    : T{};
  }
}

__device__ int64_t HotAt(const OneHot& one_hot, int64_t i) {
  switch (one_hot.index_size) {
    case 1:
      return static_cast<const uint8_t*>(one_hot.indices)[i];
    case 4:
      return static_cast<const int32_t*>(one_hot.indices)[i];
    default:
      return static_cast<const int64_t*>(one_hot.indices)[i];
  }
}

template <typename T>
__global__ void SetOneHot(OneHot one_hot, int64_t n, const T* on, const T* off,
                          T* out) {
  const T on_value = *on, off_value = *off;
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    const int64_t after = i % one_hot.after;
    const int64_t depth = i / one_hot.after % one_hot.depth;
    const int64_t before = i / one_hot.after / one_hot.depth;
    const int64_t hot = HotAt(one_hot, before * one_hot.after + after);
    out[i] = hot == depth ? on_value : off_value;
  }
}

template <typename T>
__global__ void SumRows(ChosenRows rows, const T* in, T* out) {
  using W = Wide<T>;
  const int64_t n = rows.targets_count * rows.row;
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    const int64_t target = i / rows.row, column = i % rows.row;
    W sum = 0;
    for (int64_t j = rows.begins[target]; j < rows.begins[target + 1]; ++j) {
      const W value = ToWide(in[rows.chosen[j] * rows.row + column]);
      sum += rows.scales == nullptr ? value
                                    : value * static_cast<W>(rows.scales[j]);
    }
    if (rows.divisors != nullptr) sum /= static_cast<W>(rows.divisors[target]);
    out[rows.targets[target] * rows.row + column] = FromWide<T>(sum);
  }
}

template <typename T>
__global__ void ReverseSequences(Sequences s, const T* in, T* out) {
  for (int64_t i = FirstItem(); i < s.n; i += ItemStep()) {
    const int64_t length = s.lengths[i / s.sequence_stride % s.sequences];
    const int64_t step = i / s.step_stride % s.steps;
    const int64_t from = step < length ? length - 1 - step : step;
    out[i] = in[i + (from - step) * s.step_stride];
  }
}

template <typename T>
__global__ void RowsFrom(int64_t n, int64_t row, const int64_t* rows, T* out) {
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    const int64_t* const pair = rows + 2 * (i / row);
    const auto* const source =
        reinterpret_cast<const T*>(static_cast<uintptr_t>(pair[1]));
    out[pair[0] * row + i % row] = source[i % row];
  }
}

template <typename T>
__global__ void SetValue(int64_t n, T value, T* out) {
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) out[i] = value;
}

}  // namespace

void LaunchFromPattern(int64_t size, const Pattern& pattern, int64_t n,
                       const void* in, void* out, cudaStream_t stream) {
  ForSize(size, [&](auto tag) {
    using T = typename decltype(tag)::type;
    FromPattern<T><<<BlocksFor(n), kThreads, 0, stream>>>(
        pattern, n, static_cast<const T*>(in), static_cast<T*>(out));
  });
}

void LaunchToPattern(int64_t size, const Pattern& pattern, int64_t n,
                     const void* in, void* out, cudaStream_t stream) {
  ForSize(size, [&](auto tag) {
    using T = typename decltype(tag)::type;
    ToPattern<T><<<BlocksFor(n), kThreads, 0, stream>>>(
        pattern, n, static_cast<const T*>(in), static_cast<T*>(out));
  });
}

void LaunchGather(int64_t size, const Gather& gather, const void* params,
                  void* out, cudaStream_t stream) {
  const int64_t n = gather.batch * gather.outer * gather.count * gather.inner;
  ForSize(size, [&](auto tag) {
    using T = typename decltype(tag)::type;
    GatherRows<T><<<BlocksFor(n), kThreads, 0, stream>>>(
        gather, n, static_cast<const T*>(params), static_cast<T*>(out));
  });
}

void LaunchOneHot(int64_t size, const OneHot& one_hot, const void* on,
                  const void* off, void* out, cudaStream_t stream) {
  const int64_t n = one_hot.before * one_hot.depth * one_hot.after;
  ForSize(size, [&](auto tag) {
    using T = typename decltype(tag)::type;
    SetOneHot<T><<<BlocksFor(n), kThreads, 0, stream>>>(
        one_hot, n, static_cast<const T*>(on), static_cast<const T*>(off),
        static_cast<T*>(out));
  });
}

void LaunchSumsOfRows(ElementType type, const ChosenRows& rows, const void* in,
                      void* out, cudaStream_t stream) {
  const int64_t n = rows.targets_count * rows.row;
  ForFloats(type, [&]<typename T>(Tag<T>) {
    SumRows<<<BlocksFor(n), kThreads, 0, stream>>>(
        rows, static_cast<const T*>(in), static_cast<T*>(out));
  });
}

void LaunchReverseSequences(int64_t size, const Sequences& sequences,
                            const void* in, void* out, cudaStream_t stream) {
  ForSize(size, [&]<typename T>(Tag<T>) {
    ReverseSequences<T><<<BlocksFor(sequences.n), kThreads, 0, stream>>>(
        sequences, static_cast<const T*>(in), static_cast<T*>(out));
  });
}

void LaunchRowsFrom(int64_t count, int64_t row_bytes, const int64_t* rows,
                    void* out, cudaStream_t stream) {
  // Rows are contiguous: a piece that divides the row size keeps them aligned.
  int64_t piece = 16;
  while (row_bytes % piece != 0) piece /= 2;
  const int64_t row = row_bytes / piece, n = count * row;
  ForSize(piece, [&]<typename T>(Tag<T>) {
    RowsFrom<<<BlocksFor(n), kThreads, 0, stream>>>(n, row, rows,
                                                    static_cast<T*>(out));
  });
}

void LaunchValue(int64_t size, int64_t n, const void* value, void* out,
                 cudaStream_t stream) {
  ForSize(size, [&]<typename T>(Tag<T>) {
    T copy;
    std::memcpy(&copy, value, sizeof(T));
    SetValue<<<BlocksFor(n), kThreads, 0, stream>>>(n, copy,
                                                    static_cast<T*>(out));
  });
}

}  // namespace weft::cuda
