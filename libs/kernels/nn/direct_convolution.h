// DirectConvolution computes convolutions of floats and their gradients without
// laying out windows.
//
// With channels last, the elements of a window in one image row are contiguous,
// and the next window begins a stride later. An image row is therefore a matrix
// of windows with overlapping rows, which the loops of isa/conv_isa.h multiply
// in place. Only padding is added around the rows, some rows at a time. Padded
// columns are multiplied as zeros, but padded rows are not. An infinite weight
// or gradient therefore gives NaN next to padded columns only (in TensorFlow on
// all sides of an image, or on none). Each sum has one order, independent of
// the number of threads; the gradient with respect to the filter is a sum of
// parts determined by the shape alone.
//
// Threads: pure functions; work is split over the Scheduler's threads.
#ifndef WEFT_LIBS_KERNELS_NN_DIRECT_CONVOLUTION_H_
#define WEFT_LIBS_KERNELS_NN_DIRECT_CONVOLUTION_H_

#include "absl/status/status.h"
#include "libs/kernels/nn/convolution.h"
#include "libs/kernels/op_kernel.h"

namespace weft {

// Returns whether DirectConvolution supports it. No size may be 0.
bool IsDirect(const Convolution& sizes, ConvolutionPass pass);

// Returns whether it is faster than oneDNN with AVX-512: with few filters,
// oneDNN's vectors are mostly empty, and with one channel little data is
// reused. REQUIRES: IsDirect.
bool IsBestDirect(const Convolution& sizes, ConvolutionPass pass);

// `first` and `second` are the pass's inputs without layout changes, in the
// order image, filter, gradient. `output` is overwritten. REQUIRES: IsDirect.
absl::Status DirectConvolution(OpKernelContext& context,
                               const Convolution& sizes, ConvolutionPass pass,
                               const float* first, const float* second,
                               float* output);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_NN_DIRECT_CONVOLUTION_H_
