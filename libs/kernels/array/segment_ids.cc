#include "libs/kernels/array/segment_ids.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"

namespace weft {
namespace {

absl::StatusOr<Dims> ReadSortedIds(const Tensor& ids) {
  ASSIGN_OR_RETURN(Dims values, IntegersOf(ids));
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0) {
      return absl::InvalidArgumentError("segment ids must be >= 0");
    }
    if (i > 0 && values[i] < values[i - 1]) {
      return absl::InvalidArgumentError("segment ids are not increasing");
    }
  }
  return values;
}

}  // namespace

absl::StatusOr<TensorShape> ShapeOfRows(int64_t rows, const TensorShape& shape,
                                        int begin) {
  Dims dims{rows};
  dims.insert(dims.end(), shape.dims().begin() + begin, shape.dims().end());
  return TensorShape::Create(dims);
}

absl::StatusOr<SortedSegments> ReadSortedSegments(const Tensor& ids) {
  SortedSegments segments;
  ASSIGN_OR_RETURN(segments.ids, ReadSortedIds(ids));
  if (segments.ids.empty()) return segments;
  if (segments.ids.back() == std::numeric_limits<int64_t>::max()) {
    return absl::InvalidArgumentError("segment ids are too large");
  }
  segments.count = segments.ids.back() + 1;
  return segments;
}

absl::Status CheckSparseShapes(const Tensor& data, const Tensor& indices,
                               const Tensor& ids) {
  if (data.rank() < 1) {
    return absl::InvalidArgumentError("input must be at least rank 1");
  }
  if (indices.rank() != 1) {
    return absl::InvalidArgumentError("indices should be a vector.");
  }
  if (ids.rank() != 1) {
    return absl::InvalidArgumentError("segment_ids should be a vector.");
  }
  if (indices.num_elements() != ids.num_elements()) {
    return absl::InvalidArgumentError(
        "segment_ids and indices should have same size.");
  }
  return absl::OkStatus();
}

absl::StatusOr<Dims> ReadChosenRows(const Tensor& indices, int64_t rows) {
  ASSIGN_OR_RETURN(Dims values, IntegersOf(indices));
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] >= 0 && values[i] < rows) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("Bad: indices[", i, "] == ", values[i],
                     " out of range [0, ", rows, ")"));
  }
  return values;
}

absl::Status CheckInRange(const Dims& values, int64_t size,
                          absl::string_view what) {
  for (const int64_t value : values) {
    if (value >= 0 && value < size) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(what, " ", value, " out of range [0, ", size, ")"));
  }
  return absl::OkStatus();
}

Dims NumberUsedRows(Dims& indices) {
  Dims used = indices;
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  for (int64_t& index : indices) {
    index = std::lower_bound(used.begin(), used.end(), index) - used.begin();
  }
  return used;
}

}  // namespace weft
