#include "libs/ops/array/strided_slice.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {
namespace {

// Masks are 64-bit, and the implied ellipsis needs one more bit.
constexpr int kMaxEntries = 62;

// The source of a dimension of the result.
constexpr int kNewAxis = -1;

bool Bit(int64_t mask, int i) { return (mask >> i) & 1; }

// The expanded specification: one entry for each dimension of the input.
struct Dense {
  struct Entry {
    int64_t begin = 0;
    int64_t end = 0;
    int64_t stride = 1;
    bool begin_masked = true;
    bool end_masked = true;
    bool shrink = false;
  };
  std::vector<Entry> entries;
  // For each dimension of the result: the dimension of the input, or kNewAxis.
  std::vector<int> sources;
};

Dense::Entry EntryAt(const StridedSliceSpec& spec, int i) {
  Dense::Entry entry;
  entry.begin = spec.begin ? (*spec.begin)[i] : 0;
  entry.end = spec.end ? (*spec.end)[i] : 0;
  entry.stride = spec.strides[i];
  entry.begin_masked = Bit(spec.masks.begin, i);
  entry.end_masked = Bit(spec.masks.end, i);
  entry.shrink = Bit(spec.masks.shrink_axis, i);
  return entry;
}

// The number of new axes specified after entry `i`.
int NewAxesAfter(const StridedSliceSpec& spec, int i, int entries) {
  int count = 0;
  for (int j = i + 1; j < entries; ++j) count += Bit(spec.masks.new_axis, j);
  return count;
}

// Adds full dimensions until the remaining entries fit exactly.
void SpreadEllipsis(int until, Dense& dense) {
  while (static_cast<int>(dense.entries.size()) < until) {
    dense.sources.push_back(static_cast<int>(dense.entries.size()));
    dense.entries.push_back({});
  }
}

absl::StatusOr<Dense> SpellOut(const StridedSliceSpec& spec, int rank) {
  Dense dense;
  const int entries = static_cast<int>(spec.strides.size());
  bool ellipsis_seen = false;
  for (int i = 0; i < entries; ++i) {
    const int next = static_cast<int>(dense.entries.size());
    if (Bit(spec.masks.ellipsis, i)) {
      if (ellipsis_seen) {
        return absl::InvalidArgumentError(
            "Multiple ellipses in slice spec not allowed");
      }
      ellipsis_seen = true;
      const int after = entries - i - 1 - NewAxesAfter(spec, i, entries);
      SpreadEllipsis(std::min(rank - after, rank), dense);
    } else if (Bit(spec.masks.new_axis, i)) {
      dense.sources.push_back(kNewAxis);
    } else if (next == rank) {
      return absl::InvalidArgumentError(
          absl::StrCat("Index out of range using input dim ", next,
                       "; input has only ", rank, " dims"));
    } else {
      if (!Bit(spec.masks.shrink_axis, i)) dense.sources.push_back(next);
      dense.entries.push_back(EntryAt(spec, i));
    }
  }
  SpreadEllipsis(rank, dense);
  return dense;
}

// Converts an index of the specification to an offset into a dimension of size
// `size`.
int64_t Canonical(int64_t index, bool masked, bool is_end, int64_t size,
                  int64_t stride) {
  const int64_t low = stride > 0 ? 0 : -1;
  const int64_t high = stride > 0 ? size : size - 1;
  if (masked) return (stride > 0) == is_end ? high : low;
  return std::clamp(index < 0 ? size + index : index, low, high);
}

int64_t CountSteps(int64_t interval, int64_t stride) {
  if (interval == 0 || (interval < 0) != (stride < 0)) return 0;
  return interval / stride + (interval % stride != 0 ? 1 : 0);
}

absl::Status CheckEntry(const Dense::Entry& entry, int i) {
  if (entry.stride == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("strides[", i, "] must be non-zero"));
  }
  if (entry.shrink && entry.stride <= 0) {
    return absl::InvalidArgumentError(
        "only stride 1 allowed on non-range indexing.");
  }
  return absl::OkStatus();
}

// Adds dimension i of the input to the plan.
absl::Status PlanDimension(const Dense::Entry& entry, int i, int64_t size,
                           bool indices_known, StridedSlicePlan& plan) {
  RETURN_IF_ERROR(CheckEntry(entry, i));
  const bool both_masked = entry.begin_masked && entry.end_masked;
  if (size < 0 || (!indices_known && !both_masked)) {
    plan.is_identity = false;
    plan.begin.push_back(0);
    plan.strides.push_back(entry.stride);
    plan.processing_shape.AddDim(entry.shrink ? 1 : PartialShape::kUnknown);
    return absl::OkStatus();
  }
  int64_t begin = entry.begin < 0 ? size + entry.begin : entry.begin;
  int64_t count = 1;
  if (entry.shrink && (begin < 0 || begin >= size)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "slice index ", entry.begin, " of dimension ", i, " out of bounds."));
  }
  if (!entry.shrink) {
    begin =
        Canonical(entry.begin, entry.begin_masked, false, size, entry.stride);
    const int64_t end =
        Canonical(entry.end, entry.end_masked, true, size, entry.stride);
    count = CountSteps(end - begin, entry.stride);
  }
  plan.is_identity &= entry.stride == 1 && begin == 0 && count == size;
  plan.begin.push_back(begin);
  plan.strides.push_back(entry.stride);
  plan.processing_shape.AddDim(count);
  return absl::OkStatus();
}

PartialShape FinalShape(const std::vector<int>& sources,
                        const PartialShape& processing_shape) {
  PartialShape result = PartialShape::Scalar();
  for (int source : sources) {
    result.AddDim(source == kNewAxis ? 1 : processing_shape.dim(source));
  }
  return result;
}

absl::Status CheckSizes(const StridedSliceSpec& spec) {
  const size_t entries = spec.strides.size();
  if (entries > kMaxEntries) {
    return absl::InvalidArgumentError(
        absl::StrCat("StridedSlice takes at most ", kMaxEntries,
                     " dimensions, but got ", entries));
  }
  if ((spec.begin && spec.begin->size() != entries) ||
      (spec.end && spec.end->size() != entries)) {
    return absl::InvalidArgumentError(
        "Expected begin, end, and strides to be 1D equal size tensors");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<StridedSlicePlan> PlanStridedSlice(const StridedSliceSpec& spec,
                                                  const PartialShape& input) {
  StridedSlicePlan plan;
  RETURN_IF_ERROR(CheckSizes(spec));
  if (!input.has_rank()) return plan;
  ASSIGN_OR_RETURN(Dense dense, SpellOut(spec, input.rank()));
  const bool indices_known = spec.begin.has_value() && spec.end.has_value();
  plan.processing_shape = PartialShape::Scalar();
  plan.is_identity = true;
  for (int i = 0; i < input.rank(); ++i) {
    RETURN_IF_ERROR(
        PlanDimension(dense.entries[i], i, input.dim(i), indices_known, plan));
  }
  plan.final_shape = FinalShape(dense.sources, plan.processing_shape);
  return plan;
}

}  // namespace weft
