// Winograd's convolutions of floats, and their gradients: with half to three
// fifths of the multiplications of those that sum up each window by itself.
//
// Along a row of the image windows are computed some at a time, as
// isa/winograd_isa.h says: filters three or five columns wide, however many
// rows, with strides of 1. What lies between the transforms are the sums of
// direct_convolution.h, over rows that overlap.
//
// On average sums are 1.1 to 2 times as far from exact ones as those of other
// convolutions, the gradient by the filter 2 to 3 times (measured, for numbers
// of either sign). What counts is the largest of what a tile sees, which are up
// to three pixels more than a window's: so a number that dwarfs its neighbors
// costs windows beside it precision, and a window of zeros beside others need
// not be quite 0. Taps below 1e-37 lose digits. The environment variable
// WEFT_WINOGRAD says "off" where that is unwelcome.
//
// Each number is summed up in one order, however many threads there are; the
// gradient by the filter is a sum of parts that the shape alone decides.
//
// Threads: pure functions; work is split over the Scheduler's threads.
#ifndef WEFT_LIBS_KERNELS_NN_WINOGRAD_CONVOLUTION_H_
#define WEFT_LIBS_KERNELS_NN_WINOGRAD_CONVOLUTION_H_

#include "absl/status/statusor.h"
#include "libs/kernels/nn/convolution.h"
#include "libs/kernels/op_kernel.h"

namespace weft {

// Unless the environment variable WEFT_WINOGRAD is "off".
bool WinogradIsWanted();

// Whether it can be done so, and pays: it does for the sizes of usual nets. No
// size may be 0.
bool IsBestWinograd(const Convolution& sizes, ConvolutionPass pass);

// `first` and `second` are what the pass takes, plain and in this order: image,
// filter, gradient. `output` is written whole. False: some of what was written
// is not finite, and others may be although windows that see nothing infinite
// have finite sums; it is to be computed otherwise.
// REQUIRES: IsBestWinograd.
absl::StatusOr<bool> WinogradConvolution(OpKernelContext& context,
                                         const Convolution& sizes,
                                         ConvolutionPass pass,
                                         const float* first,
                                         const float* second, float* output);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_NN_WINOGRAD_CONVOLUTION_H_
