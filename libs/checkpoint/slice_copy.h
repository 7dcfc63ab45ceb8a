// Computes the intersection of slices of one tensor, and the positions of the
// common elements in each slice. This is used to copy parts of stored slices
// into a requested slice.
//
// Positions are row-major offsets in elements within a slice. Not thread-safe.
#ifndef WEFT_LIBS_CHECKPOINT_SLICE_COPY_H_
#define WEFT_LIBS_CHECKPOINT_SLICE_COPY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "libs/base/async/cancellation.h"
#include "libs/checkpoint/tensor_slice.h"
#include "libs/tensor/shape.h"

namespace weft::checkpoint {

// Box is a TensorSlice inside a shape, with explicit bounds.
struct Box {
  Dims starts;
  Dims sizes;
  int64_t num_elements() const;
  friend bool operator==(const Box&, const Box&) = default;
};
// Returns the box of a slice. REQUIRES: the slice is inside `shape`
// (TensorSlice::SliceShape is OK).
Box BoxOf(const TensorSlice& slice, const TensorShape& shape);
// Returns the intersection of two boxes, or nothing if it is empty. REQUIRES:
// the boxes have the same rank.
std::optional<Box> Intersection(const Box& a, const Box& b);
// Returns whether any two boxes have an element in common. For boxes that are
// cut along several dimensions this may take quadratic time. If `cancellation`,
// which may be null, is cancelled meanwhile, returns its status.
absl::StatusOr<bool> AnyOverlap(absl::Span<const Box> boxes,
                                const Cancellation* cancellation = nullptr);

// BoxesInOrder finds the slices of a tensor that intersect a requested slice.
// If the tensor was cut along one dimension, only neighbors of the requested
// slice are examined.
class BoxesInOrder {
 public:
  // REQUIRES: all boxes have the same rank.
  explicit BoxesInOrder(std::vector<Box> boxes);

  const Box& operator[](size_t i) const { return boxes_[i]; }
  // Returns the ascending indices of the boxes that intersect `wanted`, which
  // must have the same rank. Adds the number of examined boxes to `compared`.
  std::vector<size_t> Sharing(const Box& wanted, int64_t* compared) const;

 private:
  std::vector<Box> boxes_;
  std::optional<int> cut_;     // not set: all boxes have the same start
  std::vector<size_t> order_;  // indices, by start along the cut
  int64_t longest_ = 0;        // size of the longest box along the cut
};

// SharedRuns iterates over the common elements of `from` and `to`. It returns
// runs of elements that are contiguous in both, in the order of their positions
// in `from`.
class SharedRuns {
 public:
  struct Run {
    int64_t from = 0;
    int64_t to = 0;
    int64_t length = 0;
  };
  // REQUIRES: `from` and `to` have the same rank.
  SharedRuns(const Box& from, const Box& to);
  // Returns the next run, or nothing after the last run.
  std::optional<Run> Next();

 private:
  // Returns the position in a box of the run at index_.
  int64_t PositionIn(const Box& box) const;

  const Box from_;
  const Box to_;
  Box shared_;
  bool done_ = false;
  // A run spans all dimensions from `run_dim_` on. Only the first of these
  // dimensions may be partial in either box.
  int run_dim_ = 0;
  int64_t run_length_ = 1;
  Dims index_;  // of the run's first element, within shared_
};

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_SLICE_COPY_H_
