// Tensors in messages: weft::Tensor to and from schemas::Tensor
// (schemas/tensor.fbs).
//
// Elements of fixed size are sent as their memory. It is not copied when sent;
// when received it is copied only if it came with its message: an attachment
// streamed into an AllocatorReceiveMemory becomes the tensor's own buffer.
// Strings, resources and variants are encoded (object_codec.h).
//
// Only .cc files include FlatBuffers. Threads: functions without state.
#ifndef WEFT_LIBS_PROTOCOL_CODEC_TENSOR_CODEC_H_
#define WEFT_LIBS_PROTOCOL_CODEC_TENSOR_CODEC_H_

#include "absl/status/statusor.h"
#include "libs/protocol/codec/message_reader.h"
#include "libs/protocol/codec/message_writer.h"
#include "libs/tensor/buffer.h"
#include "libs/tensor/tensor.h"

namespace weft::schemas {
struct Tensor;
}  // namespace weft::schemas

namespace weft::protocol {

// Writes a tensor. The attachments share the tensor's memory, which must not be
// written until they are gone. Returns INVALID_ARGUMENT for an uninitialized
// tensor, and for a string of 4 GiB.
absl::StatusOr<flatbuffers::Offset<schemas::Tensor>> WriteTensor(
    const Tensor& tensor, flatbuffers::FlatBufferBuilder& builder,
    Attachments& attachments);

// Reads a tensor. Returns INVALID_ARGUMENT if type, shape, sizes and bytes do
// not agree or `tensor` is null; RESOURCE_EXHAUSTED if there is no memory.
absl::StatusOr<Tensor> ReadTensor(const schemas::Tensor* tensor,
                                  MessageReader& reader, Allocator& allocator);

// The number of bytes that may be copied or checked on a thread that must not
// be blocked: some tens of microseconds.
inline constexpr uint64_t kBytesReadSoon = 256 << 10;

// Returns the size of a tensor if each of its elements must be checked, which
// takes time although the bytes are in place; otherwise, and for null, 0. A
// message is slow to read if the sum over its tensors exceeds kBytesReadSoon.
uint64_t SlowBytes(const schemas::Tensor* tensor);
// BringsMuch returns whether a message has more than kBytesReadSoon in total,
// IsSlowToOpen whether more than kBytesReadSoon must be verified and copied.
bool BringsMuch(const bus::Message& message);
bool IsSlowToOpen(const bus::Message& message);

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_CODEC_TENSOR_CODEC_H_
