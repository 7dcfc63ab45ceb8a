#include "libs/kernels/array/segment_ids.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/common/number_types.h"

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

// Checks indices i and their data.
absl::Status CheckPair(const OpKernelContext& context, int count, int i) {
  const TensorShape& indices = context.input(i).shape();
  const TensorShape& data = context.input(count + i).shape();
  if (!StartsWith(data, indices)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "data[", i, "].shape = ", data.ToString(),
        " does not start with indices[", i, "].shape = ", indices.ToString()));
  }
  const TensorShape& first_data = context.input(count).shape();
  const int first_rank = context.input(0).rank();
  if (data.dims().subspan(indices.rank()) !=
      first_data.dims().subspan(first_rank)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Need data[0].shape[", first_rank, ":] = data[", i, "].shape[",
        indices.rank(), ":], got data[0].shape = ", first_data.ToString(),
        ", data[", i, "].shape = ", data.ToString(),
        ", indices[0].shape = ", context.input(0).shape().ToString(),
        ", indices[", i, "].shape = ", indices.ToString()));
  }
  return absl::OkStatus();
}

// Checks the shapes of data, indices and ids.
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

// Reads the indices, which must be below `rows`.
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

// Returns the sorted distinct indices, and replaces each index by its number
// among them.
Dims NumberUsedRows(Dims& indices) {
  Dims used = indices;
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  for (int64_t& index : indices) {
    index = std::lower_bound(used.begin(), used.end(), index) - used.begin();
  }
  return used;
}

// Outputs the used rows, replaces `indices` by their numbers among these, and
// returns the count.
absl::StatusOr<int64_t> KeepUsedRows(OpKernelContext& context, Dims& indices) {
  const Dims used = NumberUsedRows(indices);
  const auto count = static_cast<int64_t>(used.size());
  ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(1, {count}));
  RETURN_IF_ERROR(
      DispatchType(IndexTypes{}, output->dtype(), [&]<typename T>(TypeTag<T>) {
        auto out = output->mutable_flat<T>();
        for (size_t i = 0; i < used.size(); ++i) {
          out[i] = static_cast<T>(used[i]);
        }
        return absl::OkStatus();
      }));
  return count;
}

// The number of segments, which must be at least `used`.
absl::StatusOr<int64_t> ReadSegmentCount(const Tensor& tensor, int64_t used) {
  if (!tensor.shape().IsScalar()) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_segments should be a scalar, not shape ",
                     tensor.shape().ToString()));
  }
  ASSIGN_OR_RETURN(const Dims values, IntegersOf(tensor));
  if (values[0] < 0) {
    return absl::InvalidArgumentError("segment ids must be >= 0");
  }
  if (values[0] < used) {
    return absl::InvalidArgumentError("segment ids must be < num_segments");
  }
  return values[0];
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

absl::StatusOr<Segments> PrepareSegments(OpKernelContext& context) {
  const TensorShape& data = context.input(0).shape();
  const Tensor& ids = context.input(1);
  if (ids.rank() != 1) {
    return absl::InvalidArgumentError("segment_ids should be a vector.");
  }
  if (data.rank() < 1 || data.dim(0) != ids.num_elements()) {
    return absl::InvalidArgumentError(
        "segment_ids should be the same size as dimension 0 of input.");
  }
  ASSIGN_OR_RETURN(SortedSegments segments, ReadSortedSegments(ids));
  Segments result;
  result.ids = std::move(segments.ids);
  ASSIGN_OR_RETURN(const TensorShape shape,
                   ShapeOfRows(segments.count, data, 1));
  ASSIGN_OR_RETURN(result.output, context.AllocateOutput(0, shape));
  return result;
}

absl::StatusOr<SparseSegments> PrepareSparseSegments(OpKernelContext& context) {
  const Tensor& data = context.input(0);
  RETURN_IF_ERROR(CheckSparseShapes(data, context.input(1), context.input(2)));
  SparseSegments result;
  ASSIGN_OR_RETURN(SortedSegments segments,
                   ReadSortedSegments(context.input(2)));
  if (context.num_inputs() > 3) {
    ASSIGN_OR_RETURN(segments.count,
                     ReadSegmentCount(context.input(3), segments.count));
  }
  result.ids = std::move(segments.ids);
  ASSIGN_OR_RETURN(result.indices,
                   ReadChosenRows(context.input(1), data.dim(0)));
  ASSIGN_OR_RETURN(const TensorShape shape,
                   ShapeOfRows(segments.count, data.shape(), 1));
  ASSIGN_OR_RETURN(result.output, context.AllocateOutput(0, shape));
  return result;
}

