// Whether a message that brings tensors is read soon enough for a thread that
// must not be kept. Only for .cc files of this room: it includes FlatBuffers.
#ifndef WEFT_LIBS_PROTOCOL_READ_SOON_INL_H_
#define WEFT_LIBS_PROTOCOL_READ_SOON_INL_H_

#include <cstdint>

#include "libs/bus/message.h"
#include "libs/protocol/messages_inl.h"
#include "libs/protocol/tensor_codec.h"

namespace weft::protocol {

inline const schemas::Tensor* TensorOf(const schemas::Tensor* tensor) {
  return tensor;
}
template <typename Holder>
const schemas::Tensor* TensorOf(const Holder* holder) {
  return holder->tensor();
}

// SlowBytes of all tensors of a FlatBuffers vector, which holds them, or tables
// that have one each. Null: 0.
template <typename Vector>
uint64_t SlowBytesOf(const Vector* vector) {
  uint64_t bytes = 0;
  if (vector == nullptr) return bytes;
  for (const auto* one : *vector) bytes += SlowBytes(TensorOf(one));
  return bytes;
}

// Whether a T is read soon enough for a thread that must not be kept.
// `slow_bytes` counts them in a body whose message is quick to open.
template <typename T, typename CountSlowBytes>
bool IsReadSoon(const bus::Message& message, CountSlowBytes slow_bytes) {
  if (!BringsMuch(message)) return true;
  if (IsSlowToOpen(message)) return false;
  const auto reader = Open<T>(message);
  // What is damaged is refused soon.
  return !reader.ok() ||
         slow_bytes(reader->template body<T>()) <= kBytesReadSoon;
}

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_READ_SOON_INL_H_
