#include "libs/estimator/inputs.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/resource/queue.h"
#include "libs/tensor/buffer.h"
#include "libs/train/input_queues/input_producer.h"

namespace weft::estimator {
namespace {

// Returns the number of rows, which must be the same in all tensors.
absl::StatusOr<int32_t> CountRows(const std::map<std::string, Tensor>& x,
                                  const Tensor& y) {
  std::map<std::string, Tensor> all = x;
  if (y.IsInitialized()) all["(labels)"] = y;
  std::optional<int64_t> rows;
  for (const auto& [name, tensor] : all) {
    if (!tensor.IsInitialized() || tensor.rank() == 0 ||
        tensor.dim(0) > std::numeric_limits<int32_t>::max() ||
        (rows && tensor.dim(0) != *rows)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "TensorInputFn: all tensors must have the same number of rows, less "
          "than 2^31, but '",
          name, "' is ", tensor.ToString(0),
          rows ? absl::StrCat(" and another one has ", *rows, " rows.") : "."));
    }
    rows = tensor.dim(0);
  }
  if (rows.value_or(0) > 0) return static_cast<int32_t>(*rows);
  return absl::InvalidArgumentError(
      "TensorInputFn: the tensors have no rows; give at least one row.");
}

absl::Status CheckOptions(const TensorInputOptions& options) {
  const RunConfig::Shard& shard = options.shard;
  if (options.batch_size >= 1 &&
      options.batch_size <= std::numeric_limits<int32_t>::max() &&
      options.num_epochs.value_or(1) >= 1 && options.queue_capacity >= 1 &&
      shard.num_shards >= 1 && shard.index >= 0 &&
      shard.index < shard.num_shards) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "TensorInputFn: batch_size, num_epochs and queue_capacity must be at "
      "least 1, and the shard one of its num_shards; it is ",
      shard.index, " of ", shard.num_shards, "."));
}

// Returns the number of rows in the shard.
absl::StatusOr<int32_t> RowsOf(const RunConfig::Shard& shard, int32_t rows) {
  if (shard.index < rows) {
    return (rows - shard.index - 1) / shard.num_shards + 1;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("TensorInputFn: shard ", shard.index, " of ",
                   shard.num_shards, " has no rows, for there are only ", rows,
                   "; train with fewer tasks, or give each of them all rows."));
}

// Calls `take` with the element offsets of each row in the shard.
void ForEachRow(const RunConfig::Shard& shard, int64_t rows, int64_t row_size,
                absl::FunctionRef<void(int64_t from, int64_t to)> take) {
  for (int64_t row = 0; row < rows; ++row) {
    take((shard.index + row * shard.num_shards) * row_size, row * row_size);
  }
}

// Returns the rows in the shard; the tensor itself if the shard has all rows.
absl::StatusOr<Tensor> TakeRows(const Tensor& all,
                                const RunConfig::Shard& shard, int32_t rows) {
  if (shard.num_shards == 1) return all;
  TensorShape shape = all.shape();
  const int64_t row_size = shape.num_elements() / shape.dim(0);
  shape.set_dim(0, rows);
  ASSIGN_OR_RETURN(Tensor own,
                   Tensor::Allocate(HeapAllocator(), all.dtype(), shape));
  if (row_size == 0) return own;
  if (all.dtype() == DT_STRING) {
    const auto from = all.flat<std::string>();
    const auto to = own.mutable_flat<std::string>();
    ForEachRow(shard, rows, row_size, [&](int64_t begin, int64_t at) {
      std::copy_n(from.begin() + begin, row_size, to.begin() + at);
    });
    return own;
  }
  const auto size = static_cast<int64_t>(DataTypeSize(all.dtype()));
  const char* const from = static_cast<const char*>(all.data());
  char* const to = static_cast<char*>(own.mutable_data());
  ForEachRow(shard, rows, row_size * size, [&](int64_t begin, int64_t at) {
    std::memcpy(to + at, from + begin, row_size * size);
  });
  return own;
}

// Rows holds the rows of this task.
struct Rows {
  int32_t count = 0;
  std::map<std::string, Tensor> x;
  Tensor y;  // null: no labels
};

absl::Status CheckBytes(const Rows& rows, uint64_t most) {
  uint64_t bytes = rows.y.IsInitialized() ? rows.y.TotalBytes() : 0;
  for (const auto& [name, tensor] : rows.x) bytes += tensor.TotalBytes();
  if (bytes <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "TensorInputFn: the rows have ", bytes,
      " bytes, which would all be in the graph and in each checkpoint's .meta; "
      "at most ",
      most, " may. Write them as TFRecords, and read these by a data set."));
}

absl::StatusOr<Rows> OwnRows(const std::map<std::string, Tensor>& x,
                             const Tensor& y,
                             const TensorInputOptions& options) {
  const RunConfig::Shard& shard = options.shard;
  Rows own;
  ASSIGN_OR_RETURN(const int32_t all, CountRows(x, y));
  ASSIGN_OR_RETURN(own.count, RowsOf(shard, all));
  for (const auto& [name, tensor] : x) {
    ASSIGN_OR_RETURN(own.x[name], TakeRows(tensor, shard, own.count));
  }
  if (y.IsInitialized()) {
    ASSIGN_OR_RETURN(own.y, TakeRows(y, shard, own.count));
  }
  RETURN_IF_ERROR(CheckBytes(own, options.max_bytes));
  return own;
}

// Returns the row numbers of a batch.
Output RowNumbers(const Scope& scope, int32_t rows,
                  const TensorInputOptions& options) {
  train::ProducerOptions producer;
  producer.num_epochs = options.num_epochs;
  producer.shuffle = options.shuffle;
  producer.seed = options.seed;
  producer.capacity = options.queue_capacity;
  const ops::Queue queue = train::RangeInputProducer(scope, rows, producer);
  if (!queue) return Output();
  const auto batch = static_cast<int32_t>(options.batch_size);
  return options.allow_smaller_final_batch ? queue.DequeueUpTo(scope, batch)[0]
                                           : queue.DequeueMany(scope, batch)[0];
}

}  // namespace

InputFn TensorInputFn(std::map<std::string, Tensor> x, Tensor y,
                      TensorInputOptions options) {
  return [x = std::move(x), y = std::move(y), options = std::move(options)](
             const Scope& scope) -> absl::StatusOr<InputTensors> {
    RETURN_IF_ERROR(CheckOptions(options));
    ASSIGN_OR_RETURN(const Rows rows, OwnRows(x, y, options));
    const Scope inner = scope.SubScope("tensor_input");
    const Output numbers = RowNumbers(inner, rows.count, options);
    InputTensors input;
    for (const auto& [name, tensor] : rows.x) {
      input.features[name] = ops::GatherV2(inner, tensor, numbers, 0);
    }
    if (rows.y.IsInitialized()) {
      input.labels = ops::GatherV2(inner, rows.y, numbers, 0);
    }
    RETURN_IF_ERROR(scope.status());
    return input;
  };
}

}  // namespace weft::estimator
