#include "libs/kernels/cuda/elements.cu.h"
#include "libs/kernels/cuda/window_places.h"
#include "libs/kernels/cuda/windows.cu.h"

namespace weft::cuda {
namespace {

// The coordinates of one element of an image tensor.
struct Place {
  int64_t image, row, column, channel;
};

// The sizes and strides of an image tensor.
struct Images {
  int64_t rows, columns, channels;
  bool channels_first;

  __device__ int64_t At(int64_t n, int64_t y, int64_t x, int64_t c) const {
    return channels_first ? ((n * channels + c) * rows + y) * columns + x
                          : ((n * rows + y) * columns + x) * channels + c;
  }
  __device__ Place PlaceOf(int64_t i) const {
    Place place;
    if (channels_first) {
      place.column = i % columns;
      i /= columns;
      place.row = i % rows;
      i /= rows;
      place.channel = i % channels;
      place.image = i / channels;
    } else {
      place.channel = i % channels;
      i /= channels;
      place.column = i % columns;
      i /= columns;
      place.row = i % rows;
      place.image = i / rows;
    }
    return place;
  }
};

Images InputOf(const WindowArgs& args) {
  return {args.rows.in, args.columns.in, args.channels, args.channels_first};
}
Images OutputOf(const WindowArgs& args) {
  return {args.rows.out, args.columns.out, args.filters, args.channels_first};
}
int64_t SizeOf(const WindowArgs& args, const Images& images) {
  return args.batch * images.rows * images.columns * images.channels;
}

// The part of a pool's window inside the image: [begin, end).
struct Range {
  int64_t begin, end;
};
__device__ Range InsideOf(const Window& dim, int64_t window) {
  const int64_t begin = window * dim.stride - dim.pad;
  const int64_t end = begin + dim.size;
  return {begin < 0 ? 0 : begin, end > dim.in ? dim.in : end};
}

template <typename T>
__global__ void Convolve(WindowArgs args, Images in, Images out, int64_t n,
                         const T* images, const T* filter, T* result) {
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    const Place place = out.PlaceOf(i);
    const int64_t first = place.channel / args.filters_of_group * args.depth;
    Wide<T> sum = 0;
    for (int64_t r = 0; r < args.rows.size; ++r) {
      const int64_t y = At(args.rows, place.row, r);
      if (!IsInside(args.rows, y)) continue;
      for (int64_t s = 0; s < args.columns.size; ++s) {
        const int64_t x = At(args.columns, place.column, s);
        if (!IsInside(args.columns, x)) continue;
        const T* taps =
            filter + (r * args.columns.size + s) * args.depth * args.filters +
            place.channel;
        for (int64_t d = 0; d < args.depth; ++d) {
          sum += ToWide(images[in.At(place.image, y, x, first + d)]) *
                 ToWide(taps[d * args.filters]);
        }
      }
    }
    result[i] = FromWide<T>(sum);
  }
}

template <typename T>
__global__ void ConvolveBack(WindowArgs args, Images in, Images out, int64_t n,
                             const T* filter, const T* gradient, T* result) {
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    const Place place = in.PlaceOf(i);
    const int64_t first = place.channel / args.depth * args.filters_of_group;
    const int64_t d = place.channel % args.depth;
    Wide<T> sum = 0;
    for (int64_t r = 0; r < args.rows.size; ++r) {
      const int64_t y = WindowWith(args.rows, place.row, r);
      if (y < 0) continue;
      for (int64_t s = 0; s < args.columns.size; ++s) {
        const int64_t x = WindowWith(args.columns, place.column, s);
        if (x < 0) continue;
        const T* taps =
            filter +
            ((r * args.columns.size + s) * args.depth + d) * args.filters;
        for (int64_t f = first; f < first + args.filters_of_group; ++f) {
          sum +=
              ToWide(gradient[out.At(place.image, y, x, f)]) * ToWide(taps[f]);
        }
      }
    }
    result[i] = FromWide<T>(sum);
  }
}

