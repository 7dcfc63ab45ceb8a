#include "tools/cli/tensor_json.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "libs/base/json_error.h"
#include "libs/base/status.h"
#include "libs/base/utf8.h"
#include "libs/tensor/quantized_type.h"

namespace weft::tools {
namespace {

constexpr char kNan[] = "NaN";
constexpr char kInfinity[] = "Infinity";
constexpr char kMinusInfinity[] = "-Infinity";

// Calls `function` with a null pointer to the element type. Returns false for
// types whose values have no JSON form.
template <typename Function>
bool ForElementType(DataType dtype, Function function) {
  switch (dtype) {
#define WEFT_CASE(ENUM, TYPE)              \
  case ENUM:                               \
    function(static_cast<TYPE*>(nullptr)); \
    return true
    WEFT_CASE(DT_FLOAT, float);
    WEFT_CASE(DT_DOUBLE, double);
    WEFT_CASE(DT_HALF, half);
    WEFT_CASE(DT_BFLOAT16, bfloat16);
    WEFT_CASE(DT_INT8, int8_t);
    WEFT_CASE(DT_INT16, int16_t);
    WEFT_CASE(DT_INT32, int32_t);
    WEFT_CASE(DT_INT64, int64_t);
    WEFT_CASE(DT_UINT8, uint8_t);
    WEFT_CASE(DT_UINT16, uint16_t);
    WEFT_CASE(DT_UINT32, uint32_t);
    WEFT_CASE(DT_UINT64, uint64_t);
    WEFT_CASE(DT_BOOL, bool);
    WEFT_CASE(DT_STRING, std::string);
    WEFT_CASE(DT_COMPLEX64, std::complex<float>);
    WEFT_CASE(DT_COMPLEX128, std::complex<double>);
#undef WEFT_CASE
    default:
      return false;
  }
}

// Returns a JSON value as text, truncated for use in an error.
std::string Shown(const Json& json) {
  std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  constexpr size_t kMax = 60;
  return text.size() <= kMax ? text : text.substr(0, kMax) + "...";
}

// Reads a floating-point number, before it is rounded to its type.
bool ReadDouble(const Json& json, double& value) {
  if (json.is_number()) {
    value = json.get<double>();
  } else if (json == kNan) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (json == kInfinity) {
    value = std::numeric_limits<double>::infinity();
  } else if (json == kMinusInfinity) {
    value = -std::numeric_limits<double>::infinity();
  } else {
    return false;
  }
  return true;
}

// The following functions return false if `json` has another kind or is out of
// range.
template <typename T>
bool ReadReal(const Json& json, T& value) {
  double number;
  if (!ReadDouble(json, number)) return false;
  if constexpr (sizeof(T) < sizeof(double)) {
    const auto rounded = static_cast<float>(number);
    value = static_cast<T>(rounded);
    return std::isfinite(static_cast<float>(value)) || !std::isfinite(number);
  } else {
    value = number;
    return true;
  }
}
bool Read(const Json& json, float& value) { return ReadReal(json, value); }
bool Read(const Json& json, double& value) { return ReadReal(json, value); }
bool Read(const Json& json, half& value) { return ReadReal(json, value); }
bool Read(const Json& json, bfloat16& value) { return ReadReal(json, value); }
bool Read(const Json& json, bool& value) {
  if (!json.is_boolean()) return false;
  value = json.get<bool>();
  return true;
}
bool Read(const Json& json, std::string& value) {
  if (json.is_object() && json.size() == 1 && json.contains("b64")) {
    const Json& coded = json["b64"];
    return coded.is_string() &&
           absl::Base64Unescape(coded.get<std::string>(), &value);
  }
  if (!json.is_string()) return false;
  value = json.get<std::string>();
  return true;
}
template <typename T>
bool Read(const Json& json, std::complex<T>& value) {
  T real = 0, imag = 0;
  const bool is_pair = json.is_object() && json.size() == 2 &&
                       json.contains("real") && json.contains("imag");
  if (is_pair ? !Read(json["real"], real) || !Read(json["imag"], imag)
              : !Read(json, real)) {
    return false;
  }
  value = {real, imag};
  return true;
}
template <typename T>
std::enable_if_t<std::is_integral_v<T>, bool> Read(const Json& json, T& value) {
  using Limits = std::numeric_limits<T>;
  if (json.is_number_unsigned()) {
    const auto number = json.get<uint64_t>();
    value = static_cast<T>(number);
    return number <= static_cast<uint64_t>(Limits::max());
  }
  if (!json.is_number_integer() || std::is_unsigned_v<T>) return false;
  const auto number = json.get<int64_t>();  // negative
  value = static_cast<T>(number);
  return number >= static_cast<int64_t>(Limits::min());
}

// Returns the shape given by the first list at each level. Flatten checks the
// other lists.
absl::StatusOr<TensorShape> ShapeOf(const Json& json) {
  std::vector<int64_t> dims;
  for (const Json* level = &json; level->is_array(); level = &level->front()) {
    dims.push_back(static_cast<int64_t>(level->size()));
    if (dims.size() > kMaxRank) break;  // TensorShape reports the error
    if (level->empty()) break;
  }
  return TensorShape::Create(dims);
}

// Appends the elements of `json` in row-major order. Returns an error if the
// lists do not match `shape`. REQUIRES: `json` is not nested deeper than
// `shape` has dimensions.
absl::Status Flatten(const Json& json, const TensorShape& shape, int level,
                     std::vector<const Json*>& elements) {
  if (level == shape.rank()) {
    if (!json.is_array()) {
      elements.push_back(&json);
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat(
        Shown(json), " is a list where the first of its kind is none"));
  }
  if (!json.is_array() ||
      static_cast<int64_t>(json.size()) != shape.dim(level)) {
    return absl::InvalidArgumentError(
        absl::StrCat("lists of one level must be equally long: ", Shown(json),
                     " is not of length ", shape.dim(level)));
  }
  for (const Json& inner : json) {
    RETURN_IF_ERROR(Flatten(inner, shape, level + 1, elements));
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status Fill(const std::vector<const Json*>& elements, Tensor& tensor) {
  absl::Span<T> values = tensor.mutable_flat<T>();
  for (size_t i = 0; i < elements.size(); ++i) {
    if (Read(*elements[i], values[i])) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        Shown(*elements[i]), " is not a ", DataTypeName(tensor.dtype())));
  }
  return absl::OkStatus();
}

// Returns the double with the fewest digits that round-trips as a float, so
// that 0.1f is written as 0.1.
double WithFewDigits(float value) {
  char digits[64];
  const auto written = std::to_chars(digits, digits + sizeof(digits), value);
  double result = value;
  std::from_chars(digits, written.ptr, result);
  return result;
}

Json RealJson(double value) {
  if (std::isnan(value)) return kNan;
  if (std::isinf(value)) return value > 0 ? kInfinity : kMinusInfinity;
  return value;
}
template <typename T>
Json ElementJson(const T& value) {
  return value;
}
Json ElementJson(const std::string& value) {
  if (IsUtf8(value)) return value;
  return {{"b64", absl::Base64Escape(value)}};
}
Json ElementJson(double value) { return RealJson(value); }
Json ElementJson(float value) { return RealJson(WithFewDigits(value)); }
Json ElementJson(half value) { return ElementJson(static_cast<float>(value)); }
Json ElementJson(bfloat16 value) {
  return ElementJson(static_cast<float>(value));
}
template <typename T>
Json ElementJson(const std::complex<T>& value) {
  return {{"real", ElementJson(value.real())},
          {"imag", ElementJson(value.imag())}};
}

// Returns the elements from `next` as nested lists. Advances `next` past them.
template <typename T>
Json LevelJson(const TensorShape& shape, int level, const T*& next) {
  if (level == shape.rank()) return ElementJson(*next++);
  Json list = Json::array();
  for (int64_t i = 0; i < shape.dim(level); ++i) {
    list.push_back(LevelJson(shape, level + 1, next));
  }
  return list;
}

}  // namespace

absl::StatusOr<Tensor> TensorFromJson(absl::string_view text, DataType dtype) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr, false);
  if (json.is_discarded()) {
    return absl::InvalidArgumentError(absl::StrCat(
        text, " is not JSON; write ",
        dtype == DT_STRING ? "a string as '\"...\"'" : "1.5, true or [[1, 2]]",
        " (", JsonError(text), ")"));
  }
  return TensorFromParsedJson(json, dtype);
}

