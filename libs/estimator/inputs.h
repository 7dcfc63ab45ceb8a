// Input functions that read tensors in memory, like TensorFlow's
// tf.estimator.inputs.numpy_input_fn.
//
//   InputFn input = TensorInputFn({{"age", ages}, {"job", jobs}}, labels,
//                                 {.batch_size = 32, .num_epochs = {}});
//
// The tensors are constants of the graph, so they are also in each .meta file,
// in graph.pbtxt and in the events. A queue of row numbers, filled by a
// QueueRunner, selects the rows of a batch. The ops run on the task that
// trains. For data larger than TensorInputOptions::max_bytes, write TFRecords
// and read them with a dataset (dataset_inputs.h).
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
  // How often all rows are read; null: without end.
  std::optional<int64_t> num_epochs = 1;
  bool shuffle = false;  // shuffles the rows within each epoch
  std::optional<int64_t> seed;
  int64_t queue_capacity = 1000;  // in rows
  // If true, the last batch may be smaller; if false, a smaller last batch is
  // dropped.
  bool allow_smaller_final_batch = true;
  // The shard of this task: rows index, index + num_shards, ... Only these rows
  // are in the task's graph. RunConfig::InputShard() gives each worker a
  // different shard.
  RunConfig::Shard shard = {};
  // Maximum total size of this task's rows in all tensors, in bytes.
  uint64_t max_bytes = uint64_t{256} << 20;
};

// Returns an input function of batches of rows. All tensors must have the same
// number of rows. Batches may span epochs. `y` may be null (a Tensor()).
// Building the input fails with INVALID_ARGUMENT if the numbers of rows differ,
// no row belongs to this task, or the rows have too many bytes.
InputFn TensorInputFn(std::map<std::string, Tensor> x, Tensor y,
                      TensorInputOptions options = {});

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_INPUTS_H_
