// Whether a message that brings tensors is read soon enough for a thread that
// must not be kept. Only for .cc files of this room: it includes FlatBuffers.
#ifndef WEFT_LIBS_PROTOCOL_READ_SOON_INL_H_
#define WEFT_LIBS_PROTOCOL_READ_SOON_INL_H_

#include "libs/bus/transport.h"
#include "libs/protocol/messages_inl.h"
#include "libs/protocol/tensor_codec.h"

namespace weft::protocol {

// Whether a T is read soon enough for a thread that must not be kept. `is_slow`
// says so of a body whose message is quick to open.
template <typename T, typename IsSlow>
bool IsReadSoon(const bus::Message& message, IsSlow is_slow) {
  if (!BringsMuch(message)) return true;
  if (IsSlowToOpen(message)) return false;
  const auto reader = Open<T>(message);
  // What is damaged is refused soon.
  return !reader.ok() || !is_slow(reader->template body<T>());
}

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_READ_SOON_INL_H_
