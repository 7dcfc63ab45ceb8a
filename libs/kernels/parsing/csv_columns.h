// The types of CSV columns, and the check of their defaults, for CSVDataset and
// DecodeCSV. Error texts are TensorFlow's.
//
// Threads: stateless functions.
#ifndef WEFT_LIBS_KERNELS_PARSING_CSV_COLUMNS_H_
#define WEFT_LIBS_KERNELS_PARSING_CSV_COLUMNS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "libs/kernels/common/number_types.h"
#include "libs/tensor/tensor.h"

namespace weft {

using CsvFieldTypes = TypeList<float, double, int32_t, int64_t, std::string>;

// Returns INVALID_ARGUMENT unless the default of column `column` is a scalar,
// or a vector of at most one element.
inline absl::Status CheckCsvDefault(const Tensor& value, size_t column) {
  if (value.rank() > 1) {
    return absl::InvalidArgumentError(
        "Each record default should be at most rank 1");
  }
  if (value.num_elements() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("There should only be 1 default per field but field ",
                     column, " has ", value.num_elements()));
  }
  return absl::OkStatus();
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_PARSING_CSV_COLUMNS_H_
