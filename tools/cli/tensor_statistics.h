// Computes statistics of a tensor, and differences between two tensors.
#ifndef WEFT_TOOLS_CLI_TENSOR_STATISTICS_H_
#define WEFT_TOOLS_CLI_TENSOR_STATISTICS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "libs/tensor/tensor.h"

namespace weft::tools {

struct TensorStatistics {
  int64_t count = 0;
  int64_t zeros = 0;
  int64_t nans = 0;
  int64_t infinities = 0;
  // Computed from the finite numbers; 0 if there are none.
  double min = 0;
  double max = 0;
  double mean = 0;
  double standard_deviation = 0;
};

// Returns the statistics of a tensor, or nullopt for types other than real
// numbers. 64-bit integers are converted to doubles.
std::optional<TensorStatistics> StatisticsOf(const Tensor& tensor);

// TensorDifference describes the differences between two tensors of the same
// type and shape.
struct TensorDifference {
  // number of elements that differ by more than the tolerance
  int64_t count = 0;
  int64_t first = 0;  // position of the first such element
  // The largest difference and its position. 0 for types other than real
  // numbers.
  double largest = 0;
  int64_t largest_at = 0;
};

// Compares two tensors. Numbers differ if |a - b| > atol + rtol * |b|, and NaNs
// are equal. Elements of other types differ if they are not equal.
TensorDifference DifferenceOf(const Tensor& a, const Tensor& b, double atol,
                              double rtol);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_TENSOR_STATISTICS_H_
