// TensorProto and TensorShapeProto to and from Weft's types, for .cc files with
// protobuf messages. See tensor_proto.h for the rules and the errors.
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
// Adds to `proto`, which must be empty. Does not include an object of the
// process.
void VariantToProto(const Variant& variant, tf::VariantTensorDataProto* proto);

// The number of elements without their own value in the tensor: its last value
// repeats. 0 if it has content. A double, because the shape may be invalid and
// refused later: an unknown size counts as 0.
double NumRepeats(const tf::TensorProto& proto);
// The bytes of each of them. At least 1.
int64_t BytesOfRepeatedElement(const tf::TensorProto& proto);
// Returns whether the tensor, if the last of its values repeats, is within
// `left` bytes, from which it is subtracted; true for any other. An invalid
// shape is refused later.
bool TakeRepeatedBytes(const tf::TensorProto& proto, int64_t& left);

// Charges what the elements of TensorFromProto own outside of the tensor:
// strings, and those of handles and variants. RESOURCE_EXHAUSTED if there is no
// memory for that.
absl::Status ChargeElements(const tf::TensorProto& proto, HeapCharge& charge);

absl::StatusOr<PartialShape> ShapeFromProto(const tf::TensorShapeProto& proto);
// Overwrites `proto`.
void ShapeToProto(const PartialShape& shape, tf::TensorShapeProto* proto);

}  // namespace weft

#endif  // WEFT_LIBS_TENSOR_TENSOR_PROTO_CONVERT_H_
