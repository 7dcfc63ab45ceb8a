#include "libs/estimator/inputs.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/resource/queue.h"
#include "libs/train/input_producer.h"

namespace weft::estimator {
namespace {

// Of all tensors.
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
          "TensorInputFn: all tensors must have as many rows, less than 2^31, "
          "but '",
          name, "' is ", tensor.ToString(0),
          rows ? absl::StrCat(" beside one of ", *rows, " rows.") : "."));
    }
    rows = tensor.dim(0);
  }
  if (rows.value_or(0) > 0) return static_cast<int32_t>(*rows);
  return absl::InvalidArgumentError(
      "TensorInputFn: there are no rows; give it at least one.");
}

absl::Status CheckOptions(const TensorInputOptions& options) {
  if (options.batch_size >= 1 &&
      options.batch_size <= std::numeric_limits<int32_t>::max() &&
      options.num_epochs.value_or(1) >= 1 && options.queue_capacity >= 1) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "TensorInputFn: batch_size, num_epochs and queue_capacity must be at "
      "least 1.");
}

// The numbers of a batch's rows.
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
    ASSIGN_OR_RETURN(const int32_t rows, CountRows(x, y));
    const Scope inner = scope.SubScope("tensor_input");
    const Output numbers = RowNumbers(inner, rows, options);
    InputTensors input;
    for (const auto& [name, tensor] : x) {
      input.features[name] = ops::GatherV2(inner, tensor, numbers, 0);
    }
    if (y.IsInitialized()) input.labels = ops::GatherV2(inner, y, numbers, 0);
    RETURN_IF_ERROR(scope.status());
    return input;
  };
}

}  // namespace weft::estimator
