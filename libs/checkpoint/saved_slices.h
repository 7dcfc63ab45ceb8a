// The records of a V1 checkpoint: one that lists the tensors of its table,
// under the key "", and one for each slice of a tensor, under the slice's key
// (EncodeTensorNameSlice).
//
// Values, not synchronized. Serialized forms are TensorFlow's messages
// (schemas/tf/saved_tensor_slice.proto), and may come from anywhere.
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

// A tensor, and those of its slices that one table holds. A tensor that is
// stored whole has one slice, which is full.
struct SlicesOfTensor {
  std::string name;
  TensorInfo info;
  friend bool operator==(const SlicesOfTensor&,
                         const SlicesOfTensor&) = default;
};

// The elements of the slice, or of the slots that it takes in a tensor without
// elements: dimensions of size 0 count as 1. Slices that do not overlap have no
// more of them than the whole tensor. REQUIRES: the slice lies inside `shape`.
int64_t MinElements(const TensorSlice& slice, const TensorShape& shape);

// DATA_LOSS where `bytes` are no list, name a shape or slice that cannot be, or
// more slices of a tensor than it has elements for;
// INVALID_ARGUMENT if this version of Weft cannot read the checkpoint;
// RESOURCE_EXHAUSTED where `charge` has no memory for what a reader keeps of
// the tensors and slices. A list may have millions of slices in few bytes.
absl::StatusOr<std::vector<SlicesOfTensor>> ParseSliceList(
    absl::string_view bytes, HeapCharge& charge);
std::string SerializeSliceList(const std::vector<SlicesOfTensor>& tensors);

// The values of a slice of that shape. DATA_LOSS where `bytes` are no slice, or
// hold another number of values: nothing is reserved for these before they are
// counted. RESOURCE_EXHAUSTED where there is no memory.
absl::StatusOr<Tensor> ParseSlice(absl::string_view bytes, DataType dtype,
                                  const TensorShape& shape,
                                  Allocator& allocator);

// UNIMPLEMENTED for a type that the format does not have, INVALID_ARGUMENT for
// values whose record may be larger than a message of protobuf can be.
absl::Status CheckSliceCanBeSerialized(absl::string_view name,
                                       const TensorSlice& slice,
                                       const Tensor& values);
// REQUIRES: CheckSliceCanBeSerialized.
std::string SerializeSlice(absl::string_view name, const TensorSlice& slice,
                           const Tensor& values);

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_SAVED_SLICES_H_
