// The mapping between elements of images, windows and columns, for GPU kernels
// and for tests on the CPU. Images are [batch, rows, columns, channels].
//
// The columns of a convolution are the elements of all windows, laid out as
// [batch, rows.out, columns.out, groups, rows.size, columns.size, depth]:
// multiplying them by the filter is a matrix product.
#ifndef WEFT_LIBS_KERNELS_CUDA_WINDOW_PLACES_H_
#define WEFT_LIBS_KERNELS_CUDA_WINDOW_PLACES_H_

#include <cstdint>

#include "libs/kernels/cuda/host_device.h"
#include "libs/kernels/cuda/windows.cu.h"

namespace weft::cuda {

// The window whose tap `tap` is at position `at`, or -1.
WEFT_HOST_DEVICE inline int64_t WindowWith(const Window& dim, int64_t at,
                                           int64_t tap) {
  const int64_t first = at + dim.pad - tap * dim.dilation;
  if (first < 0 || first % dim.stride != 0) return -1;
  const int64_t window = first / dim.stride;
  return window < dim.out ? window : -1;
}

// The position of a window's tap; outside [0, in) it is padding.
WEFT_HOST_DEVICE inline int64_t At(const Window& dim, int64_t window,
                                   int64_t tap) {
  return window * dim.stride - dim.pad + tap * dim.dilation;
}
WEFT_HOST_DEVICE inline bool IsInside(const Window& dim, int64_t at) {
  return at >= 0 && at < dim.in;
}

// Removes the last coordinate from the combined index `i`.
template <typename Index>
WEFT_HOST_DEVICE inline int64_t TakeLast(Index& i, int64_t size) {
  const Index of = static_cast<Index>(size);
  const Index rest = i / of;
  const Index last = i - rest * of;
  i = rest;
  return static_cast<int64_t>(last);
}

// The position in the images of element `i` of their columns; -1: padding.
// Index is an unsigned type that holds i; narrow types are faster on a GPU.
template <typename Index>
WEFT_HOST_DEVICE inline int64_t PlaceOfColumn(const WindowArgs& args, Index i) {
  const int64_t d = TakeLast(i, args.depth);
  const int64_t s = TakeLast(i, args.columns.size);
  const int64_t r = TakeLast(i, args.rows.size);
  const int64_t group = TakeLast(i, args.channels / args.depth);
  const int64_t x = At(args.columns, TakeLast(i, args.columns.out), s);
  const int64_t y = At(args.rows, TakeLast(i, args.rows.out), r);
  if (!IsInside(args.rows, y) || !IsInside(args.columns, x)) return -1;
  const int64_t pixel =
      (static_cast<int64_t>(i) * args.rows.in + y) * args.columns.in + x;
  return pixel * args.channels + group * args.depth + d;
}

// The sum of all column elements for element `i` of the images, in one order.
template <typename T>
WEFT_HOST_DEVICE inline T SumOfColumns(const WindowArgs& args, const T* columns,
                                       int64_t i) {
  auto rest = static_cast<uint64_t>(i);
  const int64_t channel = TakeLast(rest, args.channels);
  const int64_t column = TakeLast(rest, args.columns.in);
  const int64_t row = TakeLast(rest, args.rows.in);
  const auto image = static_cast<int64_t>(rest);
  const int64_t group = channel / args.depth, d = channel % args.depth;
  const int64_t taps = args.rows.size * args.columns.size * args.depth;
  const int64_t groups = args.channels / args.depth;
  T sum = 0;
  for (int64_t r = 0; r < args.rows.size; ++r) {
    const int64_t y = WindowWith(args.rows, row, r);
    if (y < 0) continue;
    for (int64_t s = 0; s < args.columns.size; ++s) {
      const int64_t x = WindowWith(args.columns, column, s);
      if (x < 0) continue;
      const int64_t window = (image * args.rows.out + y) * args.columns.out + x;
      sum += columns[(window * groups + group) * taps +
                     (r * args.columns.size + s) * args.depth + d];
    }
  }
  return sum;
}

}  // namespace weft::cuda

#endif  // WEFT_LIBS_KERNELS_CUDA_WINDOW_PLACES_H_
