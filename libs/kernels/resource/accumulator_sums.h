// What accumulators of gradients sum up: dense tensors, or rows of them
// (TensorFlow's conditional_accumulator.h, sparse_conditional_accumulator.h).
#ifndef WEFT_LIBS_KERNELS_RESOURCE_ACCUMULATOR_SUMS_H_
#define WEFT_LIBS_KERNELS_RESOURCE_ACCUMULATOR_SUMS_H_

#include <memory>
#include <vector>

#include "libs/resource/gradient_accumulator.h"
#include "libs/tensor/data_type.h"

namespace weft {

// The types that can be summed, which are TensorFlow's: a mean of integers
// would be none.
std::vector<DataType> AccumulatedTypes();

// A gradient is one tensor; Take gives one.
std::unique_ptr<GradientSum> NewDenseSum(
    const GradientAccumulatorOptions& options);

// A gradient is indices of rows, their values and, where it is known, the dense
// shape; Take gives the same three. A row's mean is taken over the gradients
// that have it. Two gradients are merged as if their indices were in order.
std::unique_ptr<GradientSum> NewSparseSum(
    const GradientAccumulatorOptions& options);

// A sparse gradient (see above) with its rows in order, each once: what it has
// of one row is added up in the order in which it is there. The same one where
// that is so already.
absl::StatusOr<std::vector<Tensor>> SumRepeatedRows(
    std::vector<Tensor> gradient);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_RESOURCE_ACCUMULATOR_SUMS_H_
