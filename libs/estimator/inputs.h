// Input functions over tensors in memory; the counterpart of TensorFlow's
// tf.estimator.inputs.numpy_input_fn.
//
//   InputFn input = TensorInputFn({{"age", ages}, {"job", jobs}}, labels,
//                                 {.batch_size = 32, .num_epochs = {}});
//
// The tensors are constants of the graph, so they are in each .meta file, in
// graph.pbtxt and in the events, too; a queue of row numbers, which a
// QueueRunner fills, says which of their rows a batch has. All runs on the task
// that trains. For more than TensorInputOptions::max_bytes write TFRecords, and
// read them by a data set (dataset_inputs.h).
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
  // How often all rows are read; none: again and again.
  std::optional<int64_t> num_epochs = 1;
  bool shuffle = false;  // the rows of each epoch
  std::optional<int64_t> seed;
  int64_t queue_capacity = 1000;  // rows
  // Whether the last batch of all may be smaller; else it is left out.
  bool allow_smaller_final_batch = true;
  // Which rows are this task's: those of number index, index + num_shards, ...,
  // and no others are in its graph. RunConfig::InputShard() gives each worker
  // its own.
  RunConfig::Shard shard = {};
  // How many bytes of memory these rows may take, all tensors together.
  uint64_t max_bytes = uint64_t{256} << 20;
};

// Rows of the tensors, which have as many of them. Batches run over the end of
// an epoch. `y` may be null (a Tensor()). INVALID_ARGUMENT, when the input is
// built, where the numbers of rows differ, none is this task's, or they have
// too many bytes.
InputFn TensorInputFn(std::map<std::string, Tensor> x, Tensor y,
                      TensorInputOptions options = {});

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_INPUTS_H_
