// The element types that kernels compute with, and the dispatch from a DataType
// to code for the C++ type.
//
//   DispatchType(RealNumbers{}, tensor.dtype(), [&]<typename T>(TypeTag<T>) {
//     ... tensor.flat<T>() ...
//   });
#ifndef WEFT_LIBS_KERNELS_COMMON_NUMBER_TYPES_H_
#define WEFT_LIBS_KERNELS_COMMON_NUMBER_TYPES_H_

#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "libs/tensor/data_type.h"
#include "libs/tensor/float16.h"

namespace weft {

template <typename T>
struct TypeTag {
  using type = T;
};
template <typename... Ts>
struct TypeList {};

using FloatingTypes = TypeList<float, double, half, bfloat16>;
using NarrowTypes = TypeList<half, bfloat16>;
using IndexTypes = TypeList<int32_t, int64_t>;
using RealNumbers =
    TypeList<float, double, half, bfloat16, int8_t, int16_t, int32_t, int64_t,
             uint8_t, uint16_t, uint32_t, uint64_t>;
using Numbers = TypeList<float, double, half, bfloat16, int8_t, int16_t,
                         int32_t, int64_t, uint8_t, uint16_t, uint32_t,
                         uint64_t, std::complex<float>, std::complex<double>>;

// Returns the types of the list as DataTypes, for a KernelDef.
template <typename... Ts>
std::vector<DataType> DataTypesOf(TypeList<Ts...>) {
  return {DataTypeOf<Ts>::value...};
}

// Calls `fn` with the TypeTag of the C++ type of `type`. Returns UNIMPLEMENTED
// if that type is not in the list.
template <typename... Ts, typename Fn>
absl::Status DispatchType(TypeList<Ts...>, DataType type, const Fn& fn) {
  absl::Status status;
  const bool found =
      ((type == DataTypeOf<Ts>::value ? (status = fn(TypeTag<Ts>()), true)
                                      : false) ||
       ...);
  if (found) return status;
  return absl::UnimplementedError(
      absl::StrCat("unsupported type ", DataTypeName(type)));
}

// The type used for computation: float for the 16-bit types.
template <typename T>
using Wide =
    std::conditional_t<std::is_same_v<T, half> || std::is_same_v<T, bfloat16>,
                       float, T>;

// HighestOf and LowestOf return the largest and the lowest finite value of a
// type, including the 16-bit floats, which numeric_limits lacks.
template <typename T>
T HighestOf() {
  if constexpr (std::is_same_v<T, half>) {
    return half(65504.0f);
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    return bfloat16(0x1.fep127f);
  } else {
    return std::numeric_limits<T>::max();
  }
}
template <typename T>
T LowestOf() {
  if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>) {
    return T(-static_cast<float>(HighestOf<T>()));
  } else {
    return std::numeric_limits<T>::lowest();
  }
}

// Arithmetic that wraps around on integer overflow, as in TensorFlow, without
// undefined behavior.
template <typename T>
T AddElements(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return static_cast<T>(static_cast<Wide<T>>(a) + static_cast<Wide<T>>(b));
  }
}
template <typename T>
T SubtractElements(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  } else {
    return static_cast<T>(static_cast<Wide<T>>(a) - static_cast<Wide<T>>(b));
  }
}
template <typename T>
T MultiplyElements(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return static_cast<T>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b));
  }
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_COMMON_NUMBER_TYPES_H_
