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

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_CONTROL_TENSOR_SUMMARY_H_
