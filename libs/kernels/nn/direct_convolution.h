// Convolutions of floats and their gradients without windows being laid out.
//
// What a window takes of one row of an image lies there side by side, channels
// last, and the next window's begins a stride further on: a row of the image is
// a matrix of windows whose rows overlap, which the loops of isa/conv_isa.h
// multiply as it is. Only padding has to be put around the rows, some at a
// time: columns of it are multiplied as the zeros that they are, rows are not,
// so that an infinite weight or gradient gives NaN beside the columns alone (in
// TensorFlow at all sides of an image, or at none). Each number is summed up in
// one order, however many threads there are; the gradient by the filter is a
// sum of parts that the shape alone decides.
//
// Threads: pure functions; work is split over the Scheduler's threads.
#ifndef WEFT_LIBS_KERNELS_NN_DIRECT_CONVOLUTION_H_
#define WEFT_LIBS_KERNELS_NN_DIRECT_CONVOLUTION_H_

#include "absl/status/status.h"
#include "libs/kernels/nn/convolution.h"
#include "libs/kernels/op_kernel.h"

namespace weft {

// Whether it can be done so. No size may be 0.
bool IsDirect(const Convolution& sizes, ConvolutionPass pass);

// Whether that is faster than oneDNN where vectors are as long as AVX-512's: of
// few filters a vector of theirs is mostly empty, and of one channel there is
// little to read again. REQUIRES: IsDirect.
bool IsBestDirect(const Convolution& sizes, ConvolutionPass pass);

// `first` and `second` are what the pass takes, plain and in this order: image,
// filter, gradient. `output` is written whole. REQUIRES: IsDirect.
absl::Status DirectConvolution(OpKernelContext& context,
                               const Convolution& sizes, ConvolutionPass pass,
                               const float* first, const float* second,
                               float* output);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_NN_DIRECT_CONVOLUTION_H_
