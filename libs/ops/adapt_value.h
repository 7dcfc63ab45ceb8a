// AdaptValue: a value given in C++ as the dtype that an op asks for.
//
// Stateless, hence thread-safe.
#ifndef WEFT_LIBS_OPS_ADAPT_VALUE_H_
#define WEFT_LIBS_OPS_ADAPT_VALUE_H_

#include "absl/status/statusor.h"
#include "libs/tensor/tensor.h"

namespace weft {

// `value`: of bool, int32, int64, float or double. INVALID_ARGUMENT where an
// element has no exact meaning there: 1.5 as an int32, 300 as a uint8, 1 as a
// bool. Rounding to a narrower floating type is fine.
absl::StatusOr<Tensor> AdaptValue(const Tensor& value, DataType dtype);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_ADAPT_VALUE_H_
