#include "libs/ops/adapt_value.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {
namespace {

template <typename From>
absl::Status NoMeaning(From value, DataType to) {
  return absl::InvalidArgumentError(
      absl::StrCat("Expected ", DataTypeName(to), ", got ", value, " of type '",
                   DataTypeName(DataTypeOf<From>::value), "' instead."));
}

// Converts a wide integer or a double to an integer, if the value is exact.
template <typename To, typename From>
bool FitsInteger(From value) {
  if constexpr (std::is_floating_point_v<From>) {
    // Both bounds are powers of two, so a double holds them exactly.
    const double limit = std::ldexp(1.0, std::numeric_limits<To>::digits);
    const double low = std::is_signed_v<To> ? -limit : 0.0;
    return std::trunc(value) == value && value >= low && value < limit;
  } else {
    return std::in_range<To>(value);
  }
}

template <typename To, typename From>
absl::StatusOr<Tensor> Convert(const Tensor& from) {
  constexpr DataType dtype = DataTypeOf<To>::value;
  Tensor result(dtype, from.shape());
  auto in = from.flat<From>();
  auto out = result.mutable_flat<To>();
  for (size_t i = 0; i < in.size(); ++i) {
    if constexpr (std::is_same_v<From, bool> != std::is_same_v<To, bool>) {
      return NoMeaning(in[i], dtype);
    } else if constexpr (std::is_integral_v<To> && !std::is_same_v<To, bool>) {
      if (!FitsInteger<To>(in[i])) return NoMeaning(in[i], dtype);
      out[i] = static_cast<To>(in[i]);
    } else if constexpr (std::is_same_v<To, std::complex<float>>) {
      out[i] = To(static_cast<float>(in[i]));
    } else if constexpr (std::is_same_v<To, std::complex<double>>) {
      out[i] = To(static_cast<double>(in[i]));
    } else if constexpr (std::is_same_v<To, half> ||
                         std::is_same_v<To, bfloat16>) {
      out[i] = To(static_cast<float>(in[i]));
    } else {
      out[i] = static_cast<To>(in[i]);
    }
  }
  return result;
}

template <typename From>
absl::StatusOr<Tensor> ConvertFrom(const Tensor& from, DataType dtype) {
  switch (dtype) {
    case DT_FLOAT:
      return Convert<float, From>(from);
    case DT_DOUBLE:
      return Convert<double, From>(from);
    case DT_HALF:
      return Convert<half, From>(from);
    case DT_BFLOAT16:
      return Convert<bfloat16, From>(from);
    case DT_INT8:
      return Convert<int8_t, From>(from);
    case DT_INT16:
      return Convert<int16_t, From>(from);
    case DT_INT32:
      return Convert<int32_t, From>(from);
    case DT_INT64:
      return Convert<int64_t, From>(from);
    case DT_UINT8:
      return Convert<uint8_t, From>(from);
    case DT_UINT16:
      return Convert<uint16_t, From>(from);
    case DT_UINT32:
      return Convert<uint32_t, From>(from);
    case DT_UINT64:
      return Convert<uint64_t, From>(from);
    case DT_BOOL:
      return Convert<bool, From>(from);
    case DT_COMPLEX64:
      return Convert<std::complex<float>, From>(from);
    case DT_COMPLEX128:
      return Convert<std::complex<double>, From>(from);
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("Expected ", DataTypeName(dtype), ", got a ",
                       DataTypeName(DataTypeOf<From>::value), " instead."));
  }
}

}  // namespace

absl::StatusOr<Tensor> AdaptValue(const Tensor& value, DataType dtype) {
  if (value.dtype() == dtype) return value;
  switch (value.dtype()) {
    case DT_BOOL:
      return ConvertFrom<bool>(value, dtype);
    case DT_INT32:
      return ConvertFrom<int32_t>(value, dtype);
    case DT_INT64:
      return ConvertFrom<int64_t>(value, dtype);
    case DT_FLOAT:
      return ConvertFrom<float>(value, dtype);
    case DT_DOUBLE:
      return ConvertFrom<double>(value, dtype);
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("Expected ", DataTypeName(dtype), ", got ",
                       DataTypeName(value.dtype()), " instead."));
  }
}

}  // namespace weft
