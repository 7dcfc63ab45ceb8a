#include "libs/ops/state/partitioners.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft::ops {
namespace {

absl::Status CheckAxis(const TensorShape& shape, int axis) {
  if (axis >= 0 && axis < shape.rank()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "Cannot partition along axis ", axis, " of shape ", shape.ToString()));
}

int64_t ElementBytes(DataType dtype, int64_t bytes_per_string_element) {
  if (dtype == DT_STRING) return bytes_per_string_element;
  return std::max<int64_t>(1, DataTypeSize(dtype));
}

int64_t CeilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0); }

std::vector<int> Along(const TensorShape& shape, int axis, int64_t parts) {
  std::vector<int> result(shape.rank(), 1);
  result[axis] = static_cast<int>(std::clamp<int64_t>(parts, 1, INT32_MAX));
  return result;
}

}  // namespace

Partitioner FixedSizePartitioner(int num_shards, int axis) {
  return [=](const TensorShape& shape,
             DataType) -> absl::StatusOr<std::vector<int>> {
    RETURN_IF_ERROR(CheckAxis(shape, axis));
    if (num_shards < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("num_shards must be at least 1, is ", num_shards));
    }
    return Along(shape, axis, std::min<int64_t>(num_shards, shape.dim(axis)));
  };
}

Partitioner VariableAxisSizePartitioner(
    int64_t max_shard_bytes, const VariableAxisSizeOptions& options) {
  return [=](const TensorShape& shape,
             DataType dtype) -> absl::StatusOr<std::vector<int>> {
    RETURN_IF_ERROR(CheckAxis(shape, options.axis));
    if (max_shard_bytes < 1 || options.bytes_per_string_element < 1 ||
        options.max_shards.value_or(1) < 1) {
      return absl::InvalidArgumentError(
          "max_shard_bytes, bytes_per_string_element and max_shards must be "
          "at least 1");
    }
    const int64_t size = shape.dim(options.axis);
    if (size == 0) return Along(shape, options.axis, 1);
    const int64_t element =
        ElementBytes(dtype, options.bytes_per_string_element);
    // Divides first, because the bytes of the whole may overflow.
    const int64_t slice_elements =
        std::max<int64_t>(1, shape.num_elements() / size);
    const int64_t slices_per_shard =
        std::max<int64_t>(1, max_shard_bytes / element / slice_elements);
    int64_t shards = CeilDiv(size, slices_per_shard);
    if (options.max_shards) {
      shards = std::min<int64_t>(shards, *options.max_shards);
    }
    return Along(shape, options.axis, shards);
  };
}

Partitioner MinMaxVariablePartitioner(const MinMaxVariableOptions& options) {
  return [=](const TensorShape& shape,
             DataType dtype) -> absl::StatusOr<std::vector<int>> {
    RETURN_IF_ERROR(CheckAxis(shape, options.axis));
    if (options.max_partitions < 1 || options.min_slice_size < 1 ||
        options.bytes_per_string_element < 1) {
      return absl::InvalidArgumentError(
          "max_partitions, min_slice_size and bytes_per_string_element must "
          "be at least 1");
    }
    const int64_t element =
        ElementBytes(dtype, options.bytes_per_string_element);
    const int64_t elements =
        std::min<int64_t>(shape.num_elements(), INT64_MAX / element);
    const int64_t slices = CeilDiv(elements * element, options.min_slice_size);
    return Along(shape, options.axis,
                 std::min({shape.dim(options.axis),
                           int64_t{options.max_partitions}, slices}));
  };
}

}  // namespace weft::ops
