// Conversion of one CSV field to a value, as in TensorFlow.
//
// Threads: stateless functions.
#ifndef WEFT_LIBS_CSV_FIELD_H_
#define WEFT_LIBS_CSV_FIELD_H_

#include <cstdint>
#include <string>
#include <type_traits>

#include "absl/strings/string_view.h"
#include "libs/base/text_numbers.h"

namespace weft {

// Parses a few digits, as most whole numbers in CSV files are. Returns false
// for other fields.
template <typename T>
bool ParseFewDigits(absl::string_view field, T& value) {
  if (field.empty() || field.size() > 7) return false;
  int32_t number = 0;
  for (const char c : field) {
    if (c < '0' || c > '9') return false;
    number = 10 * number + (c - '0');
  }
  value = static_cast<T>(number);
  return true;
}

// Parses a field as a T: float, double, int32_t, int64_t or std::string.
// Returns false if the field is not a T.
template <typename T>
bool ParseCsvField(absl::string_view field, T& value) {
  if constexpr (std::is_integral_v<T>) {
    if (ParseFewDigits(field, value)) return true;
  }
  return ParseNumber(field, value);
}
inline bool ParseCsvField(absl::string_view field, std::string& value) {
  value.assign(field.data(), field.size());
  return true;
}

}  // namespace weft

#endif  // WEFT_LIBS_CSV_FIELD_H_
