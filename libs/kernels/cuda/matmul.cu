// A product of matrices for machines without cuBLAS.
#include "libs/kernels/cuda/elements.cu.h"
#include "libs/kernels/cuda/math.cu.h"

namespace weft::cuda {
namespace {

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
  // All threads of a block make the same rounds: they wait for each other.
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
