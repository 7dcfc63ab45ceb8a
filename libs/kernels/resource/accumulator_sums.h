// The sums of gradient accumulators: of dense tensors, or of rows (TensorFlow's
// conditional_accumulator.h, sparse_conditional_accumulator.h).
#ifndef WEFT_LIBS_KERNELS_RESOURCE_ACCUMULATOR_SUMS_H_
#define WEFT_LIBS_KERNELS_RESOURCE_ACCUMULATOR_SUMS_H_

#include <memory>
#include <vector>

#include "libs/resource/gradient_accumulator.h"
#include "libs/tensor/data_type.h"

namespace weft {

// The types that can be accumulated, as in TensorFlow. Integers are excluded,
// because they have no exact mean.
std::vector<DataType> AccumulatedTypes();

// A gradient is one tensor, and so is the result of Take.
std::unique_ptr<GradientSum> NewDenseSum(
    const GradientAccumulatorOptions& options);

// A gradient is row indices, their values and, if it is known, the dense shape;
// Take returns the same three. The mean of a row is over the gradients that
// have this row. Gradients are merged as if their indices were sorted.
std::unique_ptr<GradientSum> NewSparseSum(
    const GradientAccumulatorOptions& options);

// Returns a sparse gradient (see above) with sorted, distinct rows; repeated
// rows are added in their order. Returns it unchanged if it is already so.
absl::StatusOr<std::vector<Tensor>> SumRepeatedRows(
    std::vector<Tensor> gradient);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_RESOURCE_ACCUMULATOR_SUMS_H_
