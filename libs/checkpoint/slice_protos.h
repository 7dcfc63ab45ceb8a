// Shapes and slices to and from the messages in which checkpoints hold them,
// for .cc files that hold protobuf messages. Internal to this module.
//
// Threads: functions without state.
#ifndef WEFT_LIBS_CHECKPOINT_SLICE_PROTOS_H_
#define WEFT_LIBS_CHECKPOINT_SLICE_PROTOS_H_

#include <climits>
#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/checkpoint/tensor_slice.h"
#include "libs/tensor/shape.h"

namespace weft {

namespace tf {
class TensorShapeProto;
class TensorSliceProto;
}  // namespace tf

namespace checkpoint {

// False where `bytes` are no such message, or more than one can have: protobuf
// takes the length as an int.
template <typename Proto>
bool ParseProto(absl::string_view bytes, Proto& proto) {
  return bytes.size() <= size_t{INT_MAX} &&
         proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

// INVALID_ARGUMENT where the shape is not valid or not fully defined.
absl::StatusOr<TensorShape> ReadShape(const tf::TensorShapeProto& proto);
// INVALID_ARGUMENT where it is no slice (TensorSlice::Create).
absl::StatusOr<TensorSlice> ReadSlice(const tf::TensorSliceProto& proto);
// Adds to `proto`, which is empty.
void WriteSlice(const TensorSlice& slice, tf::TensorSliceProto* proto);

}  // namespace checkpoint
}  // namespace weft

#endif  // WEFT_LIBS_CHECKPOINT_SLICE_PROTOS_H_
