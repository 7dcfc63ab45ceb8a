// The records of a V1 checkpoint. Each table has one record that lists its
// tensors, under the key "", and one record for each slice of a tensor, under
// the slice's key (EncodeTensorNameSlice).
//
// Value types, not thread-safe. Serialized forms are TensorFlow's messages
// (schemas/tf/saved_tensor_slice.proto). Input bytes are untrusted.
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

// SlicesOfTensor is a tensor and its slices in one table. A tensor that is
// stored whole has one full slice.
struct SlicesOfTensor {
  std::string name;
  TensorInfo info;
  friend bool operator==(const SlicesOfTensor&,
                         const SlicesOfTensor&) = default;
};

// Returns the number of elements of the slice, where a dimension of size 0
// counts as 1. The sum over slices that do not overlap is at most the result
// for the whole tensor. REQUIRES: the slice is inside `shape`.
int64_t MinElements(const TensorSlice& slice, const TensorShape& shape);

// Parses the list of tensors. DATA_LOSS if `bytes` are not a list, contain an
// invalid shape or slice, or contain more slices of a tensor than it has
// elements. INVALID_ARGUMENT if this version of Weft cannot read the
// checkpoint. RESOURCE_EXHAUSTED if `charge` does not allow enough memory for
// the tensors and slices, because a few bytes may describe millions of slices.
absl::StatusOr<std::vector<SlicesOfTensor>> ParseSliceList(
    absl::string_view bytes, HeapCharge& charge);
std::string SerializeSliceList(const std::vector<SlicesOfTensor>& tensors);

// Returns the values of a slice of that shape. DATA_LOSS if `bytes` are not a
// slice, or contain another number of values. The values are counted before
// memory is reserved. RESOURCE_EXHAUSTED if there is not enough memory.
absl::StatusOr<Tensor> ParseSlice(absl::string_view bytes, DataType dtype,
                                  const TensorShape& shape,
                                  Allocator& allocator);

// Returns UNIMPLEMENTED for a type that the format does not support, and
// INVALID_ARGUMENT for values whose record may exceed the size limit of
// protobuf messages.
absl::Status CheckSliceCanBeSerialized(absl::string_view name,
                                       const TensorSlice& slice,
                                       const Tensor& values);
// Returns the serialized record of a slice. REQUIRES: CheckSliceCanBeSerialized
// returned OK.
std::string SerializeSlice(absl::string_view name, const TensorSlice& slice,
                           const Tensor& values);

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_SAVED_SLICES_H_
