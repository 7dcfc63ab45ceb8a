// The transforms of Winograd's convolutions along the rows of an image, which
// need fewer multiplications: compiled for each instruction set (weft::v1,
// weft::v3, weft::v4).
//
// Windows of a row that lie beside each other are a tile: four of three taps
// each, or two of five. A tile sees six pixels. They, the taps and the windows
// are each taken for a polynomial, and become its values at six points; there
// a window is a product of pixel and tap, six for a tile in the place of twelve
// or ten. Between the transforms sums go over channels and rows of the filter.
//
// The points are 0, +-3/4, +-3/2 and infinity. Summed over 16 channels a window
// is then on average 1.7 times as far from the exact sum as one that was summed
// up tap by tap, with five taps 1.4 times; with 0, +-1, +-2 and infinity it
// would be 2.4 and 2.1 times (measured; less for more channels).
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

// For i < count, to[...][i] becomes what the transform makes of from[...][i].
// What is written overlaps nothing that is read; what nobody wants may all go
// to one place.
using WinogradTransform = void (*)(const float* const* from, int64_t count,
                                   float* const* to);
// The same, and whether all that was written is finite.
using CheckedWinogradTransform = bool (*)(const float* const* from,
                                          int64_t count, float* const* to);

// For a number of taps, "points" being kWinogradPoints.
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
