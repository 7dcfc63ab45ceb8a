// AdaptValue converts a C++ value to the dtype that an op requires.
//
// Stateless, hence thread-safe.
#ifndef WEFT_LIBS_OPS_ADAPT_VALUE_H_
#define WEFT_LIBS_OPS_ADAPT_VALUE_H_

#include "absl/status/statusor.h"
#include "libs/tensor/tensor.h"

namespace weft {

// Converts `value`, which must be bool, int32, int64, float or double, to
// `dtype`. Returns INVALID_ARGUMENT if an element has no exact meaning in
// `dtype`: 1.5 as an int32, 300 as a uint8, 1 as a bool. Rounding to a narrower
// floating-point type is allowed.
absl::StatusOr<Tensor> AdaptValue(const Tensor& value, DataType dtype);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_ADAPT_VALUE_H_