absl::StatusOr<SparseSegments> PrepareSparseSegmentGradient(
    OpKernelContext& context) {
  const Tensor& grad = context.input(0);
  RETURN_IF_ERROR(CheckSparseShapes(grad, context.input(1), context.input(2)));
  if (context.input(3).rank() > 0) {
    return absl::InvalidArgumentError("output_dim0 should be a scalar.");
  }
  int64_t rows = context.input(3).scalar<int32_t>();
  if (rows < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("Expected a non-negative size, got ", rows));
  }
  SparseSegments result;
  ASSIGN_OR_RETURN(result.indices, IntegersOf(context.input(1)));
  ASSIGN_OR_RETURN(result.ids, IntegersOf(context.input(2)));
  RETURN_IF_ERROR(CheckInRange(result.indices, rows, "Index"));
  RETURN_IF_ERROR(CheckInRange(result.ids, grad.dim(0), "Segment id"));
  if (context.num_outputs() > 1) {
    ASSIGN_OR_RETURN(rows, KeepUsedRows(context, result.indices));
  }
  ASSIGN_OR_RETURN(const TensorShape shape, ShapeOfRows(rows, grad.shape(), 1));
  ASSIGN_OR_RETURN(result.output, context.AllocateOutput(0, shape));
  return result;
}

absl::Status CheckSegmentPrefix(const TensorShape& data,
                                const TensorShape& ids) {
  if (StartsWith(data, ids)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "data.shape = ", data.ToString(),
      " does not start with segment_ids.shape = ", ids.ToString()));
}

absl::Status SegmentOutOfRange(const TensorShape& ids, int64_t position,
                               int64_t id, int64_t segments) {
  return absl::InvalidArgumentError(
      absl::StrCat("segment_ids", CoordinatesOf(ids, position), " = ", id,
                   " is out of range [0, ", segments, ")"));
}

absl::StatusOr<UnsortedSegments> FindUnsortedSegments(
    const OpKernelContext& context) {
  const TensorShape& data = context.input(0).shape();
  const TensorShape& ids = context.input(1).shape();
  RETURN_IF_ERROR(CheckSegmentPrefix(data, ids));
  const Tensor& count = context.input(2);
  if (count.rank() > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_segments should be a scalar, not shape ",
                     count.shape().ToString()));
  }
  ASSIGN_OR_RETURN(const Dims values, IntegersOf(count));
  if (values[0] < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Input num_segments == ", values[0], " must not be negative."));
  }
  UnsortedSegments segments;
  segments.count = values[0];
  ASSIGN_OR_RETURN(segments.shape, ShapeOfRows(values[0], data, ids.rank()));
  return segments;
}

absl::StatusOr<Partitions> PreparePartitions(OpKernelContext& context) {
  const TensorShape& data = context.input(0).shape();
  const TensorShape& shape = context.input(1).shape();
  if (!StartsWith(data, shape)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "data.shape must start with partitions.shape, got data.shape = ",
        data.ToString(), ", partitions.shape = ", shape.ToString()));
  }
  Partitions result;
  result.counts.assign(context.num_outputs(), 0);
  const absl::Span<const int32_t> values = context.input(1).flat<int32_t>();
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0 || values[i] >= context.num_outputs()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "partitions", CoordinatesOf(shape, static_cast<int64_t>(i)), " = ",
          values[i], " is not in [0, ", context.num_outputs(), ")"));
    }
    ++result.counts[values[i]];
  }
  for (int i = 0; i < context.num_outputs(); ++i) {
    ASSIGN_OR_RETURN(const TensorShape rows,
                     ShapeOfRows(result.counts[i], data, shape.rank()));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(i, rows));
    result.outputs.push_back(output);
  }
  return result;
}

bool StartsWith(const TensorShape& shape, const TensorShape& prefix) {
  return shape.rank() >= prefix.rank() &&
         shape.dims().subspan(0, prefix.rank()) == prefix.dims();
}

absl::StatusOr<int64_t> CountStitchedRows(const OpKernelContext& context,
                                          int count) {
  int64_t rows = 0;
  for (int i = 0; i < count; ++i) {
    RETURN_IF_ERROR(CheckPair(context, count, i));
    for (const int32_t index : context.input(i).flat<int32_t>()) {
      if (index < 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("indices[", i, "] is out of range: ", index));
      }
      rows = std::max(rows, int64_t{index} + 1);
    }
  }
  return rows;
}

}  // namespace weft
