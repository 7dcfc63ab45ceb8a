// Input producers fill a queue with the rows of a tensor, typically file names,
// once per epoch: tf.train.string_input_producer and the related functions of
// TensorFlow, with their node names.
//
//   auto files = train::StringInputProducer(
//       root, Tensor::Vector<std::string>({"a.csv", "b.csv"}),
//       {.num_epochs = 2});
//   auto line = ops::Reader::TextLine(root).Read(root, files);
//
// Each producer adds a QueueRunner to collection "queue_runners", which
// MonitoredSession and StartQueueRunners run. An epoch limit is counted in a
// local variable (LocalVariablesInitializer). After the last epoch the queue is
// closed, and dequeue ops fail with OUT_OF_RANGE.
//
// Errors stick to the scope; results are null then. The functions are as
// thread-safe as the scope.
#ifndef WEFT_LIBS_TRAIN_INPUT_QUEUES_INPUT_PRODUCER_H_
#define WEFT_LIBS_TRAIN_INPUT_QUEUES_INPUT_PRODUCER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libs/ops/resource/queue.h"
#include "libs/ops/scope.h"
#include "libs/ops/state/variable.h"

namespace weft::train {

struct LimitEpochsOptions {
  // Whether the local variable that counts epochs is a resource variable.
  bool use_resource = true;
};
// Returns the value of `tensor` for `num_epochs` evaluations; then the step
// fails with OUT_OF_RANGE. Without a limit, returns `tensor` itself.
Output LimitEpochs(const Scope& scope, const Input& tensor,
                   std::optional<int64_t> num_epochs,
                   const LimitEpochsOptions& options = {});

struct ProducerOptions {
  std::optional<int64_t> num_epochs;  // null: no limit
  // Whether to shuffle the rows in each epoch.
  bool shuffle = true;
  std::optional<int64_t> seed;  // seed of the shuffling
  int64_t capacity = 32;        // capacity of the queue, in rows
  std::string shared_name;      // name of the queue; empty: not shared
  // Operation that replaces the default one that cancels the queue.
  // RangeInputProducer and SliceInputProducer ignore it.
  Operation cancel_op;
  LimitEpochsOptions limit;
  // Only for InputProducer: the shape of a row, if the shape of the tensor does
  // not determine it, and the name of a summary of the queue's fill level.
  PartialShape element_shape;
  std::string summary_name;
};

// Returns a queue of the rows of `input_tensor`.
ops::Queue InputProducer(const Scope& scope, const Input& input_tensor,
                         const ProducerOptions& options = {});
// Returns a queue of the elements of a vector of strings. An empty vector is an
// error at graph construction, or at run time if its size is not known before.
ops::Queue StringInputProducer(const Scope& scope, const Input& string_tensor,
                               const ProducerOptions& options = {});
// Returns a queue of the integers from 0 to `limit` - 1; `limit` is an int32.
ops::Queue RangeInputProducer(const Scope& scope, const Input& limit,
                              const ProducerOptions& options = {});
// Dequeues one row of each tensor. All tensors must have the same number of
// rows.
std::vector<Output> SliceInputProducer(const Scope& scope,
                                       const InputList& tensors,
                                       const ProducerOptions& options = {});

// Returns a local variable with the paths that match `pattern`. The pattern is
// evaluated once, when the variable is initialized.
ops::Variable MatchFilenamesOnce(const Scope& scope, const Input& pattern,
                                 bool use_resource = true);

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_INPUT_QUEUES_INPUT_PRODUCER_H_
