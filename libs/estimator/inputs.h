// Input functions over tensors in memory; they correspond to TensorFlow's
// tf.estimator.inputs.numpy_input_fn.
//
//   InputFn input = TensorInputFn({{"age", ages}, {"job", jobs}}, labels,
//                                 {.batch_size = 32, .num_epochs = {}});
//
// The tensors are constants of the graph, so they are also in each .meta file,
// in graph.pbtxt and in the events; a queue of row numbers, filled by a
// QueueRunner, selects the rows of a batch. The ops run on the task that
// trains. For more than TensorInputOptions::max_bytes, write TFRecords and read
// them with a dataset (dataset_inputs.h).
#ifndef WEFT_LIBS_ESTIMATOR_INPUTS_H_
#define WEFT_LIBS_ESTIMATOR_INPUTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "libs/estimator/estimator_spec.h"
#include "libs/estimator/run_config.h"
#include "libs/tensor/tensor.h"

namespace weft::estimator {

struct TensorInputOptions {
  int64_t batch_size = 128;
  // How often all rows are read; none: endless.
  std::optional<int64_t> num_epochs = 1;
  bool shuffle = false;  // rows within each epoch
  std::optional<int64_t> seed;
  int64_t queue_capacity = 1000;  // rows
  // Whether the last batch may be smaller; otherwise it is dropped.
  bool allow_smaller_final_batch = true;
  // The rows of this task: index, index + num_shards, ...; only these are in
  // its graph. RunConfig::InputShard() gives each worker its own.
  RunConfig::Shard shard = {};
  // Maximum size in bytes of these rows, all tensors together.
  uint64_t max_bytes = uint64_t{256} << 20;
};

// Batches of rows of the tensors, which must have the same number of rows.
// Batches may span epochs. `y` may be null (a Tensor()). INVALID_ARGUMENT, when
// the input is built, if the numbers of rows differ, no row belongs to this
// task, or the rows have too many bytes.
InputFn TensorInputFn(std::map<std::string, Tensor> x, Tensor y,
                      TensorInputOptions options = {});

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_INPUTS_H_
