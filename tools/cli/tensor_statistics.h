// Statistics of the numbers of a tensor.
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
  // Of the finite numbers; 0 if there are none.
  double min = 0;
  double max = 0;
  double mean = 0;
  double standard_deviation = 0;
};

// None for types other than real numbers. 64-bit integers are converted to
// doubles.
std::optional<TensorStatistics> StatisticsOf(const Tensor& tensor);

// TensorDifference describes the differences of two tensors of one type and
// shape.
struct TensorDifference {
  int64_t count = 0;  // of elements beyond the tolerance
  int64_t first = 0;  // the position of one of them
  // The largest difference and its position; 0 for types other than real
  // numbers.
  double largest = 0;
  int64_t largest_at = 0;
};

// Elements differ if |a - b| > atol + rtol * |b|; NaNs are equal. Other types
// differ if they are not equal.
TensorDifference DifferenceOf(const Tensor& a, const Tensor& b, double atol,
                              double rtol);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_TENSOR_STATISTICS_H_
