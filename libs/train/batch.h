// Batches made of single examples by a queue; TensorFlow's tf.train.batch and
// its kin, with their names of nodes.
//
//   auto examples = train::ShuffleBatch(root, {image, label}, 32,
//                                       {.capacity = 1000,
//                                        .min_after_dequeue = 500});
//   Output images = examples[0], labels = examples[1];
//
// Each adds a QueueRunner to collection "queue_runners", which runs what makes
// the examples, and a summary of how full the queue is. Once the input has
// ended a batch that can't be filled is OUT_OF_RANGE, or smaller where that is
// allowed.
//
// Errors stick to the scope; outputs are null then. Threads: as the scope's.
#ifndef WEFT_LIBS_TRAIN_BATCH_H_
#define WEFT_LIBS_TRAIN_BATCH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libs/ops/scope.h"

namespace weft::train {

struct BatchOptions {
  // That run the same operation; more than one mix the order. BatchJoin has one
  // for each list of tensors.
  int64_t num_threads = 1;
  int64_t capacity = 32;  // of the queue, in examples
  // The tensors are batches of examples: their rows are put into the queue.
  bool enqueue_many = false;
  // Of single examples; without them those of the tensors.
  std::optional<std::vector<PartialShape>> shapes;
  // Sizes that are not known may differ, and are filled up with zeros to the
  // largest of a batch.
  bool dynamic_pad = false;
  // The last one may be.
  bool allow_smaller_final_batch = false;
  std::string shared_name;  // of the queue; empty: not shared
};
// One output for each tensor, of one more dimension.
std::vector<Output> Batch(const Scope& scope, const InputList& tensors,
                          const Input& batch_size,
                          const BatchOptions& options = {});
// Of several sources of the same examples, with a thread for each.
std::vector<Output> BatchJoin(const Scope& scope,
                              const std::vector<InputList>& tensors_list,
                              const Input& batch_size,
                              const BatchOptions& options = {});

struct ShuffleBatchOptions {
  int64_t num_threads = 1;  // as above
  // Of the queue: at most so many examples wait, and so many that do not leave
  // as long as the input lasts. REQUIRES: capacity > min_after_dequeue.
  int64_t capacity = 32;
  int64_t min_after_dequeue = 0;
  std::optional<int64_t> seed;
  bool enqueue_many = false;                        // as above
  std::optional<std::vector<PartialShape>> shapes;  // as above
  bool allow_smaller_final_batch = false;
  std::string shared_name;
};
// The same in random order.
std::vector<Output> ShuffleBatch(const Scope& scope, const InputList& tensors,
                                 const Input& batch_size,
                                 const ShuffleBatchOptions& options = {});
std::vector<Output> ShuffleBatchJoin(const Scope& scope,
                                     const std::vector<InputList>& tensors_list,
                                     const Input& batch_size,
                                     const ShuffleBatchOptions& options = {});

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_BATCH_H_
