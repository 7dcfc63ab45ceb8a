#include "libs/kernels/cuda/elements.cu.h"
#include "libs/kernels/cuda/lines.cu.h"

namespace weft::cuda {
namespace {

template <typename W>
__device__ __forceinline__ W Combined(bool multiplies, W a, W b) {
  if constexpr (std::is_same_v<W, int64_t>) {
    // Wraps around.
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return static_cast<int64_t>(multiplies ? x * y : x + y);
  } else {
    return multiplies ? a * b : a + b;
  }
}

// Position `i` of the line, in the order of the scan.
__device__ __forceinline__ int64_t PlaceInLine(const ScanArgs& args,
                                               int64_t line, int64_t i) {
  const int64_t at = args.reverse ? args.size - 1 - i : i;
  return (line / args.inner * args.size + at) * args.inner + line % args.inner;
}

// One thread per line.
template <typename T>
__global__ void ScanManyLines(ScanArgs args, const T* x, T* out) {
  const int64_t lines = args.outer * args.inner;
  for (int64_t line = FirstItem(); line < lines; line += ItemStep()) {
    auto sum = static_cast<Wide<T>>(args.multiplies ? 1 : 0);
    for (int64_t i = 0; i < args.size; ++i) {
      const int64_t at = PlaceInLine(args, line, i);
      const Wide<T> next = Combined(args.multiplies, sum, ToWide(x[at]));
      out[at] = FromWide<T>(args.exclusive ? sum : next);
      sum = next;
    }
  }
}

// The division of a line into chunks, which blocks scan in parallel.
struct Chunks {
  int64_t size = 0;   // elements per chunk
  int64_t count = 0;  // chunks per line
};

// One block per chunk of each line. It processes as many elements at a time as
// it has threads; each combines its element with earlier ones at doubling
// distances. `starts` is the value before each chunk; null: none.
template <typename T>
__global__ void ScanChunks(ScanArgs args, Chunks chunks, const Wide<T>* starts,
                           const T* x, T* out) {
  using W = Wide<T>;
  __shared__ W part[kThreads];
  const auto nothing = static_cast<W>(args.multiplies ? 1 : 0);
  const int64_t n = args.outer * args.inner * chunks.count;
  for (int64_t chunk = blockIdx.x; chunk < n; chunk += gridDim.x) {
    const int64_t line = chunk / chunks.count;
    const int64_t begin = chunk % chunks.count * chunks.size;
    const int64_t end =
        args.size - begin < chunks.size ? args.size : begin + chunks.size;
    // The combination of the processed elements.
    W before = starts == nullptr ? nothing : starts[chunk];
    for (int64_t first = begin; first < end; first += kThreads) {
      const int64_t i = first + threadIdx.x;
      const bool is_inside = i < end;
      const int64_t at = is_inside ? PlaceInLine(args, line, i) : 0;
      part[threadIdx.x] = is_inside ? ToWide(x[at]) : nothing;
      __syncthreads();
      for (int distance = 1; distance < kThreads; distance *= 2) {
        W sum = part[threadIdx.x];
        if (threadIdx.x >= distance) {
          sum = Combined(args.multiplies, part[threadIdx.x - distance], sum);
        }
        __syncthreads();
        part[threadIdx.x] = sum;
        __syncthreads();
      }
      if (is_inside) {
        W sum = before;
        if (!args.exclusive) {
          sum = Combined(args.multiplies, before, part[threadIdx.x]);
        } else if (threadIdx.x > 0) {
          sum = Combined(args.multiplies, before, part[threadIdx.x - 1]);
        }
        out[at] = FromWide<T>(sum);
      }
      before = Combined(args.multiplies, before, part[kThreads - 1]);
      __syncthreads();  // `part` is reused
    }
  }
}

// One block per chunk of each line: combines all its elements.
template <typename T>
__global__ void CombineChunks(ScanArgs args, Chunks chunks, const T* x,
                              Wide<T>* totals) {
  using W = Wide<T>;
  __shared__ W part[kThreads];
  const int64_t n = args.outer * args.inner * chunks.count;
  for (int64_t chunk = blockIdx.x; chunk < n; chunk += gridDim.x) {
    const int64_t line = chunk / chunks.count;
    const int64_t begin = chunk % chunks.count * chunks.size;
    const int64_t end =
        args.size - begin < chunks.size ? args.size : begin + chunks.size;
    auto total = static_cast<W>(args.multiplies ? 1 : 0);
    for (int64_t i = begin + threadIdx.x; i < end; i += kThreads) {
      total = Combined(args.multiplies, total,
                       ToWide(x[PlaceInLine(args, line, i)]));
    }
    part[threadIdx.x] = total;
    __syncthreads();
    for (int half = kThreads / 2; half > 0; half /= 2) {
      if (threadIdx.x < half) {
        part[threadIdx.x] = Combined(args.multiplies, part[threadIdx.x],
                                     part[threadIdx.x + half]);
      }
      __syncthreads();
    }
    if (threadIdx.x == 0) totals[chunk] = part[0];
    __syncthreads();  // `part` is reused
  }
}

// One block per row finds one element after another: the first of those that
// follow the last one.
template <typename T, typename I>
__global__ void FindTopK(int64_t rows, int64_t columns, int64_t k, const T* x,
                         T* values, I* indices) {
  using W = Wide<T>;
  __shared__ W best[kThreads];
  __shared__ int64_t places[kThreads];
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* const line = x + row * columns;
    W last = 0;
    int64_t last_place = -1;
    for (int64_t n = 0; n < k; ++n) {
      W value = 0;
      int64_t place = -1;
      for (int64_t i = threadIdx.x; i < columns; i += kThreads) {
        const W other = ToWide(line[i]);
        if (n > 0 && !Precedes(last, last_place, other, i)) continue;
        if (place >= 0 && !Precedes(other, i, value, place)) continue;
        value = other;
        place = i;
      }
      best[threadIdx.x] = value;
      places[threadIdx.x] = place;
      __syncthreads();
      for (int half = kThreads / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
          const int other = threadIdx.x + half;
          if (places[other] >= 0 &&
              (places[threadIdx.x] < 0 ||
               Precedes(best[other], places[other], best[threadIdx.x],
                        places[threadIdx.x]))) {
            best[threadIdx.x] = best[other];
            places[threadIdx.x] = places[other];
          }
        }
        __syncthreads();
      }
      last = best[0];
      last_place = places[0];
      if (threadIdx.x == 0) {
        values[row * k + n] = line[last_place];
        indices[row * k + n] = static_cast<I>(last_place);
      }
      __syncthreads();  // shared memory is reused
    }
  }
}

