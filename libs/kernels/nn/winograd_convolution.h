// WinogradConvolution computes convolutions of floats and their gradients with
// half to three fifths of the multiplications of direct methods.
//
// Several windows of an image row are computed together, as described in
// isa/winograd_isa.h: for filters three or five columns wide, with any number
// of rows, and strides of 1. Between the transforms it uses the sums of
// direct_convolution.h, over overlapping rows.
//
// On average the errors of sums are 1.1 to 2 times those of other convolutions,
// and 2 to 3 times for the gradient with respect to the filter (measured, for
// numbers of both signs). The error depends on the largest number in a tile,
// which covers up to three pixels more than a window: so a number that is much
// larger than its neighbors reduces the precision of adjacent windows, and a
// window of zeros next to others may not be exactly 0. Taps below 1e-37 lose
// digits. The environment variable WEFT_WINOGRAD=off disables it.
//
// Each sum has one order, independent of the number of threads; the gradient
// with respect to the filter is a sum of parts determined by the shape alone.
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

// Returns whether WinogradConvolution supports it and is faster, as for the
// sizes of typical networks. No size may be 0.
bool IsBestWinograd(const Convolution& sizes, ConvolutionPass pass);

// `first` and `second` are the pass's inputs without layout changes, in the
// order image, filter, gradient. `output` is overwritten. Returns false if some
// results are not finite: others may then be non-finite, too, even if their
// windows have finite sums, and the caller must use another method. REQUIRES:
// IsBestWinograd.
absl::StatusOr<bool> WinogradConvolution(OpKernelContext& context,
                                         const Convolution& sizes,
                                         ConvolutionPass pass,
                                         const float* first,
                                         const float* second, float* output);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_NN_WINOGRAD_CONVOLUTION_H_