// One block per element of the filter.
template <typename T>
__global__ void ConvolveFilter(WindowArgs args, Images in, Images out,
                               int64_t n, const T* images, const T* gradient,
                               T* result) {
  __shared__ Wide<T> sums[kThreads];
  const int64_t windows = args.batch * args.rows.out * args.columns.out;
  for (int64_t i = blockIdx.x; i < n; i += gridDim.x) {
    const int64_t f = i % args.filters;
    const int64_t tap = i / args.filters;
    const int64_t d = tap % args.depth;
    const int64_t s = tap / args.depth % args.columns.size;
    const int64_t r = tap / args.depth / args.columns.size;
    const int64_t c = f / args.filters_of_group * args.depth + d;
    Wide<T> sum = 0;
    for (int64_t w = threadIdx.x; w < windows; w += kThreads) {
      const int64_t window_x = w % args.columns.out;
      const int64_t window_y = w / args.columns.out % args.rows.out;
      const int64_t image = w / args.columns.out / args.rows.out;
      const int64_t y = At(args.rows, window_y, r);
      const int64_t x = At(args.columns, window_x, s);
      if (!IsInside(args.rows, y) || !IsInside(args.columns, x)) continue;
      sum += ToWide(images[in.At(image, y, x, c)]) *
             ToWide(gradient[out.At(image, window_y, window_x, f)]);
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int half = kThreads / 2; half > 0; half /= 2) {
      if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
      __syncthreads();
    }
    if (threadIdx.x == 0) result[i] = FromWide<T>(sums[0]);
    __syncthreads();  // `sums` is reused
  }
}

// The position of the first maximum of a window; -1: none.
template <typename T>
__device__ int64_t Largest(const WindowArgs& args, const Images& in,
                           const T* images, int64_t image, int64_t window_y,
                           int64_t window_x, int64_t channel) {
  const Range rows = InsideOf(args.rows, window_y);
  const Range columns = InsideOf(args.columns, window_x);
  int64_t best = -1;
  for (int64_t y = rows.begin; y < rows.end; ++y) {
    for (int64_t x = columns.begin; x < columns.end; ++x) {
      const int64_t at = in.At(image, y, x, channel);
      if (best < 0 || ToWide(images[at]) > ToWide(images[best])) best = at;
    }
  }
  return best;
}

template <typename T>
__global__ void PoolMax(WindowArgs args, Images in, Images out, int64_t n,
                        T lowest, const T* images, T* result) {
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    const Place place = out.PlaceOf(i);
    const Range rows = InsideOf(args.rows, place.row);
    const Range columns = InsideOf(args.columns, place.column);
    const bool is_empty =
        rows.begin >= rows.end || columns.begin >= columns.end;
    Wide<T> best = is_empty ? Wide<T>(0) : ToWide(lowest);
    for (int64_t y = rows.begin; y < rows.end; ++y) {
      for (int64_t x = columns.begin; x < columns.end; ++x) {
        const Wide<T> value =
            ToWide(images[in.At(place.image, y, x, place.channel)]);
        if (best < value) best = value;
      }
    }
    result[i] = FromWide<T>(best);
  }
}

// Each position visits its windows, so that no two threads add to one element.
template <typename T>
__global__ void PoolMaxBack(WindowArgs args, Images in, Images out, int64_t n,
                            const T* images, const T* gradient, T* result) {
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    const Place place = in.PlaceOf(i);
    Wide<T> sum = 0;
    // Starts with the last tap, so that windows are in order.
    for (int64_t r = args.rows.size - 1; r >= 0; --r) {
      const int64_t y = WindowWith(args.rows, place.row, r);
      if (y < 0) continue;
      for (int64_t s = args.columns.size - 1; s >= 0; --s) {
        const int64_t x = WindowWith(args.columns, place.column, s);
        if (x < 0) continue;
        if (Largest(args, in, images, place.image, y, x, place.channel) == i) {
          sum += ToWide(gradient[out.At(place.image, y, x, place.channel)]);
        }
      }
    }
    result[i] = FromWide<T>(sum);
  }
}

template <typename T>
__global__ void PoolMean(WindowArgs args, Images in, Images out, int64_t n,
                         const T* images, T* result) {
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    const Place place = out.PlaceOf(i);
    const Range rows = InsideOf(args.rows, place.row);
    const Range columns = InsideOf(args.columns, place.column);
    Wide<T> sum = 0;
    int64_t count = 0;
    for (int64_t y = rows.begin; y < rows.end; ++y) {
      for (int64_t x = columns.begin; x < columns.end; ++x) {
        sum += ToWide(images[in.At(place.image, y, x, place.channel)]);
        ++count;
      }
    }
    result[i] = FromWide<T>(count == 0 ? Wide<T>(0)
                                       : sum / static_cast<Wide<T>>(count));
  }
}

template <typename T>
__global__ void PoolMeanBack(WindowArgs args, Images in, Images out, int64_t n,
                             const T* gradient, T* result) {
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    const Place place = in.PlaceOf(i);
    Wide<T> sum = 0;
    for (int64_t r = args.rows.size - 1; r >= 0; --r) {
      const int64_t y = WindowWith(args.rows, place.row, r);
      if (y < 0) continue;
      const Range rows = InsideOf(args.rows, y);
      for (int64_t s = args.columns.size - 1; s >= 0; --s) {
        const int64_t x = WindowWith(args.columns, place.column, s);
        if (x < 0) continue;
        const Range columns = InsideOf(args.columns, x);
        const int64_t count =
            (rows.end - rows.begin) * (columns.end - columns.begin);
        sum += ToWide(gradient[out.At(place.image, y, x, place.channel)]) /
               static_cast<Wide<T>>(count);
      }
    }
    result[i] = FromWide<T>(sum);
  }
}

