// Which elements two slices of one tensor share, and where these lie in each:
// how a stored slice becomes part of a wanted one.
//
// Positions are elements, row-major, within a slice. Not synchronised.
#ifndef WEFT_LIBS_CHECKPOINT_SLICE_COPY_H_
#define WEFT_LIBS_CHECKPOINT_SLICE_COPY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "libs/base/cancellation.h"
#include "libs/checkpoint/tensor_slice.h"
#include "libs/tensor/shape.h"

namespace weft::checkpoint {

// A box with all its numbers: what a TensorSlice is inside a shape.
struct Box {
  Dims starts;
  Dims sizes;
  int64_t num_elements() const;
  friend bool operator==(const Box&, const Box&) = default;
};
// REQUIRES: the slice lies inside `shape` (TensorSlice::SliceShape is OK).
Box BoxOf(const TensorSlice& slice, const TensorShape& shape);
// What both hold; none where they hold nothing together. REQUIRES: equal rank.
std::optional<Box> Intersection(const Box& a, const Box& b);
// Whether any two of them have an element in common. For boxes that were cut
// along several dimensions this may take quadratic time: fails with the status
// of `cancellation`, which may be null, once that is cancelled.
absl::StatusOr<bool> AnyOverlap(absl::Span<const Box> boxes,
                                const Cancellation* cancellation = nullptr);

// The slices of one tensor, to be looked up by what they share: of a tensor
// that was cut along one dimension only the neighbours of what is wanted are
// looked at.
class BoxesInOrder {
 public:
  // REQUIRES: equal rank.
  explicit BoxesInOrder(std::vector<Box> boxes);

  const Box& operator[](size_t i) const { return boxes_[i]; }
  // Those that share an element with `wanted`, which has their rank: their
  // places in the vector, ascending. Adds to `compared` how many were looked
  // at.
  std::vector<size_t> Sharing(const Box& wanted, int64_t* compared) const;

 private:
  std::vector<Box> boxes_;
  std::optional<int> cut_;     // none: none begins elsewhere than the others
  std::vector<size_t> order_;  // by where they begin along the cut
  int64_t longest_ = 0;        // of them, along the cut
};

// The elements that `from` and `to` share, in runs that lie together in both,
// in the order of their positions in `from`.
class SharedRuns {
 public:
  struct Run {
    int64_t from = 0;
    int64_t to = 0;
    int64_t length = 0;
  };
  // REQUIRES: equal rank.
  SharedRuns(const Box& from, const Box& to);
  // The next one, or none.
  std::optional<Run> Next();

 private:
  // Of the run at index_, in a box.
  int64_t PositionIn(const Box& box) const;

  const Box from_;
  const Box to_;
  Box shared_;
  bool done_ = false;
  // A run spans all dimensions from this one on, of which only the first need
  // not be whole in both.
  int run_dim_ = 0;
  int64_t run_length_ = 1;
  Dims index_;  // of the run's first element, within shared_
};

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_SLICE_COPY_H_
