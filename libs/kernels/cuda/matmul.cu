// Launches of matrix products for machines without cuBLAS.
#include "libs/kernels/cuda/elements.cu.h"
#include "libs/kernels/cuda/math.cu.h"

namespace weft::cuda {
namespace {

// A block computes a tile of c; each thread computes kEach x kEach elements
// from 2 kEach loads at a time.
constexpr int kTile = 64;
constexpr int kDeep = 16;  // elements of a and b loaded at a time
constexpr int kEach = 4;
constexpr int kSide = kTile / kEach;  // threads
static_assert(kSide * kSide == kThreads);

__device__ __forceinline__ int64_t TilesOf(int64_t size) {
  return (size + kTile - 1) / kTile;
}

// Loads rows [i, i + kTile) of x, which has `rows`, at [p, p + kDeep) of `k`,
// to tile[place][row]; 0 beyond. Adjacent threads load adjacent elements.
template <typename T>
__device__ __forceinline__ void Load(const T* x, int64_t stride,
                                     bool is_row_last, int64_t i, int64_t rows,
                                     int64_t p, int64_t k,
                                     Wide<T> (*tile)[kTile + kEach]) {
  for (int at = threadIdx.x; at < kTile * kDeep; at += kThreads) {
    const int row = is_row_last ? at % kTile : at / kDeep;
    const int place = is_row_last ? at / kTile : at % kDeep;
    Wide<T> value = 0;
    if (i + row < rows && p + place < k) {
      value = ToWide(is_row_last ? x[(p + place) * stride + i + row]
                                 : x[(i + row) * stride + p + place]);
    }
    tile[place][row] = value;
  }
}

template <typename T, typename R>
__global__ void __launch_bounds__(kThreads)
    MatMul(MatMulArgs args, const T* a, const T* b, R* c) {
  using W = Wide<T>;
  __shared__ W a_tile[kDeep][kTile + kEach];
  __shared__ W b_tile[kDeep][kTile + kEach];
  const int row = threadIdx.x / kSide * kEach;
  const int column = threadIdx.x % kSide * kEach;
  const int64_t down = TilesOf(args.m), across = TilesOf(args.n);
  const int64_t tiles = args.batches * down * across;
  // All threads of a block run the same rounds, because they synchronize.
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const int64_t batch = tile / across / down;
    const int64_t i0 = tile / across % down * kTile;
    const int64_t j0 = tile % across * kTile;
    W sums[kEach][kEach] = {};
    for (int64_t p = 0; p < args.k; p += kDeep) {
      Load(a + batch * args.a_batch, args.a_stride, args.transpose_a, i0,
           args.m, p, args.k, a_tile);
      Load(b + batch * args.b_batch, args.b_stride, !args.transpose_b, j0,
           args.n, p, args.k, b_tile);
      __syncthreads();
      for (int s = 0; s < kDeep; ++s) {
        for (int i = 0; i < kEach; ++i) {
          for (int j = 0; j < kEach; ++j) {
            sums[i][j] += a_tile[s][row + i] * b_tile[s][column + j];
          }
        }
      }
      __syncthreads();
    }
    for (int i = 0; i < kEach; ++i) {
      for (int j = 0; j < kEach; ++j) {
        const int64_t y = i0 + row + i, x = j0 + column + j;
        if (y >= args.m || x >= args.n) continue;
        R& out = c[batch * args.c_batch + y * args.c_stride + x];
        out = FromWide<R>(args.add ? ToWide(out) + sums[i][j] : sums[i][j]);
      }
    }
  }
}

template <typename T, typename R>
void Launch(const MatMulArgs& args, const void* a, const void* b, void* c,
            cudaStream_t stream) {
  const int64_t tiles = args.batches * ((args.m + kTile - 1) / kTile) *
                        ((args.n + kTile - 1) / kTile);
  MatMul<T, R><<<BlocksFor(tiles, 1), kThreads, 0, stream>>>(
      args, static_cast<const T*>(a), static_cast<const T*>(b),
      static_cast<R*>(c));
}

}  // namespace

void LaunchMatMul(ElementType type, const MatMulArgs& args, const void* a,
                  const void* b, void* c, cudaStream_t stream) {
  ForFloats(type, [&]<typename T>(Tag<T>) {
    if (args.is_wide) {
      Launch<T, Wide<T>>(args, a, b, c, stream);
    } else {
      Launch<T, T>(args, a, b, c, stream);
    }
  });
}

}  // namespace weft::cuda
