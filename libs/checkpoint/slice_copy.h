// Intersection of slices of one tensor, and the positions of shared elements in
// each: used to copy parts of stored slices into a requested one.
//
// Positions are row-major element offsets within a slice. Not thread-safe.
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

// A box with explicit bounds: a TensorSlice inside a shape.
struct Box {
  Dims starts;
  Dims sizes;
  int64_t num_elements() const;
  friend bool operator==(const Box&, const Box&) = default;
};
// REQUIRES: the slice is inside `shape` (TensorSlice::SliceShape is OK).
Box BoxOf(const TensorSlice& slice, const TensorShape& shape);
// Returns the intersection, or none if it is empty. REQUIRES: equal rank.
std::optional<Box> Intersection(const Box& a, const Box& b);
// Whether any two boxes have an element in common. For boxes cut along several
// dimensions this may take quadratic time: fails with the status of
// `cancellation`, which may be null, once that is cancelled.
absl::StatusOr<bool> AnyOverlap(absl::Span<const Box> boxes,
                                const Cancellation* cancellation = nullptr);

// BoxesInOrder finds the slices of a tensor that intersect a requested one. If
// the tensor was cut along one dimension, only neighbors of the requested slice
// are examined.
class BoxesInOrder {
 public:
  // REQUIRES: equal rank.
  explicit BoxesInOrder(std::vector<Box> boxes);

  const Box& operator[](size_t i) const { return boxes_[i]; }
  // Returns the ascending indices of the boxes that intersect `wanted`, which
  // has their rank. Adds the number of examined boxes to `compared`.
  std::vector<size_t> Sharing(const Box& wanted, int64_t* compared) const;

 private:
  std::vector<Box> boxes_;
  std::optional<int> cut_;     // none: none begins elsewhere than the others
  std::vector<size_t> order_;  // by where they begin along the cut
  int64_t longest_ = 0;        // of them, along the cut
};

// SharedRuns iterates over the elements common to `from` and `to`, in runs that
// are contiguous in both, in the order of their positions in `from`.
class SharedRuns {
 public:
  struct Run {
    int64_t from = 0;
    int64_t to = 0;
    int64_t length = 0;
  };
  // REQUIRES: equal rank.
  SharedRuns(const Box& from, const Box& to);
  // Returns the next run, or none.
  std::optional<Run> Next();

 private:
  // Position, in a box, of the run at index_.
  int64_t PositionIn(const Box& box) const;

  const Box from_;
  const Box to_;
  Box shared_;
  bool done_ = false;
  // A run spans all dimensions from this one on; only the first of these may be
  // partial in either box.
  int run_dim_ = 0;
  int64_t run_length_ = 1;
  Dims index_;  // of the run's first element, within shared_
};

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_SLICE_COPY_H_
