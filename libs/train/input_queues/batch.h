// Batching of single examples by a queue: tf.train.batch and the related
// functions of TensorFlow, with their node names.
//
//   auto examples = train::ShuffleBatch(root, {image, label}, 32,
//                                       {.capacity = 1000,
//                                        .min_after_dequeue = 500});
//   Output images = examples[0], labels = examples[1];
//
// Each function adds a QueueRunner to collection "queue_runners", which runs
// the ops that produce examples, and a summary of the queue's fill level. After
// the end of the input, the step of an incomplete batch fails with
// OUT_OF_RANGE, unless `allow_smaller_final_batch` is set.
//
// Errors stick to the scope; outputs are null then. The functions are as
// thread-safe as the scope.
#ifndef WEFT_LIBS_TRAIN_INPUT_QUEUES_BATCH_H_
#define WEFT_LIBS_TRAIN_INPUT_QUEUES_BATCH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libs/ops/scope.h"

namespace weft::train {

struct BatchOptions {
  // Number of threads that run the same enqueue operation; more than one thread
  // mixes the order. BatchJoin has one thread for each list of tensors.
  int64_t num_threads = 1;
  int64_t capacity = 32;  // capacity of the queue, in examples
  // If true, the tensors are batches of examples: their rows are enqueued.
  bool enqueue_many = false;
  // Shapes of single examples; default: the shapes of the tensors.
  std::optional<std::vector<PartialShape>> shapes;
  // If true, unknown dimensions may differ and are padded with zeros to the
  // largest size in a batch.
  bool dynamic_pad = false;
  // If true, the last batch may have fewer examples; if false, an incomplete
  // last batch is dropped.
  bool allow_smaller_final_batch = false;
  std::string shared_name;  // name of the queue; empty: not shared
};
// Returns one batch per tensor, with the batch dimension in front.
std::vector<Output> Batch(const Scope& scope, const InputList& tensors,
                          const Input& batch_size,
                          const BatchOptions& options = {});
// Batches examples from several sources, each read by a thread of its own. All
// lists have tensors of the same types.
std::vector<Output> BatchJoin(const Scope& scope,
                              const std::vector<InputList>& tensors_list,
                              const Input& batch_size,
                              const BatchOptions& options = {});

struct ShuffleBatchOptions {
  int64_t num_threads = 1;  // see BatchOptions
  // Capacity of the queue, in examples. The queue keeps at least
  // `min_after_dequeue` examples until the input ends, so that they mix.
  // REQUIRES: capacity > min_after_dequeue.
  int64_t capacity = 32;
  int64_t min_after_dequeue = 0;
  std::optional<int64_t> seed;
  bool enqueue_many = false;                        // see BatchOptions
  std::optional<std::vector<PartialShape>> shapes;  // see BatchOptions
  bool allow_smaller_final_batch = false;
  std::string shared_name;
};
// Returns batches of examples in random order, one output per tensor.
std::vector<Output> ShuffleBatch(const Scope& scope, const InputList& tensors,
                                 const Input& batch_size,
                                 const ShuffleBatchOptions& options = {});
std::vector<Output> ShuffleBatchJoin(const Scope& scope,
                                     const std::vector<InputList>& tensors_list,
                                     const Input& batch_size,
                                     const ShuffleBatchOptions& options = {});

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_INPUT_QUEUES_BATCH_H_
