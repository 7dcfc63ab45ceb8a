// Strings, resources and variants as bytes: the encoding of tensors without
// elements of fixed size.
//
// All numbers are little endian. A text is its length (32 bits) and its bytes.
//   strings: the length of each (32 bits), then the bytes of all
//   a resource: device, container, name and type_name as texts; dtype (32
//     bits); rank (32 bits, -1: unknown) and that many sizes (64 bits)
//   a variant: type_name and metadata as texts; the number of its tensors (32
//     bits, -1: it has none); each as dtype (32 bits, DT_INVALID: no tensor,
//     nothing follows), rank (32 bits), sizes (64 bits), the number of its
//     bytes (64 bits) and these: its memory, or this format again
//
// Nothing is abbreviated, so memory is proportional to the received bytes: an
// element takes about ten times its minimum number of bytes. That number is
// checked before memory is allocated.
//
// Threads: functions without state.
#ifndef WEFT_LIBS_PROTOCOL_CODEC_OBJECT_CODEC_H_
#define WEFT_LIBS_PROTOCOL_CODEC_OBJECT_CODEC_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/tensor/buffer.h"
#include "libs/tensor/tensor.h"

namespace weft::protocol {

// Returns INVALID_ARGUMENT if a text has 4 GiB or more, or variants are nested
// more than 16 deep. REQUIRES: strings, resources or variants.
absl::StatusOr<std::string> EncodeObjects(const Tensor& tensor);

// A function that is called before `bytes` are allocated for objects. If it
// returns an error, they are not allocated.
using SpendMemory = absl::FunctionRef<absl::Status(int64_t bytes)>;

// Decodes what EncodeObjects has encoded. Returns INVALID_ARGUMENT if bytes and
// shape do not agree, RESOURCE_EXHAUSTED if there is no memory. Calls `spend`
// for nested objects, too, because a few received bytes may describe a large
// object. REQUIRES: `dtype` is that of strings, resources or variants.
absl::StatusOr<Tensor> DecodeObjects(DataType dtype, const TensorShape& shape,
                                     absl::string_view bytes,
                                     Allocator& allocator, SpendMemory spend);

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_CODEC_OBJECT_CODEC_H_
