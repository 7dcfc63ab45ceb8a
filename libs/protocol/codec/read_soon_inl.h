// IsReadSoon decides whether a message with tensors can be read quickly enough
// on a thread that must not be blocked. Only for .cc files of this module: it
// includes FlatBuffers.
#ifndef WEFT_LIBS_PROTOCOL_CODEC_READ_SOON_INL_H_
#define WEFT_LIBS_PROTOCOL_CODEC_READ_SOON_INL_H_

#include <cstdint>

#include "libs/bus/message.h"
#include "libs/protocol/codec/messages_inl.h"
#include "libs/protocol/codec/tensor_codec.h"

namespace weft::protocol {

inline const schemas::Tensor* TensorOf(const schemas::Tensor* tensor) {
  return tensor;
}
template <typename Holder>
const schemas::Tensor* TensorOf(const Holder* holder) {
  return holder->tensor();
}

// Returns the sum of SlowBytes over all tensors of a FlatBuffers vector, which
// contains tensors, or tables with one tensor each; 0 for null.
template <typename Vector>
uint64_t SlowBytesOf(const Vector* vector) {
  uint64_t bytes = 0;
  if (vector == nullptr) return bytes;
  for (const auto* one : *vector) bytes += SlowBytes(TensorOf(one));
  return bytes;
}

// Returns whether a T can be read quickly enough on a thread that must not be
// blocked. If the message is quick to open, calls `slow_bytes` for the number
// of slow bytes in its body.
template <typename T, typename CountSlowBytes>
bool IsReadSoon(const bus::Message& message, CountSlowBytes slow_bytes) {
  if (!BringsMuch(message)) return true;
  if (IsSlowToOpen(message)) return false;
  const auto reader = Open<T>(message);
  // A damaged message is refused quickly.
  return !reader.ok() ||
         slow_bytes(reader->template body<T>()) <= kBytesReadSoon;
}

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_CODEC_READ_SOON_INL_H_
