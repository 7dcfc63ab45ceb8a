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

// Parses a message. Returns false if `bytes` are not such a message or are too
// long, because protobuf takes the length as an int.
template <typename Proto>
bool ParseProto(absl::string_view bytes, Proto& proto) {
  return bytes.size() <= size_t{INT_MAX} &&
         proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

// Splits a message into the messages of its repeated field `field` and the
// rest. Calls `visit` with the bytes of each message of the field, in order,
// and appends the bytes of the other fields to `rest`, which may be null. This
// limits the memory: each message may have only two bytes, and takes much more
// memory when all are parsed together. DATA_LOSS if `bytes` are not a message;
// otherwise the first error of `visit`.
absl::Status SplitMessage(
    absl::string_view bytes, int field, std::string* rest,
    absl::FunctionRef<absl::Status(absl::string_view)> visit);
// Parses the rest that SplitMessage left of a tensor's message. DATA_LOSS if
// the bytes are not such a message, or are more than a name and a shape need.
template <typename Proto>
absl::Status ParseRest(absl::string_view rest, Proto& proto) {
  constexpr size_t kMaxBytes = size_t{1} << 20;
  if (rest.size() <= kMaxBytes && ParseProto(rest, proto)) {
    return absl::OkStatus();
  }
  return absl::DataLossError(
      "its description is not a message of the expected type");
}
// Calls `visit` with each slice in field `field` of a message. Adds the memory
// that a reader needs for the slices to `charge`. DATA_LOSS if the bytes are
// not a message. INVALID_ARGUMENT for a slice that is invalid
// (TensorSlice::Create) or outside `shape`. RESOURCE_EXHAUSTED if there is not
// enough memory. Otherwise the first error of `visit`.
absl::Status ForEachSlice(absl::string_view bytes, int field,
                          const TensorShape& shape, HeapCharge& charge,
                          absl::FunctionRef<absl::Status(TensorSlice)> visit);

// Converts the message to a shape. INVALID_ARGUMENT if the shape is invalid or
// not fully defined.
absl::StatusOr<TensorShape> ReadShape(const tf::TensorShapeProto& proto);
// Converts the message to a slice. INVALID_ARGUMENT if the slice is invalid
// (TensorSlice::Create).
absl::StatusOr<TensorSlice> ReadSlice(const tf::TensorSliceProto& proto);
// Converts the slice to a message. REQUIRES: `proto` is empty.
void WriteSlice(const TensorSlice& slice, tf::TensorSliceProto* proto);

}  // namespace checkpoint
}  // namespace weft

#endif  // WEFT_LIBS_CHECKPOINT_SLICE_PROTOS_H_
