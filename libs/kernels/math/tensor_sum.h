// Adding up tensors that a resource holds.
#ifndef WEFT_LIBS_KERNELS_MATH_TENSOR_SUM_H_
#define WEFT_LIBS_KERNELS_MATH_TENSOR_SUM_H_

#include <cstdint>

#include "absl/status/status.h"
#include "libs/tensor/tensor.h"

namespace weft {

// Makes `tensor` the only one that holds its memory.
absl::Status MakeWritable(Tensor& tensor);

// Adds `count` elements of `added` from `from` on to those of `sum` from `at`
// on. UNIMPLEMENTED for types that are no numbers. REQUIRES: one dtype, ranges
// within the tensors, and a `sum` that may be written.
absl::Status AddRange(Tensor& sum, int64_t at, const Tensor& added,
                      int64_t from, int64_t count);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_MATH_TENSOR_SUM_H_
