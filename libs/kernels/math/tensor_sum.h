// Addition of tensors that a resource holds.
#ifndef WEFT_LIBS_KERNELS_MATH_TENSOR_SUM_H_
#define WEFT_LIBS_KERNELS_MATH_TENSOR_SUM_H_

#include <cstdint>

#include "absl/status/status.h"
#include "libs/tensor/tensor.h"

namespace weft {

// Makes `tensor` the only holder of its memory.
absl::Status MakeWritable(Tensor& tensor);

// Adds `count` elements of `added`, starting at `from`, to those of `sum`,
// starting at `at`. Returns UNIMPLEMENTED for types that are not numeric.
// REQUIRES: one dtype, ranges within the tensors, and a writable `sum`.
absl::Status AddRange(Tensor& sum, int64_t at, const Tensor& added,
                      int64_t from, int64_t count);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_MATH_TENSOR_SUM_H_
