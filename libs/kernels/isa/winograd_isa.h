// The transforms of Winograd convolutions along the rows of an image, which
// need fewer multiplications: compiled for each instruction set (weft::v1,
// weft::v3, weft::v4).
//
// Adjacent windows of a row form a tile: four windows of three taps each, or
// two of five. A tile covers six pixels. The pixels, the taps and the windows
// are each treated as a polynomial and converted to its values at six points.
// There a window is a product of pixel and tap: six products per tile instead
// of twelve or ten. Between the transforms, sums run over channels and filter
// rows.
//
// The points are 0, +-3/4, +-3/2 and infinity. Summed over 16 channels, the
// error of a window is then on average 1.7 times that of a sum tap by tap, with
// five taps 1.4 times. With 0, +-1, +-2 and infinity it would be 2.4 and 2.1
// times (measured; less for more channels).
//
// Sources: A. Lavin, S. Gray, "Fast Algorithms for Convolutional Neural
// Networks", 2015, for the transforms of one dimension and of gradients; for
// the points, B. Barabasz et al., "Error Analysis and Improving the Accuracy of
// Winograd Convolution for Deep Neural Networks", 2018.
//
// Threads: pure functions.
#ifndef WEFT_LIBS_KERNELS_ISA_WINOGRAD_ISA_H_
#define WEFT_LIBS_KERNELS_ISA_WINOGRAD_ISA_H_

#include <cstdint>

#include "libs/kernels/isa/per_instruction_set.h"

namespace weft {

inline constexpr int kWinogradPoints = 6;

// For i < count, sets to[...][i] to the transform of from[...][i]. Outputs must
// not overlap inputs; unused outputs may all point to one buffer.
using WinogradTransform = void (*)(const float* const* from, int64_t count,
                                   float* const* to);
// Also returns whether all outputs are finite.
using CheckedWinogradTransform = bool (*)(const float* const* from,
                                          int64_t count, float* const* to);

// The transforms for a number of taps, with "points" meaning kWinogradPoints.
struct WinogradTransforms {
  int64_t windows;                           // of a tile
  WinogradTransform pixels;                  // points to points
  WinogradTransform taps;                    // taps to points
  CheckedWinogradTransform outputs;          // points to windows
  WinogradTransform output_gradients;        // windows to points
  CheckedWinogradTransform filter_gradient;  // points to taps
};

// REQUIRES: taps is 3 or 5.
WEFT_PER_INSTRUCTION_SET(WinogradTransforms Winograd(int64_t taps);)

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ISA_WINOGRAD_ISA_H_
