// The value of an Optional: a variant of the tensors that are there, or of
// none.
#ifndef WEFT_LIBS_KERNELS_CONTROL_OPTIONAL_VALUE_H_
#define WEFT_LIBS_KERNELS_CONTROL_OPTIONAL_VALUE_H_

#include <memory>
#include <utility>
#include <vector>

#include "libs/tensor/tensor.h"
#include "libs/tensor/variant.h"

namespace weft {

inline constexpr char kOptionalType[] = "tensorflow::data::Optional";
// The metadata of one that has a value.
inline constexpr char kOptionalHasValue[] = "1";

inline Variant OptionalOf(std::vector<Tensor> components) {
  return {kOptionalType, kOptionalHasValue,
          std::make_shared<const std::vector<Tensor>>(std::move(components))};
}
inline Variant NoOptional() { return {kOptionalType, "", nullptr}; }

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_CONTROL_OPTIONAL_VALUE_H_
