// Records of a V1 checkpoint: one record that lists the tensors of its table,
// under the key "", and one for each slice of a tensor, under the slice's key
// (EncodeTensorNameSlice).
//
// Value types, not thread-safe. Serialized forms are TensorFlow's messages
// (schemas/tf/saved_tensor_slice.proto); input bytes are untrusted.
#ifndef WEFT_LIBS_CHECKPOINT_SAVED_SLICES_H_
#define WEFT_LIBS_CHECKPOINT_SAVED_SLICES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/checkpoint/tensor_info.h"
#include "libs/checkpoint/tensor_slice.h"
#include "libs/tensor/buffer.h"
#include "libs/tensor/heap_charge.h"
#include "libs/tensor/tensor.h"

namespace weft::checkpoint {

inline constexpr absl::string_view kSliceListKey = "";

// A tensor and its slices in one table. A tensor that is stored whole has one
// full slice.
struct SlicesOfTensor {
  std::string name;
  TensorInfo info;
  friend bool operator==(const SlicesOfTensor&,
                         const SlicesOfTensor&) = default;
};

// Number of elements of the slice, where dimensions of size 0 count as 1.
// Non-overlapping slices together have at most as many as the whole tensor.
// REQUIRES: the slice is inside `shape`.
int64_t MinElements(const TensorSlice& slice, const TensorShape& shape);

// DATA_LOSS if `bytes` are not a list, or contain an invalid shape or slice, or
// more slices of a tensor than it has elements; INVALID_ARGUMENT if this
// version of Weft cannot read the checkpoint; RESOURCE_EXHAUSTED if `charge`
// has no memory for the tensors and slices, of which a few bytes may describe
// millions.
absl::StatusOr<std::vector<SlicesOfTensor>> ParseSliceList(
    absl::string_view bytes, HeapCharge& charge);
std::string SerializeSliceList(const std::vector<SlicesOfTensor>& tensors);

// Returns the values of a slice of that shape. DATA_LOSS if `bytes` are not a
// slice, or contain another number of values, which are counted before memory
// is reserved. RESOURCE_EXHAUSTED if there is no memory.
absl::StatusOr<Tensor> ParseSlice(absl::string_view bytes, DataType dtype,
                                  const TensorShape& shape,
                                  Allocator& allocator);

// UNIMPLEMENTED for a type that the format does not have, INVALID_ARGUMENT for
// values whose record may exceed the size limit of protobuf messages.
absl::Status CheckSliceCanBeSerialized(absl::string_view name,
                                       const TensorSlice& slice,
                                       const Tensor& values);
// REQUIRES: CheckSliceCanBeSerialized returned OK.
std::string SerializeSlice(absl::string_view name, const TensorSlice& slice,
                           const Tensor& values);

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_SAVED_SLICES_H_
