// The value of an Optional: a variant that holds its tensors, or none.
#ifndef WEFT_LIBS_KERNELS_CONTROL_OPTIONAL_VALUE_H_
#define WEFT_LIBS_KERNELS_CONTROL_OPTIONAL_VALUE_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/tensor/tensor.h"
#include "libs/tensor/variant.h"

namespace weft {

inline constexpr char kOptionalType[] = "tensorflow::data::Optional";
// The metadata of an optional with a value; followed, if it holds nested lists
// or optionals, by a space and their depth.
inline constexpr char kOptionalHasValue[] = "1";

// `depth` is 1 without nested variants.
inline Variant OptionalOf(std::vector<Tensor> components, int64_t depth = 1) {
  return {kOptionalType,
          depth == 1 ? kOptionalHasValue
                     : absl::StrCat(kOptionalHasValue, " ", depth),
          std::make_shared<const std::vector<Tensor>>(std::move(components))};
}
inline bool OptionalHasValue(const Variant& optional) {
  return absl::StartsWith(optional.metadata, kOptionalHasValue);
}
inline Variant NoOptional() { return {kOptionalType, "", nullptr}; }

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_CONTROL_OPTIONAL_VALUE_H_
