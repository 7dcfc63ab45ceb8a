// Loops of depthwise convolutions over float and double, compiled for each
// instruction set (weft::v1, weft::v3, weft::v4).
//
// Threads: pure functions. Outputs must not overlap inputs.
#ifndef WEFT_LIBS_KERNELS_ISA_DEPTHWISE_ISA_H_
#define WEFT_LIBS_KERNELS_ISA_DEPTHWISE_ISA_H_

#include <cstdint>

#include "libs/kernels/isa/per_instruction_set.h"

namespace weft {

// DepthwiseTap holds the positions of a tap's first channel, in elements: of
// the pixel for the first window, and of the filter.
struct DepthwiseTap {
  int64_t pixel, filter;
};

// Rows of equally spaced windows with the same taps; at least one window in
// each row. Each channel has one element in a pixel, in a tap of the filter and
// in a window's result.
struct DepthwiseRun {
  int64_t rows, windows, channels;
  const DepthwiseTap* taps;
  int64_t num_taps;
  // The distances between rows and between windows, in elements.
  int64_t pixel_row, pixel_step;
  int64_t result_row, result_step;
};

template <typename T>
struct DepthwiseLoops {
  // result[y * result_row + x * result_step + c] = the sum over taps t of
  // pixels[t.pixel + y * pixel_row + x * pixel_step + c] * filter[t.filter +
  // c], for y < rows, x < windows and c < channels; 0 without taps.
  void (*products)(const DepthwiseRun& run, const T* pixels, const T* filter,
                   T* result);
  // filter[t.filter + c] += the sum over y < rows and x < windows of
  // pixels[t.pixel + y * pixel_row + x * pixel_step + c] *
  // result[y * result_row + x * result_step + c].
  void (*add_to_filter)(const DepthwiseRun& run, const T* pixels,
                        const T* result, T* filter);
};

WEFT_PER_INSTRUCTION_SET(
    void FillDepthwiseLoops(DepthwiseLoops<float>* loops);
    void FillDepthwiseLoops(DepthwiseLoops<double>* loops);)

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ISA_DEPTHWISE_ISA_H_
