// Tensors in messages: weft::Tensor to and from schemas::Tensor
// (schemas/tensor.fbs).
//
// Elements of fixed size travel as their memory, which is not copied on its way
// out, and on its way in only when it came along with its message: what
// streamed into an AllocatorLandingMemory becomes the tensor's own buffer.
// Strings, resources and variants are encoded (object_codec.h).
//
// FlatBuffers itself stays in .cc files. Threads: functions without state.
#ifndef WEFT_LIBS_PROTOCOL_TENSOR_CODEC_H_
#define WEFT_LIBS_PROTOCOL_TENSOR_CODEC_H_

#include "absl/status/statusor.h"
#include "libs/protocol/message_reader.h"
#include "libs/protocol/message_writer.h"
#include "libs/tensor/buffer.h"
#include "libs/tensor/tensor.h"

namespace weft::schemas {
struct Tensor;
}  // namespace weft::schemas

namespace weft::protocol {

// The attachments share the tensor's memory, so it must not be written until
// they are gone. INVALID_ARGUMENT for no tensor at all, and for a string of 4
// GiB.
absl::StatusOr<flatbuffers::Offset<schemas::Tensor>> WriteTensor(
    const Tensor& tensor, flatbuffers::FlatBufferBuilder& builder,
    Attachments& attachments);

// INVALID_ARGUMENT where type, shape, sizes and bytes do not agree or there is
// no tensor; RESOURCE_EXHAUSTED where there is no memory.
absl::StatusOr<Tensor> ReadTensor(const schemas::Tensor* tensor,
                                  MessageReader& reader, Allocator& allocator);

// What is read on a thread that must not be kept may take this many bytes of
// copying or checking: some tens of microseconds.
inline constexpr uint64_t kBytesReadSoon = 256 << 10;

// The bytes of a tensor that take time although they are in place, since each
// element has to be looked at: all of them, or 0. Null: 0. A message is slow to
// read where those of its tensors together exceed kBytesReadSoon.
uint64_t SlowBytes(const schemas::Tensor* tensor);
// Whether the message brings more than that, in all; whether it brings more
// than that to verify and to copy.
bool BringsMuch(const bus::Message& message);
bool IsSlowToOpen(const bus::Message& message);

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_TENSOR_CODEC_H_
