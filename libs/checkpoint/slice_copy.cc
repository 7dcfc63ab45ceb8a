#include "libs/checkpoint/slice_copy.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "libs/base/status.h"

namespace weft::checkpoint {
namespace {

// The number of comparisons between two checks for cancellation.
constexpr size_t kComparedAtOnce = size_t{1} << 16;

int Rank(const Box& box) { return static_cast<int>(box.sizes.size()); }

int64_t End(const Box& box, int dim) {
  return box.starts[dim] + box.sizes[dim];
}

// Returns the first dimension in which the boxes have different starts. The
// tensor was cut along this dimension. Returns nothing if all boxes have the
// same start.
std::optional<int> CutDimension(absl::Span<const Box> boxes) {
  for (int dim = 0; dim < Rank(boxes[0]); ++dim) {
    for (const Box& box : boxes) {
      if (box.starts[dim] != boxes[0].starts[dim]) return dim;
    }
  }
  return std::nullopt;
}

}  // namespace

int64_t Box::num_elements() const {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1},
                         [](int64_t a, int64_t b) { return a * b; });
}

Box BoxOf(const TensorSlice& slice, const TensorShape& shape) {
  Box box;
  for (int dim = 0; dim < shape.rank(); ++dim) {
    const TensorSlice::Extent& extent = slice.extents()[dim];
    box.starts.push_back(extent.start);
    box.sizes.push_back(extent.IsFull() ? shape.dim(dim) : extent.length);
  }
  return box;
}

std::optional<Box> Intersection(const Box& a, const Box& b) {
  Box shared;
  for (int dim = 0; dim < Rank(a); ++dim) {
    const int64_t start = std::max(a.starts[dim], b.starts[dim]);
    const int64_t end = std::min(End(a, dim), End(b, dim));
    if (end <= start) return std::nullopt;
    shared.starts.push_back(start);
    shared.sizes.push_back(end - start);
  }
  return shared;
}

// Sorts the boxes by their starts along the cut. A box can then only overlap
// boxes that start before it ends. So each part of a partitioned variable is
// compared with at most one other part, whatever the number of parts.
absl::StatusOr<bool> AnyOverlap(absl::Span<const Box> boxes,
                                const Cancellation* cancellation) {
  if (boxes.size() < 2) return false;
  const std::optional<int> cut = CutDimension(boxes);
  if (!cut.has_value()) return Intersection(boxes[0], boxes[1]).has_value();
  std::vector<const Box*> sorted;
  for (const Box& box : boxes) sorted.push_back(&box);
  std::sort(sorted.begin(), sorted.end(), [&](const Box* a, const Box* b) {
    return a->starts[*cut] < b->starts[*cut];
  });
  size_t compared = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    for (size_t j = i + 1; j < sorted.size(); ++j) {
      if (sorted[j]->starts[*cut] >= End(*sorted[i], *cut)) break;
      if (++compared % kComparedAtOnce == 0 && cancellation != nullptr) {
        RETURN_IF_ERROR(cancellation->status());
      }
      if (Intersection(*sorted[i], *sorted[j]).has_value()) return true;
    }
  }
  return false;
}

BoxesInOrder::BoxesInOrder(std::vector<Box> boxes) : boxes_(std::move(boxes)) {
  order_.resize(boxes_.size());
  std::iota(order_.begin(), order_.end(), size_t{0});
  if (boxes_.empty()) return;
  cut_ = CutDimension(boxes_);
  if (!cut_.has_value()) return;
  std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) {
    return boxes_[a].starts[*cut_] < boxes_[b].starts[*cut_];
  });
  for (const Box& box : boxes_) longest_ = std::max(longest_, box.sizes[*cut_]);
}

std::vector<size_t> BoxesInOrder::Sharing(const Box& wanted,
                                          int64_t* compared) const {
  auto it = order_.begin();
  if (cut_.has_value()) {
    // Skip the boxes that end before `wanted` begins.
    const int64_t begin = wanted.starts[*cut_];
    it = std::upper_bound(it, order_.end(), begin, [&](int64_t from, size_t i) {
      return from - longest_ < boxes_[i].starts[*cut_];
    });
  }
  std::vector<size_t> sharing;
  for (; it != order_.end(); ++it) {
    const Box& box = boxes_[*it];
    if (cut_.has_value() && box.starts[*cut_] >= End(wanted, *cut_)) break;
    ++*compared;
    if (Intersection(box, wanted).has_value()) sharing.push_back(*it);
  }
  std::sort(sharing.begin(), sharing.end());
  return sharing;
}

SharedRuns::SharedRuns(const Box& from, const Box& to) : from_(from), to_(to) {
  const std::optional<Box> shared = Intersection(from, to);
  if (!shared.has_value()) {
    done_ = true;
    return;
  }
  shared_ = *shared;
  index_.assign(Rank(shared_), 0);
  run_dim_ = Rank(shared_);
  // Include another dimension while all inner dimensions are full in both
  // boxes.
  while (run_dim_ > 0) {
    --run_dim_;
    const int64_t size = shared_.sizes[run_dim_];
    run_length_ *= size;
    if (size != from_.sizes[run_dim_] || size != to_.sizes[run_dim_]) break;
  }
}

int64_t SharedRuns::PositionIn(const Box& box) const {
  int64_t position = 0;
  for (int dim = 0; dim < Rank(box); ++dim) {
    position = position * box.sizes[dim] + shared_.starts[dim] + index_[dim] -
               box.starts[dim];
  }
  return position;
}

std::optional<SharedRuns::Run> SharedRuns::Next() {
  if (done_) return std::nullopt;
  const Run run = {PositionIn(from_), PositionIn(to_), run_length_};
  int dim = run_dim_;
  while (dim > 0 && ++index_[dim - 1] == shared_.sizes[dim - 1]) {
    index_[--dim] = 0;
  }
  done_ = dim == 0;
  return run;
}

}  // namespace weft::checkpoint
