// DataType is the type of a tensor's elements. Numbers and names are
// TensorFlow's (tensorflow/core/framework/types.proto), also on the wire.
#ifndef WEFT_LIBS_TENSOR_DATA_TYPE_H_
#define WEFT_LIBS_TENSOR_DATA_TYPE_H_

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "libs/tensor/float16.h"

namespace weft {

enum DataType : int {
  DT_INVALID = 0,
  DT_FLOAT = 1,
  DT_DOUBLE = 2,
  DT_INT32 = 3,
  DT_UINT8 = 4,
  DT_INT16 = 5,
  DT_INT8 = 6,
  DT_STRING = 7,
  DT_COMPLEX64 = 8,
  DT_INT64 = 9,
  DT_BOOL = 10,
  DT_BFLOAT16 = 14,
  DT_UINT16 = 17,
  DT_COMPLEX128 = 18,
  DT_HALF = 19,
  DT_RESOURCE = 20,
  DT_VARIANT = 21,
  DT_UINT32 = 22,
  DT_UINT64 = 23,
  // A reference to a variable of type T has number T + 100.
  DT_FLOAT_REF = 101,
};

using DataTypeVector = std::vector<DataType>;

inline bool IsRefType(DataType type) { return type > 100; }
inline DataType MakeRefType(DataType type) {
  return IsRefType(type) ? type : static_cast<DataType>(type + 100);
}
inline DataType RemoveRefType(DataType type) {
  return IsRefType(type) ? static_cast<DataType>(type - 100) : type;
}

// Bytes of one element; 0 for DT_STRING, DT_RESOURCE, DT_VARIANT and for
// unsupported types (float8_e5m2, int4 and the like).
size_t DataTypeSize(DataType type);

// True for the types a Tensor can hold.
bool IsSupportedType(DataType type);
// float, double, half, bfloat16.
bool IsFloatingType(DataType type);
bool IsComplexType(DataType type);
// Signed and unsigned integers, not bool.
bool IsIntegerType(DataType type);

// TensorFlow's name: "float", "int32", "float_ref". Unknown numbers become
// "unknown dtype 99".
std::string DataTypeName(DataType type);
// Accepts "float" and "DT_FLOAT" (and "float_ref", "DT_FLOAT_REF").
std::optional<DataType> DataTypeFromName(absl::string_view name);

struct ResourceHandle;  // libs/tensor/resource_handle.h
struct Variant;         // libs/tensor/variant.h

// DataTypeOf<float>::value == DT_FLOAT, and so on.
template <typename T>
struct DataTypeOf;

#define WEFT_MATCH_TYPE(TYPE, ENUM)         \
  template <>                               \
  struct DataTypeOf<TYPE> {                 \
    static constexpr DataType value = ENUM; \
  }
WEFT_MATCH_TYPE(float, DT_FLOAT);
WEFT_MATCH_TYPE(double, DT_DOUBLE);
WEFT_MATCH_TYPE(int32_t, DT_INT32);
WEFT_MATCH_TYPE(uint8_t, DT_UINT8);
WEFT_MATCH_TYPE(int16_t, DT_INT16);
WEFT_MATCH_TYPE(int8_t, DT_INT8);
WEFT_MATCH_TYPE(std::string, DT_STRING);
WEFT_MATCH_TYPE(std::complex<float>, DT_COMPLEX64);
WEFT_MATCH_TYPE(int64_t, DT_INT64);
WEFT_MATCH_TYPE(bool, DT_BOOL);
WEFT_MATCH_TYPE(bfloat16, DT_BFLOAT16);
WEFT_MATCH_TYPE(uint16_t, DT_UINT16);
WEFT_MATCH_TYPE(std::complex<double>, DT_COMPLEX128);
WEFT_MATCH_TYPE(half, DT_HALF);
WEFT_MATCH_TYPE(ResourceHandle, DT_RESOURCE);
WEFT_MATCH_TYPE(Variant, DT_VARIANT);
WEFT_MATCH_TYPE(uint32_t, DT_UINT32);
WEFT_MATCH_TYPE(uint64_t, DT_UINT64);
#undef WEFT_MATCH_TYPE

}  // namespace weft

#endif  // WEFT_LIBS_TENSOR_DATA_TYPE_H_
