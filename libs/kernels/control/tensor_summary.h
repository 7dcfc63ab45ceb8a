// The first values of a tensor in the words of TensorFlow's Assert and Print
// (Tensor::SummarizeValue).
#ifndef WEFT_LIBS_KERNELS_CONTROL_TENSOR_SUMMARY_H_
#define WEFT_LIBS_KERNELS_CONTROL_TENSOR_SUMMARY_H_

#include <cstdint>
#include <string>

#include "libs/tensor/tensor.h"

namespace weft {

// "4 -9", "[1 2][3...]...": at most `max_values` values; negative means all.
std::string SummarizeValues(const Tensor& tensor, int64_t max_values);

// "[[1 2 ... 8 9]\n [3 4 ... 6 7]]", strings in quotes: of each dimension as
// many at both ends, as StringFormat and tf.print write; negative means all.
std::string SummarizeEnds(const Tensor& tensor, int64_t at_ends);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_CONTROL_TENSOR_SUMMARY_H_