template <typename T>
T LowestOf() {
  if constexpr (std::is_same_v<T, float>) return -3.402823466e+38f;
  if constexpr (std::is_same_v<T, double>) return -1.7976931348623157e+308;
  if constexpr (std::is_same_v<T, __half>) return __float2half(-65504.0f);
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __float2bfloat16(-3.38953139e38f);
  }
}

template <typename T>
const T* In(const void* data) {
  return static_cast<const T*>(data);
}

}  // namespace

void LaunchConvolution(const WindowArgs& args, const void* images,
                       const void* filter, void* out, cudaStream_t stream) {
  const int64_t n = SizeOf(args, OutputOf(args));
  if (n == 0) return;
  ForFloats(args.type, [&]<typename T>(Tag<T>) {
    Convolve<T><<<BlocksFor(n), kThreads, 0, stream>>>(
        args, InputOf(args), OutputOf(args), n, In<T>(images), In<T>(filter),
        static_cast<T*>(out));
  });
}

void LaunchConvolutionInputGradient(const WindowArgs& args, const void* filter,
                                    const void* gradient, void* out,
                                    cudaStream_t stream) {
  const int64_t n = SizeOf(args, InputOf(args));
  if (n == 0) return;
  ForFloats(args.type, [&]<typename T>(Tag<T>) {
    ConvolveBack<T><<<BlocksFor(n), kThreads, 0, stream>>>(
        args, InputOf(args), OutputOf(args), n, In<T>(filter), In<T>(gradient),
        static_cast<T*>(out));
  });
}

void LaunchConvolutionFilterGradient(const WindowArgs& args, const void* images,
                                     const void* gradient, void* out,
                                     cudaStream_t stream) {
  const int64_t n =
      args.rows.size * args.columns.size * args.depth * args.filters;
  if (n == 0) return;
  ForFloats(args.type, [&]<typename T>(Tag<T>) {
    ConvolveFilter<T><<<BlocksFor(n, 1), kThreads, 0, stream>>>(
        args, InputOf(args), OutputOf(args), n, In<T>(images), In<T>(gradient),
        static_cast<T*>(out));
  });
}

void LaunchMaxPool(const WindowArgs& args, const void* images, void* out,
                   cudaStream_t stream) {
  const int64_t n = SizeOf(args, OutputOf(args));
  if (n == 0) return;
  ForFloats(args.type, [&]<typename T>(Tag<T>) {
    PoolMax<T><<<BlocksFor(n), kThreads, 0, stream>>>(
        args, InputOf(args), OutputOf(args), n, LowestOf<T>(), In<T>(images),
        static_cast<T*>(out));
  });
}

void LaunchMaxPoolGradient(const WindowArgs& args, const void* images,
                           const void* gradient, void* out,
                           cudaStream_t stream) {
  const int64_t n = SizeOf(args, InputOf(args));
  if (n == 0) return;
  ForFloats(args.type, [&]<typename T>(Tag<T>) {
    PoolMaxBack<T><<<BlocksFor(n), kThreads, 0, stream>>>(
        args, InputOf(args), OutputOf(args), n, In<T>(images), In<T>(gradient),
        static_cast<T*>(out));
  });
}

void LaunchAvgPool(const WindowArgs& args, const void* images, void* out,
                   cudaStream_t stream) {
  const int64_t n = SizeOf(args, OutputOf(args));
  if (n == 0) return;
  ForFloats(args.type, [&]<typename T>(Tag<T>) {
    PoolMean<T><<<BlocksFor(n), kThreads, 0, stream>>>(
        args, InputOf(args), OutputOf(args), n, In<T>(images),
        static_cast<T*>(out));
  });
}

void LaunchAvgPoolGradient(const WindowArgs& args, const void* gradient,
                           void* out, cudaStream_t stream) {
  const int64_t n = SizeOf(args, InputOf(args));
  if (n == 0) return;
  ForFloats(args.type, [&]<typename T>(Tag<T>) {
    PoolMeanBack<T><<<BlocksFor(n), kThreads, 0, stream>>>(
        args, InputOf(args), OutputOf(args), n, In<T>(gradient),
        static_cast<T*>(out));
  });
}

}  // namespace weft::cuda