absl::StatusOr<Tensor> TensorFromParsedJson(const Json& json, DataType dtype) {
  ASSIGN_OR_RETURN(const TensorShape shape, ShapeOf(json));
  std::vector<const Json*> elements;
  RETURN_IF_ERROR(Flatten(json, shape, 0, elements));
  if (!IsSupportedType(dtype) || dtype == DT_RESOURCE || dtype == DT_VARIANT) {
    return absl::UnimplementedError(
        absl::StrCat("a ", DataTypeName(dtype), " cannot be written as JSON"));
  }
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(HeapAllocator(),
                                                   StorageType(dtype), shape));
  absl::Status filled;
  ForElementType(tensor.dtype(), [&](auto* type) {
    filled = Fill<std::remove_pointer_t<decltype(type)>>(elements, tensor);
  });
  if (!filled.ok()) return filled;
  return AsType(tensor, dtype);
}

Json TensorToJson(const Tensor& of_any_type) {
  const Tensor tensor = AsStorage(of_any_type);
  if (tensor.num_elements() == 0) return Json::array();
  Json json;
  const bool has_values = ForElementType(tensor.dtype(), [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const T* next = tensor.flat<T>().data();
    json = LevelJson(tensor.shape(), 0, next);
  });
  return has_values ? json : Json(tensor.ToString());
}

}  // namespace weft::tools
