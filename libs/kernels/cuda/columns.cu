#include "libs/kernels/cuda/columns.cu.h"
#include "libs/kernels/cuda/elements.cu.h"
#include "libs/kernels/cuda/window_places.h"

namespace weft::cuda {
namespace {

template <typename Index, typename T>
__global__ void ToColumns(WindowArgs args, int64_t n, const T* images,
                          T* columns) {
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    const int64_t place = PlaceOfColumn(args, static_cast<Index>(i));
    columns[i] = place < 0 ? T{} : images[place];
  }
}

template <typename T>
__global__ void FromColumns(WindowArgs args, int64_t n, const Wide<T>* columns,
                            T* images) {
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    images[i] = FromWide<T>(SumOfColumns(args, columns, i));
  }
}

constexpr int kSide = 32;  // tile side; a block has a quarter of its threads

// Uses shared memory, so that reads and writes are both contiguous.
template <typename T>
__global__ void Transpose(int64_t batch, int64_t rows, int64_t columns,
                          const T* in, T* out) {
  __shared__ T tile[kSide][kSide + 1];
  const int64_t row_tiles = (rows + kSide - 1) / kSide;
  const int64_t column_tiles = (columns + kSide - 1) / kSide;
  const int64_t tiles = batch * row_tiles * column_tiles;
  for (int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    const int64_t base = t / column_tiles / row_tiles * rows * columns;
    const int64_t row = t / column_tiles % row_tiles * kSide;
    const int64_t column = t % column_tiles * kSide;
    for (int y = threadIdx.y; y < kSide; y += blockDim.y) {
      const int64_t i = row + y, j = column + threadIdx.x;
      if (i < rows && j < columns) {
        tile[y][threadIdx.x] = in[base + i * columns + j];
      }
    }
    __syncthreads();
    for (int y = threadIdx.y; y < kSide; y += blockDim.y) {
      const int64_t j = column + y, i = row + threadIdx.x;
      if (i < rows && j < columns) {
        out[base + j * rows + i] = tile[threadIdx.x][y];
      }
    }
    __syncthreads();  // the tile is reused
  }
}

// The largest piece size, at most 16 bytes, that divides a depth of elements
// and keeps all pieces aligned.
int64_t PieceOf(int64_t element_size, int64_t depth, const void* a,
                const void* b) {
  const auto address =
      reinterpret_cast<uintptr_t>(a) | reinterpret_cast<uintptr_t>(b);
  int64_t piece = 16;
  while (piece > element_size &&
         (depth * element_size % piece != 0 || address % piece != 0)) {
    piece /= 2;
  }
  return piece;
}

}  // namespace

void LaunchToColumns(int64_t element_size, const WindowArgs& args,
                     const void* images, void* columns, cudaStream_t stream) {
  const int64_t piece = PieceOf(element_size, args.depth, images, columns);
  WindowArgs pieces = args;
  pieces.depth = args.depth * element_size / piece;
  pieces.channels = args.channels * element_size / piece;
  const int64_t n = pieces.batch * args.rows.out * args.columns.out *
                    args.rows.size * args.columns.size * pieces.channels;
  ForSize(piece, [&]<typename T>(Tag<T>) {
    const auto* const from = static_cast<const T*>(images);
    auto* const to = static_cast<T*>(columns);
    if (n <= INT32_MAX) {
      ToColumns<uint32_t>
          <<<BlocksFor(n), kThreads, 0, stream>>>(pieces, n, from, to);
    } else {
      ToColumns<uint64_t>
          <<<BlocksFor(n), kThreads, 0, stream>>>(pieces, n, from, to);
    }
  });
}

void LaunchFromColumns(const WindowArgs& args, const void* columns,
                       void* images, cudaStream_t stream) {
  const int64_t n = args.batch * args.rows.in * args.columns.in * args.channels;
  ForFloats(args.type, [&]<typename T>(Tag<T>) {
    FromColumns<T><<<BlocksFor(n), kThreads, 0, stream>>>(
        args, n, static_cast<const Wide<T>*>(columns), static_cast<T*>(images));
  });
}

void LaunchTransposition(int64_t element_size, int64_t batch, int64_t rows,
                         int64_t columns, const void* in, void* out,
                         cudaStream_t stream) {
  const int64_t tiles =
      batch * ((rows + kSide - 1) / kSide) * ((columns + kSide - 1) / kSide);
  ForSize(element_size, [&]<typename T>(Tag<T>) {
    Transpose<T><<<BlocksFor(tiles, 1), dim3(kSide, kSide / 4), 0, stream>>>(
        batch, rows, columns, static_cast<const T*>(in), static_cast<T*>(out));
  });
}

}  // namespace weft::cuda
