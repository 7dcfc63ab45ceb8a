// Strings, resources and variants as bytes: what tensors without elements of
// fixed size look like in messages.
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
// Nothing repeats and nothing is left out, so that memory is in proportion to
// the bytes that came: an element takes some ten times as much as the fewest
// bytes that name it. That there are so many is checked before memory is taken.
//
// Threads: functions without state.
#ifndef WEFT_LIBS_PROTOCOL_OBJECT_CODEC_H_
#define WEFT_LIBS_PROTOCOL_OBJECT_CODEC_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/tensor/buffer.h"
#include "libs/tensor/tensor.h"

namespace weft::protocol {

// INVALID_ARGUMENT where a text has 4 GiB or more, or variants hold variants
// to a depth beyond 16. REQUIRES: strings, resources or variants.
absl::StatusOr<std::string> EncodeObjects(const Tensor& tensor);

// Called before so many bytes are taken for objects; an error refuses them.
using SpendMemory = absl::FunctionRef<absl::Status(int64_t bytes)>;

// INVALID_ARGUMENT where bytes and shape do not agree, RESOURCE_EXHAUSTED where
// there is no memory. `spend` is asked at every depth: a few bytes that travel
// may stand for an object of many. REQUIRES: as above.
absl::StatusOr<Tensor> DecodeObjects(DataType dtype, const TensorShape& shape,
                                     absl::string_view bytes,
                                     Allocator& allocator, SpendMemory spend);

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_OBJECT_CODEC_H_
