// The value of one field of comma-separated values, as TensorFlow reads it.
#ifndef WEFT_LIBS_KERNELS_PARSING_CSV_FIELD_H_
#define WEFT_LIBS_KERNELS_PARSING_CSV_FIELD_H_

#include <cstdint>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "libs/kernels/number_types.h"

namespace weft {

// What a column may hold.
using CsvFieldTypes = TypeList<float, double, int32_t, int64_t, std::string>;

// False where the field is no such value.
inline bool ParseCsvField(absl::string_view field, float& value) {
  return absl::SimpleAtof(field, &value);
}
inline bool ParseCsvField(absl::string_view field, double& value) {
  return absl::SimpleAtod(field, &value);
}
template <typename T>
bool ParseCsvField(absl::string_view field, T& value) {
  return absl::SimpleAtoi(field, &value);
}
inline bool ParseCsvField(absl::string_view field, std::string& value) {
  value.assign(field.data(), field.size());
  return true;
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_PARSING_CSV_FIELD_H_
