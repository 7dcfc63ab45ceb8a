// Elements of a given size, for kernels that only move them. Strings, resource
// handles and variants are moved as objects.
//
//   DispatchElement(tensor.dtype(), [&]<typename E>(TypeTag<E>) {
//     const E* in = Elements<E>(tensor);
//     ...
//   });
#ifndef WEFT_LIBS_KERNELS_ARRAY_ELEMENTS_H_
#define WEFT_LIBS_KERNELS_ARRAY_ELEMENTS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "libs/kernels/common/number_types.h"
#include "libs/tensor/resource_handle.h"
#include "libs/tensor/tensor.h"
#include "libs/tensor/variant.h"

namespace weft {

// An element of this many bytes; may alias any type.
struct [[gnu::may_alias]] Element1 {
  uint8_t bits;
};
struct [[gnu::may_alias]] Element2 {
  uint16_t bits;
};
struct [[gnu::may_alias]] Element4 {
  uint32_t bits;
};
struct [[gnu::may_alias]] Element8 {
  uint64_t bits;
};
struct [[gnu::may_alias]] Element16 {
  uint64_t bits[2];
};

template <typename E>
const E* Elements(const Tensor& tensor) {
  return static_cast<const E*>(tensor.data());
}
template <typename E>
E* MutableElements(Tensor& tensor) {
  return static_cast<E*>(tensor.mutable_data());
}

// Calls `fn` with the TypeTag of the C++ type used to move elements of `type`.
template <typename Fn>
absl::Status DispatchElement(DataType type, const Fn& fn) {
  switch (DataTypeSize(type)) {
    case 1:
      return fn(TypeTag<Element1>());
    case 2:
      return fn(TypeTag<Element2>());
    case 4:
      return fn(TypeTag<Element4>());
    case 8:
      return fn(TypeTag<Element8>());
    case 16:
      return fn(TypeTag<Element16>());
    default:
      break;
  }
  if (type == DT_STRING) return fn(TypeTag<std::string>());
  if (type == DT_RESOURCE) return fn(TypeTag<ResourceHandle>());
  if (type == DT_VARIANT) return fn(TypeTag<Variant>());
  return absl::UnimplementedError(
      absl::StrCat("unsupported type ", DataTypeName(type)));
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ARRAY_ELEMENTS_H_