// For the types whose keys leave room for a row.
template <typename T>
constexpr bool kHasRowInKey = sizeof(Wide<T>) == 4;

template <typename T>
__global__ void MakeTopKKeys(int64_t n, int64_t columns, const T* x,
                             uint64_t* keys, int64_t* places) {
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    uint64_t key = PrecedenceKey(ToWide(x[i]));
    if (kHasRowInKey<T>) key |= static_cast<uint64_t>(i / columns) << 32;
    keys[i] = key;
    places[i] = i;
  }
}

__global__ void MakeRowKeys(int64_t n, int64_t columns, const int64_t* places,
                            uint64_t* keys) {
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    keys[i] = static_cast<uint64_t>(places[i] / columns);
  }
}

template <typename T, typename I>
__global__ void TakeTopK(int64_t rows, int64_t columns, int64_t k, const T* x,
                         const int64_t* places, T* values, I* indices) {
  const int64_t n = rows * k;
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    const int64_t first = i / k * columns;  // of the row
    const int64_t place = places[first + i % k];
    values[i] = x[place];
    indices[i] = static_cast<I>(place - first);
  }
}

// One block per row.
template <typename I>
__global__ void FindInTopK(InTopKArgs args, const float* predictions,
                           const I* targets, bool* out) {
  __shared__ int64_t part[kThreads];
  for (int64_t row = blockIdx.x; row < args.rows; row += gridDim.x) {
    const float* const line = predictions + row * args.classes;
    const auto target = static_cast<int64_t>(targets[row]);
    const bool is_class = target >= 0 && target < args.classes;
    const float least = is_class ? line[target] : 0;
    int64_t larger = 0;
    bool is_open = !is_class || !isfinite(least);
    for (int64_t i = threadIdx.x; i < args.classes; i += kThreads) {
      is_open = is_open || !isfinite(line[i]);
      larger += line[i] > least ? 1 : 0;
    }
    part[threadIdx.x] = larger;
    is_open = __syncthreads_or(is_open ? 1 : 0) != 0;
    for (int half = kThreads / 2; half > 0; half /= 2) {
      if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
      __syncthreads();
    }
    if (threadIdx.x == 0) out[row] = !is_open && part[0] < args.k;
    __syncthreads();  // `part` is reused
  }
}

