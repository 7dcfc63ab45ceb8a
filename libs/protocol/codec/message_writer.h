// Helpers for writing messages. The caller has the FlatBufferBuilder, which
// writes a body from its leaves to its root; parts that are too large for it
// are put into `attachments`.
//
// schemas/body.fbs defines the format. Only .cc files include FlatBuffers.
#ifndef WEFT_LIBS_PROTOCOL_CODEC_MESSAGE_WRITER_H_
#define WEFT_LIBS_PROTOCOL_CODEC_MESSAGE_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "libs/bus/blob.h"
#include "libs/bus/message.h"

namespace flatbuffers {
class FlatBufferBuilder;
template <typename T>
struct Offset;
}  // namespace flatbuffers

namespace weft::schemas {
struct Bytes;
}  // namespace weft::schemas

namespace weft::protocol {

using Attachments = std::vector<bus::Blob>;

// Bytes up to this size are copied into the body. A separate frame costs a few
// hundred nanoseconds for allocations and in ZeroMQ, a copy of this size a few
// tens. For larger ones, the copies made by a growing body and the cache misses
// would cost more than the frame.
inline constexpr size_t kMaxBytesInBody = 1024;
// Once a body has this size, bytes are not written into it but added to the
// attachments, because the body must fit into one control message.
inline constexpr size_t kMaxBodyOfBytes = 4 << 20;

// Writes the bytes into the body, or adds them to the attachments.
flatbuffers::Offset<schemas::Bytes> WriteBytes(
    bus::Blob bytes, flatbuffers::FlatBufferBuilder& builder,
    Attachments& attachments);

// Returns the finished message. `body` is the offset at which the builder wrote
// the table of type `method`, a number of schemas::Body.
bus::Message FinishMessage(uint8_t method, uint32_t body,
                           flatbuffers::FlatBufferBuilder& builder,
                           Attachments attachments = {});

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_CODEC_MESSAGE_WRITER_H_
