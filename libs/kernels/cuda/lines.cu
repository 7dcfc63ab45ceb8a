#include "libs/kernels/cuda/elements.cu.h"
#include "libs/kernels/cuda/lines.cu.h"

namespace weft::cuda {
namespace {

template <typename W>
__device__ __forceinline__ W Combined(bool multiplies, W a, W b) {
  if constexpr (std::is_same_v<W, int64_t>) {
    // Wraps round.
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return static_cast<int64_t>(multiplies ? x * y : x + y);
  } else {
    return multiplies ? a * b : a + b;
  }
}

// Place `i` of the line, in the order of the scan.
__device__ __forceinline__ int64_t PlaceInLine(const ScanArgs& args,
                                               int64_t line, int64_t i) {
  const int64_t at = args.reverse ? args.size - 1 - i : i;
  return (line / args.inner * args.size + at) * args.inner + line % args.inner;
}

// A thread for each line.
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

// A block for each line: as many numbers at a time as it has threads, each of
// which combines its own with those before by doubling distances.
template <typename T>
__global__ void ScanLongLines(ScanArgs args, const T* x, T* out) {
  using W = Wide<T>;
  __shared__ W part[kThreads];
  const auto nothing = static_cast<W>(args.multiplies ? 1 : 0);
  const int64_t lines = args.outer * args.inner;
  for (int64_t line = blockIdx.x; line < lines; line += gridDim.x) {
    W before = nothing;  // of the numbers that are done
    for (int64_t first = 0; first < args.size; first += kThreads) {
      const int64_t i = first + threadIdx.x;
      const bool is_inside = i < args.size;
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
      __syncthreads();  // `part` is the next numbers'
    }
  }
}

// A block for each row finds one number after the other: the first of those
// that come after the last one.
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
      __syncthreads();  // the shared numbers are the next round's
    }
  }
}

// The numbers of a pixel, as floats.
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

// As ForFloats, without doubles.
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

}  // namespace

void LaunchScan(const ScanArgs& args, const void* x, void* out,
                cudaStream_t stream) {
  const int64_t lines = args.outer * args.inner;
  // A thread reads its line number by number: few threads take long.
  const bool is_long = args.size > 64 && lines < 4096;
  ForNumbers(args.type, [&]<typename T>(Tag<T>) {
    const auto* const from = static_cast<const T*>(x);
    auto* const to = static_cast<T*>(out);
    if (is_long) {
      ScanLongLines<<<BlocksFor(lines, 1), kThreads, 0, stream>>>(args, from,
                                                                  to);
    } else {
      ScanManyLines<<<BlocksFor(lines), kThreads, 0, stream>>>(args, from, to);
    }
  });
}

void LaunchTopK(ElementType type, bool has_long_indices, int64_t rows,
                int64_t columns, int64_t k, const void* x, void* values,
                void* indices, cudaStream_t stream) {
  ForNumbers(type, [&]<typename T>(Tag<T>) {
    const auto* const from = static_cast<const T*>(x);
    auto* const to = static_cast<T*>(values);
    if (has_long_indices) {
      FindTopK<<<BlocksFor(rows, 1), kThreads, 0, stream>>>(
          rows, columns, k, from, to, static_cast<int64_t*>(indices));
    } else {
      FindTopK<<<BlocksFor(rows, 1), kThreads, 0, stream>>>(
          rows, columns, k, from, to, static_cast<int32_t*>(indices));
    }
  });
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