// The elements of a pixel, as floats.
template <typename T>
struct Pixel {
  const T* numbers;
  __device__ float operator()(int64_t c) const { return ToWide(numbers[c]); }
};

template <typename T>
__global__ void Lrn(LrnArgs args, const T* x, T* out) {
  const int64_t n = args.pixels * args.channels;
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    const int64_t c = i % args.channels;
    out[i] = FromWide<T>(args.Value(Pixel<T>{x + (i - c)}, c));
  }
}

template <typename T>
__global__ void LrnGradient(LrnArgs args, const T* gradient, const T* x,
                            const T* result, T* out) {
  const int64_t n = args.pixels * args.channels;
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    const int64_t c = i % args.channels, first = i - c;
    out[i] =
        FromWide<T>(args.Slope(Pixel<T>{x + first}, Pixel<T>{result + first},
                               Pixel<T>{gradient + first}, c));
  }
}

// Like ForFloats, without doubles.
template <typename F>
void ForSmallFloats(ElementType type, F f) {
  switch (type) {
    case ElementType::kFloat:
      return f(Tag<float>());
    case ElementType::kHalf:
      return f(Tag<__half>());
    case ElementType::kBfloat16:
      return f(Tag<__nv_bfloat16>());
    default:
      return;
  }
}

constexpr int64_t kLineChunk = 2048;

// One chunk per line if there are enough lines, or they are short.
Chunks ChunksOf(const ScanArgs& args) {
  const bool are_cut =
      args.outer * args.inner < 512 && args.size > 2 * kLineChunk;
  if (!are_cut) return {args.size, 1};
  return {kLineChunk, (args.size + kLineChunk - 1) / kLineChunk};
}

// Computes the chunks' totals, then the value before each chunk, then the
// chunks.
template <typename T>
void ScanLongLines(const ScanArgs& args, const T* x, void* scratch, T* out,
                   cudaStream_t stream) {
  const Chunks chunks = ChunksOf(args);
  const int64_t lines = args.outer * args.inner;
  const unsigned blocks = BlocksFor(lines * chunks.count, 1);
  Wide<T>* starts = nullptr;
  if (chunks.count > 1) {
    starts = static_cast<Wide<T>*>(scratch);
    CombineChunks<<<blocks, kThreads, 0, stream>>>(args, chunks, x, starts);
    ScanArgs totals;
    totals.multiplies = args.multiplies;
    totals.exclusive = true;
    totals.outer = lines;
    totals.size = chunks.count;
    totals.inner = 1;
    const Wide<T>* const none = nullptr;
    ScanChunks<Wide<T>><<<BlocksFor(lines, 1), kThreads, 0, stream>>>(
        totals, Chunks{chunks.count, 1}, none, starts, starts);
  }
  ScanChunks<T><<<blocks, kThreads, 0, stream>>>(args, chunks, starts, x, out);
}

// A thread reads its line sequentially, so few threads take long.
bool IsLong(const ScanArgs& args) {
  return args.size > 64 && args.outer * args.inner < 4096;
}

}  // namespace

int64_t ScanScratch(const ScanArgs& args) {
  const Chunks chunks = ChunksOf(args);
  const bool is_wide =
      args.type == ElementType::kDouble || args.type == ElementType::kInt64;
  return chunks.count == 1
             ? 0
             : args.outer * args.inner * chunks.count * (is_wide ? 8 : 4);
}

void LaunchScan(const ScanArgs& args, const void* x, void* scratch, void* out,
                cudaStream_t stream) {
  const int64_t lines = args.outer * args.inner;
  ForNumbers(args.type, [&]<typename T>(Tag<T>) {
    const auto* const from = static_cast<const T*>(x);
    auto* const to = static_cast<T*>(out);
    if (IsLong(args)) {
      ScanLongLines(args, from, scratch, to, stream);
    } else {
      ScanManyLines<<<BlocksFor(lines), kThreads, 0, stream>>>(args, from, to);
    }
  });
}

// A block scans its row in rounds for each of the k elements; this many blocks
// run concurrently. A sort uses the whole GPU, and takes as long as some
// hundred rounds, plus one for each 4096 elements.
bool IsForSort(const TopKArgs& args) {
  constexpr int64_t kBlocks = 1024;
  constexpr double kOfASort = 200;
  const int64_t rounds = (args.columns + kThreads - 1) / kThreads;
  const int64_t waves = (args.rows + kBlocks - 1) / kBlocks;
  const double numbers =
      static_cast<double>(args.rows) * static_cast<double>(args.columns);
  return static_cast<double>(rounds) * static_cast<double>(args.k) *
             static_cast<double>(waves) >
         kOfASort + numbers / 4096;
}

