#include "libs/tensor/data_type.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace weft {
namespace {

struct TypeInfo {
  int number;
  absl::string_view name;
  size_t size = 0;  // 0 also for types that Weft does not support
  bool supported = false;
};

constexpr TypeInfo kTypes[] = {
    {1, "float", 4, true},
    {2, "double", 8, true},
    {3, "int32", 4, true},
    {4, "uint8", 1, true},
    {5, "int16", 2, true},
    {6, "int8", 1, true},
    {7, "string", 0, true},
    {8, "complex64", 8, true},
    {9, "int64", 8, true},
    {10, "bool", 1, true},
    {11, "qint8", 1, true},
    {12, "quint8", 1, true},
    {13, "qint32", 4, true},
    {14, "bfloat16", 2, true},
    {15, "qint16", 2, true},
    {16, "quint16", 2, true},
    {17, "uint16", 2, true},
    {18, "complex128", 16, true},
    {19, "half", 2, true},
    {20, "resource", 0, true},
    {21, "variant", 0, true},
    {22, "uint32", 4, true},
    {23, "uint64", 8, true},
    {24, "float8_e5m2"},
    {25, "float8_e4m3fn"},
    {26, "float8_e4m3fnuz"},
    {27, "float8_e4m3b11fnuz"},
    {28, "float8_e5m2fnuz"},
    {29, "int4"},
    {30, "uint4"},
    {31, "int2"},
    {32, "uint2"},
    {33, "float4_e2m1fn"},
};
constexpr int kNumTypes = sizeof(kTypes) / sizeof(kTypes[0]);

// Returns null for numbers that are not a type, or a reference type.
const TypeInfo* Find(DataType type) {
  const int number = static_cast<int>(type);  // a peer may send any number
  return number >= 1 && number <= kNumTypes ? &kTypes[number - 1] : nullptr;
}

}  // namespace

size_t DataTypeSize(DataType type) {
  const TypeInfo* info = Find(type);
  return info == nullptr ? 0 : info->size;
}

bool IsSupportedType(DataType type) {
  const TypeInfo* info = Find(type);
  return info != nullptr && info->supported;
}

bool IsFloatingType(DataType type) {
  return type == DT_FLOAT || type == DT_DOUBLE || type == DT_HALF ||
         type == DT_BFLOAT16;
}

bool IsComplexType(DataType type) {
  return type == DT_COMPLEX64 || type == DT_COMPLEX128;
}

bool IsIntegerType(DataType type) {
  switch (type) {
    case DT_INT8:
    case DT_INT16:
    case DT_INT32:
    case DT_INT64:
    case DT_UINT8:
    case DT_UINT16:
    case DT_UINT32:
    case DT_UINT64:
      return true;
    default:
      return false;
  }
}

std::string DataTypeName(DataType type) {
  if (type == DT_INVALID) return "INVALID";
  const TypeInfo* info = Find(RemoveRefType(type));
  if (info == nullptr) {
    return absl::StrCat("unknown dtype ", static_cast<int>(type));
  }
  return absl::StrCat(info->name, IsRefType(type) ? "_ref" : "");
}

std::optional<DataType> DataTypeFromName(absl::string_view name) {
  const bool upper = absl::StartsWith(name, "DT_");
  if (upper) name.remove_prefix(3);
  const absl::string_view suffix = upper ? "_REF" : "_ref";
  const bool is_ref = absl::EndsWith(name, suffix);
  if (is_ref) name.remove_suffix(suffix.size());
  for (const TypeInfo& info : kTypes) {
    const bool match =
        upper ? absl::AsciiStrToUpper(info.name) == name : info.name == name;
    if (!match) continue;
    const auto type = static_cast<DataType>(info.number);
    return is_ref ? MakeRefType(type) : type;
  }
  return std::nullopt;
}

}  // namespace weft
