// TensorSlice is a box inside a tensor. It has two serialized forms: the text
// that SaveV2 and RestoreV2 take ("10 4 0,5:-": rows 0 to 4 of a tensor [10,4])
// and the key of a slice in an index.
//
// Value types, not thread-safe. Starts and lengths count elements. Text and
// keys are untrusted; functions return INVALID_ARGUMENT if they are malformed.
//
// The format of the text is that of tensorflow/core/framework/tensor_slice.h,
// and the format of keys is that of
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
  // Extent is the range of a slice in one dimension.
  struct Extent {
    static constexpr int64_t kFull = -1;
    int64_t start = 0;
    int64_t length = kFull;  // at least 1; kFull: the whole dimension
    bool IsFull() const { return length == kFull; }
    friend bool operator==(const Extent&, const Extent&) = default;
  };

  TensorSlice() = default;  // the slice of a scalar
  // Creates the full slice of a tensor of that rank.
  explicit TensorSlice(int rank) : extents_(rank) {}
  // Returns a slice. INVALID_ARGUMENT for a negative start, for an empty or
  // negative length other than kFull, for an end beyond 2^63 - 1, and for more
  // than kMaxRank extents.
  static absl::StatusOr<TensorSlice> Create(std::vector<Extent> extents);
  // Parses "0,5:-". The text has one extent for each dimension, which is
  // START,LENGTH or - for the whole dimension.
  static absl::StatusOr<TensorSlice> Parse(absl::string_view text);

  int rank() const { return static_cast<int>(extents_.size()); }
  const std::vector<Extent>& extents() const { return extents_; }
  // Returns whether each dimension is "-".
  bool IsFull() const;
  // Returns the text that Parse reads.
  std::string ToString() const;

  // Returns the shape of this slice of a tensor with shape `shape`.
  // INVALID_ARGUMENT if the ranks differ or the slice exceeds the shape.
  absl::StatusOr<TensorShape> SliceShape(const TensorShape& shape) const;

  friend bool operator==(const TensorSlice&, const TensorSlice&) = default;

 private:
  std::vector<Extent> extents_;
};

// ShapeAndSlice is an element of the input shape_and_slices of SaveV2 and
// RestoreV2.
struct ShapeAndSlice {
  TensorShape shape;  // of the whole tensor
  TensorSlice slice;
  TensorShape slice_shape;
};
// Parses a text such as "10 4 0,5:-": the sizes of the whole tensor, then the
// slice.
absl::StatusOr<ShapeAndSlice> ParseShapeAndSlice(absl::string_view text);
// Formats a part of a tensor as "10 4 0,5:0,4". `part` is the shape of the
// part, and `offset` has its start in each dimension.
std::string FormatShapeAndSlice(const TensorShape& whole,
                                absl::Span<const int64_t> offset,
                                const TensorShape& part);

// Returns the key of a slice's entry. The key begins with a zero byte. Names of
// tensors do not, so all slices sort before all tensors.
std::string EncodeTensorNameSlice(absl::string_view name,
                                  const TensorSlice& slice);

struct TensorNameSlice {
  std::string name;
  TensorSlice slice;
};
absl::StatusOr<TensorNameSlice> DecodeTensorNameSlice(absl::string_view key);

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_TENSOR_SLICE_H_
