#include "libs/kernels/cuda/elements.cu.h"
#include "libs/kernels/cuda/math.cu.h"

namespace weft::cuda {
namespace {

struct Offsets {
  int64_t x = 0, y = 0;
};

__device__ Offsets OffsetsAt(const Dims& dims, int64_t i) {
  Offsets at;
  for (int d = 0; d < dims.rank; ++d) {
    const int64_t position = i % dims.sizes[d];
    i /= dims.sizes[d];
    at.x += position * dims.strides[0][d];
    at.y += position * dims.strides[1][d];
  }
  return at;
}

// `out` may be `x` or `y`, where those have its shape: each place is read by
// the thread that writes it. So none of them is __restrict__.
template <typename T, typename Out, typename Op>
__global__ void Binary(Op op, Dims dims, int64_t n, const T* x, const T* y,
                       Out* out) {
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    const Offsets at = OffsetsAt(dims, i);
    const Wide<T> result =
        static_cast<Wide<T>>(Apply(op, ToWide(x[at.x]), ToWide(y[at.y])));
    if constexpr (std::is_same_v<Out, bool>) {
      out[i] = result != Wide<T>(0);
    } else {
      out[i] = FromWide<Out>(result);
    }
  }
}

template <typename T>
__global__ void Unary(UnaryOp op, int64_t n, const T* x, T* out) {
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    out[i] = FromWide<T>(Apply(op, ToWide(x[i])));
  }
}

template <typename T>
__global__ void BiasAdd(int64_t n, int64_t channels, int64_t inner, const T* x,
                        const T* bias, T* out) {
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    const T b = bias[i / inner % channels];
    out[i] = FromWide<T>(ToWide(x[i]) + ToWide(b));
  }
}

constexpr int kTile = 16;

// One tile of c a block; threads [row][column] of it.
template <typename T>
__global__ void MatMul(bool transpose_a, bool transpose_b, int64_t m, int64_t n,
                       int64_t k, const T* a, const T* b, T* c) {
  __shared__ Wide<T> a_tile[kTile][kTile + 1];
  __shared__ Wide<T> b_tile[kTile][kTile + 1];
  const int row = threadIdx.y, column = threadIdx.x;
  const int64_t column_tiles = (n + kTile - 1) / kTile;
  const int64_t tiles = (m + kTile - 1) / kTile * column_tiles;
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const int64_t i = tile / column_tiles * kTile + row;
    const int64_t j = tile % column_tiles * kTile + column;
    Wide<T> sum = 0;
    for (int64_t first = 0; first < k; first += kTile) {
      const int64_t p = first + column, q = first + row;
      a_tile[row][column] = Wide<T>(0);
      b_tile[row][column] = Wide<T>(0);
      if (i < m && p < k) {
        a_tile[row][column] = ToWide(transpose_a ? a[p * m + i] : a[i * k + p]);
      }
      if (q < k && j < n) {
        b_tile[row][column] = ToWide(transpose_b ? b[j * k + q] : b[q * n + j]);
      }
      __syncthreads();
      for (int s = 0; s < kTile; ++s) sum += a_tile[row][s] * b_tile[s][column];
      __syncthreads();
    }
    if (i < m && j < n) c[i * n + j] = FromWide<T>(sum);
  }
}

}  // namespace

void LaunchBinary(BinaryOp op, ElementType type, const Dims& dims, int64_t n,
                  const void* x, const void* y, void* out,
                  cudaStream_t stream) {
  ForNumbers(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    Binary<T, T><<<BlocksFor(n), kThreads, 0, stream>>>(
        op, dims, n, static_cast<const T*>(x), static_cast<const T*>(y),
        static_cast<T*>(out));
  });
}

void LaunchComparison(Comparison op, ElementType type, const Dims& dims,
                      int64_t n, const void* x, const void* y, bool* out,
                      cudaStream_t stream) {
  ForNumbers(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    Binary<T, bool><<<BlocksFor(n), kThreads, 0, stream>>>(
        op, dims, n, static_cast<const T*>(x), static_cast<const T*>(y), out);
  });
}

void LaunchUnary(UnaryOp op, ElementType type, int64_t n, const void* x,
                 void* out, cudaStream_t stream) {
  ForFloats(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    Unary<T><<<BlocksFor(n), kThreads, 0, stream>>>(
        op, n, static_cast<const T*>(x), static_cast<T*>(out));
  });
}

void LaunchBiasAdd(ElementType type, int64_t n, int64_t channels, int64_t inner,
                   const void* x, const void* bias, void* out,
                   cudaStream_t stream) {
  ForFloats(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    BiasAdd<T><<<BlocksFor(n), kThreads, 0, stream>>>(
        n, channels, inner, static_cast<const T*>(x),
        static_cast<const T*>(bias), static_cast<T*>(out));
  });
}

void LaunchMatMul(ElementType type, bool transpose_a, bool transpose_b,
                  int64_t m, int64_t n, int64_t k, const void* a, const void* b,
                  void* c, cudaStream_t stream) {
  const int64_t tiles = (m + kTile - 1) / kTile * ((n + kTile - 1) / kTile);
  ForFloats(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    MatMul<T><<<BlocksFor(tiles, 1), dim3(kTile, kTile), 0, stream>>>(
        transpose_a, transpose_b, m, n, k, static_cast<const T*>(a),
        static_cast<const T*>(b), static_cast<T*>(c));
  });
}

}  // namespace weft::cuda
