// Partitioners choose the number of parts of a variable along each dimension.
// They are those of TensorFlow's python/ops/partitioned_variables.
//
// Stateless values.
#ifndef WEFT_LIBS_OPS_STATE_PARTITIONERS_H_
#define WEFT_LIBS_OPS_STATE_PARTITIONERS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/tensor/data_type.h"
#include "libs/tensor/shape.h"

namespace weft::ops {

// Returns the number of parts along each dimension of `shape`; all but one are
// 1. INVALID_ARGUMENT for an invalid axis or a count of less than 1.
using Partitioner = std::function<absl::StatusOr<std::vector<int>>(
    const TensorShape& shape, DataType dtype)>;

// `num_shards` parts, but at most as many as the dimension has elements.
Partitioner FixedSizePartitioner(int num_shards, int axis = 0);

struct VariableAxisSizeOptions {
  int axis = 0;
  int64_t bytes_per_string_element = 16;
  std::optional<int> max_shards;
};
// The smallest number of parts of at most `max_shard_bytes` each, if a single
// slice along the axis fits; at most `max_shards`.
Partitioner VariableAxisSizePartitioner(
    int64_t max_shard_bytes, const VariableAxisSizeOptions& options = {});

struct MinMaxVariableOptions {
  int max_partitions = 1;
  int axis = 0;
  int64_t min_slice_size = 256 << 10;  // bytes
  int64_t bytes_per_string_element = 16;
};
// The variable's bytes / `min_slice_size` parts, rounded up; at most
// `max_partitions` and at most the size of the axis.
Partitioner MinMaxVariablePartitioner(
    const MinMaxVariableOptions& options = {});

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_STATE_PARTITIONERS_H_
