#include "libs/protocol/codec/message_writer.h"

#include <memory>
#include <utility>

#include "schemas/body_generated.h"

namespace weft::protocol {

flatbuffers::Offset<schemas::Bytes> WriteBytes(
    bus::Blob bytes, flatbuffers::FlatBufferBuilder& builder,
    Attachments& attachments) {
  const bool fits = builder.GetSize() <= kMaxBodyOfBytes;
  if (bytes.size() == 0 || (fits && bytes.size() <= kMaxBytesInBody)) {
    const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
    return schemas::CreateBytes(builder,
                                builder.CreateVector(data, bytes.size()));
  }
  attachments.push_back(std::move(bytes));
  return schemas::CreateBytes(builder, 0,
                              static_cast<uint32_t>(attachments.size()));
}

bus::Message FinishMessage(uint8_t method, uint32_t body,
                           flatbuffers::FlatBufferBuilder& builder,
                           Attachments attachments) {
  schemas::FinishMessageBuffer(
      builder,
      schemas::CreateMessage(builder, static_cast<schemas::Body>(method),
                             flatbuffers::Offset<void>(body)));
  auto owner = std::make_shared<flatbuffers::DetachedBuffer>(builder.Release());
  const uint8_t* data = owner->data();
  const size_t size = owner->size();
  bus::Message message;
  message.method = method;
  message.body = bus::Blob(std::move(owner), data, size);
  message.attachments = std::move(attachments);
  return message;
}

}  // namespace weft::protocol
