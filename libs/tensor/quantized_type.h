// Quantized types: TensorFlow's qint8, quint8, qint16, quint16 and qint32. Weft
// stores their elements as integers of the same size and computes nothing with
// them.
//
// Functions without state.
#ifndef WEFT_LIBS_TENSOR_QUANTIZED_TYPE_H_
#define WEFT_LIBS_TENSOR_QUANTIZED_TYPE_H_

#include "libs/tensor/tensor.h"

namespace weft {

inline constexpr auto kQInt8 = static_cast<DataType>(11);
inline constexpr auto kQUInt8 = static_cast<DataType>(12);
inline constexpr auto kQInt32 = static_cast<DataType>(13);
inline constexpr auto kQInt16 = static_cast<DataType>(15);
inline constexpr auto kQUInt16 = static_cast<DataType>(16);

// The integer type that represents a quantized type; any other type is returned
// unchanged.
inline DataType StorageType(DataType type) {
  switch (static_cast<int>(type)) {
    case kQInt8:
      return DT_INT8;
    case kQUInt8:
      return DT_UINT8;
    case kQInt32:
      return DT_INT32;
    case kQInt16:
      return DT_INT16;
    case kQUInt16:
      return DT_UINT16;
    default:
      return type;
  }
}

// The same memory as elements of `type`.
// REQUIRES: StorageType(type) == StorageType(tensor.dtype()).
inline Tensor AsType(const Tensor& tensor, DataType type) {
  if (tensor.dtype() == type) return tensor;
  const auto* data = static_cast<const char*>(tensor.data());
  const auto* begin = static_cast<const char*>(tensor.buffer()->data());
  const size_t offset = data == nullptr ? 0 : static_cast<size_t>(data - begin);
  return Tensor::FromBuffer(type, tensor.shape(), tensor.buffer(), offset);
}

// The tensor with integer elements if they are quantized, otherwise unchanged.
inline Tensor AsStorage(const Tensor& tensor) {
  return AsType(tensor, StorageType(tensor.dtype()));
}

}  // namespace weft

#endif  // WEFT_LIBS_TENSOR_QUANTIZED_TYPE_H_
