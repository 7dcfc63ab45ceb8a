// The rules that combine an element of a variable with its update, for scatter
// ops and for ops on whole variables.
#ifndef WEFT_LIBS_KERNELS_STATE_SCATTER_RULES_H_
#define WEFT_LIBS_KERNELS_STATE_SCATTER_RULES_H_

#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "libs/kernels/common/number_types.h"
#include "libs/tensor/resource_handle.h"
#include "libs/tensor/variant.h"

namespace weft {

// All types that a variable can hold.
using AnyTypes =
    TypeList<float, double, half, bfloat16, int8_t, int16_t, int32_t, int64_t,
             uint8_t, uint16_t, uint32_t, uint64_t, std::complex<float>,
             std::complex<double>, bool, std::string, Variant, ResourceHandle>;

struct AddUpdate {
  template <typename T>
  static T Apply(T a, T b) {
    return AddElements(a, b);
  }
};
struct SubtractUpdate {
  template <typename T>
  static T Apply(T a, T b) {
    return SubtractElements(a, b);
  }
};
struct MultiplyUpdate {
  template <typename T>
  static T Apply(T a, T b) {
    return MultiplyElements(a, b);
  }
};
struct DivideUpdate {
  template <typename T>
  static T Apply(T a, T b) {
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      // The smallest number has no negation.
      if (b == T{-1}) return SubtractElements(T{0}, a);
    }
    return static_cast<T>(static_cast<Wide<T>>(a) / static_cast<Wide<T>>(b));
  }
};
struct MinimumUpdate {
  template <typename T>
  static T Apply(T a, T b) {
    return b < a ? b : a;
  }
};
struct MaximumUpdate {
  template <typename T>
  static T Apply(T a, T b) {
    return a < b ? b : a;
  }
};
struct ReplaceUpdate {
  template <typename T>
  static const T& Apply(const T&, const T& b) {
    return b;
  }
};

// Returns INVALID_ARGUMENT if an update cannot be applied to any element.
template <typename T, typename Operation>
absl::Status CheckUpdates(absl::Span<const T> updates) {
  if constexpr (std::is_same_v<Operation, DivideUpdate> &&
                std::is_integral_v<T>) {
    for (const T& value : updates) {
      if (value == 0) {
        return absl::InvalidArgumentError("Integer division by zero");
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_STATE_SCATTER_RULES_H_
