// TensorProto and TensorShapeProto to and from our types, for .cc files that
// hold protobuf messages. See tensor_proto.h for the rules and the errors.
#ifndef WEFT_LIBS_TENSOR_TENSOR_PROTO_CONVERT_H_
#define WEFT_LIBS_TENSOR_TENSOR_PROTO_CONVERT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "libs/tensor/buffer.h"
#include "libs/tensor/heap_charge.h"
#include "libs/tensor/shape.h"
#include "libs/tensor/tensor.h"
#include "libs/tensor/variant.h"

namespace weft {

namespace tf {
class TensorProto;
class TensorShapeProto;
class VariantTensorDataProto;
}  // namespace tf

absl::StatusOr<Tensor> TensorFromProto(const tf::TensorProto& proto,
                                       Allocator& allocator);
// Overwrites `proto`.
void TensorToProto(const Tensor& tensor, tf::TensorProto* proto);

absl::StatusOr<Variant> VariantFromProto(
    const tf::VariantTensorDataProto& proto, Allocator& allocator);
// Adds to `proto`, which is empty. An object of the process is not in there.
void VariantToProto(const Variant& variant, tf::VariantTensorDataProto* proto);

// How many elements have no value of their own in the tensor: its last value
// repeats. 0 where it has content. A double, for the shape may be one that is
// refused later: an unknown size counts as 0.
double NumRepeats(const tf::TensorProto& proto);
// The bytes of each of them. At least 1.
int64_t BytesOfRepeatedElement(const tf::TensorProto& proto);
// Whether the tensor is within `left` bytes, which it takes it off, if the last
// of its values repeats; true of any other. A shape that is none is refused
// later.
bool TakeRepeatedBytes(const tf::TensorProto& proto, int64_t& left);

// Charges what the elements of TensorFromProto take outside of the tensor:
// strings, and what handles and variants have of them. RESOURCE_EXHAUSTED where
// there is no room for it.
absl::Status ChargeElements(const tf::TensorProto& proto, HeapCharge& charge);

absl::StatusOr<PartialShape> ShapeFromProto(const tf::TensorShapeProto& proto);
// Overwrites `proto`.
void ShapeToProto(const PartialShape& shape, tf::TensorShapeProto* proto);

}  // namespace weft

#endif  // WEFT_LIBS_TENSOR_TENSOR_PROTO_CONVERT_H_
