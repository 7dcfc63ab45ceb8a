// What the numbers of a tensor are like.
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
  // Of those that are finite; 0 where there are none.
  double min = 0;
  double max = 0;
  double mean = 0;
  double standard_deviation = 0;
};

// None for types that are no real numbers. Of 64-bit integers as doubles.
std::optional<TensorStatistics> StatisticsOf(const Tensor& tensor);

// How two tensors of one type and shape differ.
struct TensorDifference {
  int64_t count = 0;  // of elements beyond the tolerance
  int64_t first = 0;  // the position of one of them
  // The largest, and where; of types that are no real numbers 0.
  double largest = 0;
  int64_t largest_at = 0;
};

// Elements differ when |a - b| > atol + rtol * |b|; NaNs do not from each
// other. What is no real number differs when it is not equal.
TensorDifference DifferenceOf(const Tensor& a, const Tensor& b, double atol,
                              double rtol);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_TENSOR_STATISTICS_H_
