// Parts that all messages are made of. The caller has the FlatBufferBuilder,
// which writes a body from its leaves to its root; what is too large for it is
// put into `attachments`.
//
// The format: schemas/body.fbs. FlatBuffers itself stays in .cc files.
#ifndef WEFT_LIBS_PROTOCOL_MESSAGE_WRITER_H_
#define WEFT_LIBS_PROTOCOL_MESSAGE_WRITER_H_

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

// Bytes up to this size are copied into the body. A frame of its own costs a
// few hundred nanoseconds in allocations and on its way through ZeroMQ, a copy
// of this size some tens. Beyond it the copies made by a growing body and the
// cache would cost more than the frame.
inline constexpr size_t kMaxBytesInBody = 1024;
// A body that has grown so far takes no more of them: it has to fit into one
// control message.
inline constexpr size_t kMaxBodyOfBytes = 4 << 20;

// Writes the bytes into the body, or adds them to the attachments.
flatbuffers::Offset<schemas::Bytes> WriteBytes(
    bus::Blob bytes, flatbuffers::FlatBufferBuilder& builder,
    Attachments& attachments);

// Ends the message: `body` is where the builder wrote the table of type
// `method`, a number of schemas::Body.
bus::Message FinishMessage(uint8_t method, uint32_t body,
                           flatbuffers::FlatBufferBuilder& builder,
                           Attachments attachments = {});

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_MESSAGE_WRITER_H_
