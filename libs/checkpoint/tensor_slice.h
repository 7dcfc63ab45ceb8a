// TensorSlice is a box inside a tensor. It has two serialized forms: the text
// that SaveV2 and RestoreV2 take ("10 4 0,5:-": rows 0 to 4 of a tensor [10,4])
// and the key of a slice in an index.
//
// Value types, not thread-safe. Starts and lengths count elements. Text and
// keys are untrusted: INVALID_ARGUMENT if they are malformed.
//
// Formats: tensorflow/core/framework/tensor_slice.h, and of the keys
// tensorflow/core/util/saved_tensor_slice_util.cc.
#ifndef WEFT_LIBS_CHECKPOINT_TENSOR_SLICE_H_
#define WEFT_LIBS_CHECKPOINT_TENSOR_SLICE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "libs/tensor/shape.h"

namespace weft::checkpoint {

class TensorSlice {
 public:
  // The range of one dimension.
  struct Extent {
    static constexpr int64_t kFull = -1;
    int64_t start = 0;
    int64_t length = kFull;  // at least 1, or all of the dimension
    bool IsFull() const { return length == kFull; }
    friend bool operator==(const Extent&, const Extent&) = default;
  };

  TensorSlice() = default;  // of a scalar
  // The full slice of a tensor of that rank.
  explicit TensorSlice(int rank) : extents_(rank) {}
  // INVALID_ARGUMENT for a negative start, an empty or negative length other
  // than kFull, an end beyond 2^63 - 1, or more than kMaxRank extents.
  static absl::StatusOr<TensorSlice> Create(std::vector<Extent> extents);
  // Parses "0,5:-": one extent per dimension, START,LENGTH or - for all of it.
  static absl::StatusOr<TensorSlice> Parse(absl::string_view text);

  int rank() const { return static_cast<int>(extents_.size()); }
  const std::vector<Extent>& extents() const { return extents_; }
  // Whether each dimension is "-".
  bool IsFull() const;
  // The inverse of Parse.
  std::string ToString() const;

  // Returns the shape of the box inside a tensor of that shape;
  // INVALID_ARGUMENT if ranks differ or it exceeds the shape.
  absl::StatusOr<TensorShape> SliceShape(const TensorShape& shape) const;

  friend bool operator==(const TensorSlice&, const TensorSlice&) = default;

 private:
  std::vector<Extent> extents_;
};

// An element of shape_and_slices.
struct ShapeAndSlice {
  TensorShape shape;  // of the whole tensor
  TensorSlice slice;
  TensorShape slice_shape;
};
// Parses "10 4 0,5:-": the sizes of the whole tensor, then the slice.
absl::StatusOr<ShapeAndSlice> ParseShapeAndSlice(absl::string_view text);
// Formats a part of shape `part` at `offset`, which has a start per dimension:
// "10 4 0,5:0,4".
std::string FormatShapeAndSlice(const TensorShape& whole,
                                absl::Span<const int64_t> offset,
                                const TensorShape& part);

// Returns the key of a slice's entry. It begins with a zero byte, which tensor
// names do not, so that all slices sort before all tensors.
std::string EncodeTensorNameSlice(absl::string_view name,
                                  const TensorSlice& slice);

struct TensorNameSlice {
  std::string name;
  TensorSlice slice;
};
absl::StatusOr<TensorNameSlice> DecodeTensorNameSlice(absl::string_view key);

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_TENSOR_SLICE_H_
