// TensorProto, TensorFlow's own form of a tensor, to and from Tensor, as bytes.
// Protobuf stays out of this header; sources that hold messages use
// tensor_proto_convert.h.
//
// Rules of the format (tensorflow/core/framework/tensor.proto): the elements
// are tensor_content, or else typed values, of which the last repeats to fill
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

// What a tensor may take whose values repeat: a few bytes must not be able to
// ask for all memory there is.
inline constexpr int64_t kMaxRepeatedTensorBytes = int64_t{2} << 30;

// One value where all elements are equal, else their bytes. Empty for a tensor
// that is larger than a message can be (2 GiB).
std::string SerializeTensorProto(const Tensor& tensor);

// Bytes may come from anywhere. INVALID_ARGUMENT where they are no tensor, or
// values and shape disagree; RESOURCE_EXHAUSTED where there is no memory, or
// repeated values would take more than kMaxRepeatedTensorBytes.
absl::StatusOr<Tensor> ParseTensorProto(absl::string_view bytes,
                                        Allocator& allocator);
// The same; `charge` counts what the elements take outside of the tensor.
// RESOURCE_EXHAUSTED also where there is no room for it.
absl::StatusOr<Tensor> ParseTensorProto(absl::string_view bytes,
                                        Allocator& allocator,
                                        HeapCharge& charge);

// The VariantTensorDataProto of an element of a variant tensor. `left` is what
// tensors whose values repeat may still take when all of the tensor's variants
// are read, kMaxRepeatedTensorBytes at first; it takes off what this one's
// take. UNIMPLEMENTED where it, or a variant in its tensors, holds an object of
// the process; INVALID_ARGUMENT where variants lie more than 40 deep in one
// another; RESOURCE_EXHAUSTED where its tensors, or their message, are larger
// than a message can be (nothing is copied before that is known of the
// tensors), or ParseVariantProto would refuse it.
absl::StatusOr<std::string> SerializeVariantProto(const Variant& variant,
                                                  int64_t& left);

// Likewise; RESOURCE_EXHAUSTED also where its tensors' repeated values would
// take more than `left`, which is for all variants of one tensor together.
absl::StatusOr<Variant> ParseVariantProto(absl::string_view bytes,
                                          Allocator& allocator, int64_t& left);

}  // namespace weft

#endif  // WEFT_LIBS_TENSOR_TENSOR_PROTO_H_
