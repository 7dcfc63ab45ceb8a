// Conversion of shapes and slices from and to the messages in checkpoints, for
// .cc files that hold protobuf messages. Internal to this module.
//
// Threads: stateless functions.
#ifndef WEFT_LIBS_CHECKPOINT_SLICE_PROTOS_H_
#define WEFT_LIBS_CHECKPOINT_SLICE_PROTOS_H_

#include <climits>
#include <cstddef>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/checkpoint/tensor_slice.h"
#include "libs/tensor/heap_charge.h"
#include "libs/tensor/shape.h"

namespace weft {

namespace tf {
class TensorShapeProto;
class TensorSliceProto;
}  // namespace tf

namespace checkpoint {

// Returns false if `bytes` are no such message, or exceed its size limit:
// protobuf takes the length as an int.
template <typename Proto>
bool ParseProto(absl::string_view bytes, Proto& proto) {
  return bytes.size() <= size_t{INT_MAX} &&
         proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

// Reads a message without its repeated field `field`, whose messages may be of
// two bytes each and take much more memory when parsed together: calls `visit`
// with the bytes of each of them, in order, and appends the bytes of the other
// fields to `rest`, which may be null. DATA_LOSS if `bytes` are not a message;
// otherwise the first error of `visit`.
absl::Status SplitMessage(
    absl::string_view bytes, int field, std::string* rest,
    absl::FunctionRef<absl::Status(absl::string_view)> visit);
// Parses the remainder that SplitMessage left of a tensor's message. DATA_LOSS
// if the bytes are no such message, or more than a name and a shape need.
template <typename Proto>
absl::Status ParseRest(absl::string_view rest, Proto& proto) {
  constexpr size_t kMaxBytes = size_t{1} << 20;
  if (rest.size() <= kMaxBytes && ParseProto(rest, proto)) {
    return absl::OkStatus();
  }
  return absl::DataLossError("it is described by no message of its kind");
}
// Calls `visit` with each of the slices in field `field` of a message. Adds the
// memory that a reader needs for them to `charge`. DATA_LOSS if the bytes are
// not a message; INVALID_ARGUMENT for an invalid slice (TensorSlice::Create) or
// one outside `shape`; RESOURCE_EXHAUSTED without memory; or the first error of
// `visit`.
absl::Status ForEachSlice(absl::string_view bytes, int field,
                          const TensorShape& shape, HeapCharge& charge,
                          absl::FunctionRef<absl::Status(TensorSlice)> visit);

// INVALID_ARGUMENT if the shape is invalid or not fully defined.
absl::StatusOr<TensorShape> ReadShape(const tf::TensorShapeProto& proto);
// INVALID_ARGUMENT for an invalid slice (TensorSlice::Create).
absl::StatusOr<TensorSlice> ReadSlice(const tf::TensorSliceProto& proto);
// Fills `proto`, which must be empty.
void WriteSlice(const TensorSlice& slice, tf::TensorSliceProto* proto);

}  // namespace checkpoint
}  // namespace weft

#endif  // WEFT_LIBS_CHECKPOINT_SLICE_PROTOS_H_
