// TensorProto is TensorFlow's serialized form of a tensor, converted to and
// from Tensor, as bytes. This header does not include protobuf; sources with
// messages use tensor_proto_convert.h.
//
// Rules of the format (tensorflow/core/framework/tensor.proto): the elements
// are tensor_content, or else typed values, the last of which repeats to fill
// the shape; no value at all means zeros, and values beyond the shape are
// ignored.
//
// Threads: functions without state.
#ifndef WEFT_LIBS_TENSOR_TENSOR_PROTO_H_
#define WEFT_LIBS_TENSOR_TENSOR_PROTO_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/tensor/buffer.h"
#include "libs/tensor/heap_charge.h"
#include "libs/tensor/tensor.h"
#include "libs/tensor/variant.h"

namespace weft {

// The maximum size of a tensor with repeated values: a few bytes must not be
// able to request all memory.
inline constexpr int64_t kMaxRepeatedTensorBytes = int64_t{2} << 30;

// One value if all elements are equal, otherwise their bytes. Empty for a
// tensor that exceeds the message limit (2 GiB).
std::string SerializeTensorProto(const Tensor& tensor);

// The bytes are untrusted. INVALID_ARGUMENT if they are not a tensor, or values
// and shape disagree; RESOURCE_EXHAUSTED if there is no memory, or repeated
// values would take more than kMaxRepeatedTensorBytes.
absl::StatusOr<Tensor> ParseTensorProto(absl::string_view bytes,
                                        Allocator& allocator);
// The same; `charge` counts what the elements own outside of the tensor.
// RESOURCE_EXHAUSTED also if there is no memory for that.
absl::StatusOr<Tensor> ParseTensorProto(absl::string_view bytes,
                                        Allocator& allocator,
                                        HeapCharge& charge);

// The VariantTensorDataProto of an element of a variant tensor. `left` is what
// tensors with repeated values may still take when all of the tensor's variants
// are read, initially kMaxRepeatedTensorBytes; the size of this one's tensors
// is subtracted. UNIMPLEMENTED if it, or a variant in its tensors, holds an
// object of the process; INVALID_ARGUMENT if variants are nested more than 40
// deep; RESOURCE_EXHAUSTED if its tensors, or their message, exceed the message
// limit (nothing is copied before that is known of the tensors), or
// ParseVariantProto would refuse it.
absl::StatusOr<std::string> SerializeVariantProto(const Variant& variant,
                                                  int64_t& left);

// Likewise; RESOURCE_EXHAUSTED also if its tensors' repeated values would take
// more than `left`, which is shared by all variants of one tensor.
absl::StatusOr<Variant> ParseVariantProto(absl::string_view bytes,
                                          Allocator& allocator, int64_t& left);

}  // namespace weft

#endif  // WEFT_LIBS_TENSOR_TENSOR_PROTO_H_
