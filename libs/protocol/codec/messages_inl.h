// Reading and writing messages of all roles, by the type of their body. Only
// for .cc files of this module: it includes FlatBuffers.
#ifndef WEFT_LIBS_PROTOCOL_CODEC_MESSAGES_INL_H_
#define WEFT_LIBS_PROTOCOL_CODEC_MESSAGES_INL_H_

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "libs/bus/message.h"
#include "libs/protocol/codec/message_reader.h"
#include "libs/protocol/codec/message_writer.h"
#include "schemas/body_generated.h"

namespace weft::protocol {

template <typename T>
bus::Message Finish(flatbuffers::Offset<T> body,
                    flatbuffers::FlatBufferBuilder& builder,
                    Attachments attachments = {}) {
  return FinishMessage(static_cast<uint8_t>(schemas::BodyTraits<T>::enum_value),
                       body.o, builder, std::move(attachments));
}

template <typename T>
absl::StatusOr<MessageReader> Open(bus::Message message) {
  return MessageReader::Open(
      std::move(message),
      static_cast<uint8_t>(schemas::BodyTraits<T>::enum_value));
}

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_CODEC_MESSAGES_INL_H_