void LaunchTopK(const TopKArgs& args, const void* x, void* values,
                void* indices, cudaStream_t stream) {
  const unsigned blocks = BlocksFor(args.rows, 1);
  ForNumbers(args.type, [&]<typename T>(Tag<T>) {
    const auto* const from = static_cast<const T*>(x);
    auto* const to = static_cast<T*>(values);
    if (args.has_long_indices) {
      FindTopK<<<blocks, kThreads, 0, stream>>>(args.rows, args.columns, args.k,
                                                from, to,
                                                static_cast<int64_t*>(indices));
    } else {
      FindTopK<<<blocks, kThreads, 0, stream>>>(args.rows, args.columns, args.k,
                                                from, to,
                                                static_cast<int32_t*>(indices));
    }
  });
}

bool HasRowInKey(ElementType type) {
  bool has = false;
  ForNumbers(type, [&]<typename T>(Tag<T>) { has = kHasRowInKey<T>; });
  return has;
}

void LaunchTopKKeys(const TopKArgs& args, const void* x, uint64_t* keys,
                    int64_t* places, cudaStream_t stream) {
  const int64_t n = args.rows * args.columns;
  ForNumbers(args.type, [&]<typename T>(Tag<T>) {
    MakeTopKKeys<<<BlocksFor(n), kThreads, 0, stream>>>(
        n, args.columns, static_cast<const T*>(x), keys, places);
  });
}

void LaunchRowKeys(const TopKArgs& args, const int64_t* places, uint64_t* keys,
                   cudaStream_t stream) {
  const int64_t n = args.rows * args.columns;
  MakeRowKeys<<<BlocksFor(n), kThreads, 0, stream>>>(n, args.columns, places,
                                                     keys);
}

void LaunchTakeTopK(const TopKArgs& args, const void* x, const int64_t* places,
                    void* values, void* indices, cudaStream_t stream) {
  const unsigned blocks = BlocksFor(args.rows * args.k);
  ForNumbers(args.type, [&]<typename T>(Tag<T>) {
    const auto* const from = static_cast<const T*>(x);
    auto* const to = static_cast<T*>(values);
    if (args.has_long_indices) {
      TakeTopK<<<blocks, kThreads, 0, stream>>>(args.rows, args.columns, args.k,
                                                from, places, to,
                                                static_cast<int64_t*>(indices));
    } else {
      TakeTopK<<<blocks, kThreads, 0, stream>>>(args.rows, args.columns, args.k,
                                                from, places, to,
                                                static_cast<int32_t*>(indices));
    }
  });
}

void LaunchInTopK(const InTopKArgs& args, const void* predictions,
                  const void* targets, void* out, cudaStream_t stream) {
  const unsigned blocks = BlocksFor(args.rows, 1);
  const auto* const from = static_cast<const float*>(predictions);
  auto* const to = static_cast<bool*>(out);
  if (args.has_long_targets) {
    FindInTopK<<<blocks, kThreads, 0, stream>>>(
        args, from, static_cast<const int64_t*>(targets), to);
  } else {
    FindInTopK<<<blocks, kThreads, 0, stream>>>(
        args, from, static_cast<const int32_t*>(targets), to);
  }
}

void LaunchLrn(ElementType type, const LrnArgs& args, const void* x, void* out,
               cudaStream_t stream) {
  const int64_t n = args.pixels * args.channels;
  ForSmallFloats(type, [&]<typename T>(Tag<T>) {
    Lrn<<<BlocksFor(n), kThreads, 0, stream>>>(args, static_cast<const T*>(x),
                                               static_cast<T*>(out));
  });
}

void LaunchLrnGradient(ElementType type, const LrnArgs& args,
                       const void* gradient, const void* x, const void* result,
                       void* out, cudaStream_t stream) {
  const int64_t n = args.pixels * args.channels;
  ForSmallFloats(type, [&]<typename T>(Tag<T>) {
    LrnGradient<<<BlocksFor(n), kThreads, 0, stream>>>(
        args, static_cast<const T*>(gradient), static_cast<const T*>(x),
        static_cast<const T*>(result), static_cast<T*>(out));
  });
}

}  // namespace weft::cuda
