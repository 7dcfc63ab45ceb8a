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
// Errors stick to the scope; results are null then. Threads: as the scope's.
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
  // Type of the local variable that counts epochs.
  bool use_resource = true;
};
// Outputs `tensor` for `num_epochs` evaluations, then fails with OUT_OF_RANGE.
// Without a limit returns `tensor` itself.
Output LimitEpochs(const Scope& scope, const Input& tensor,
                   std::optional<int64_t> num_epochs,
                   const LimitEpochsOptions& options = {});

struct ProducerOptions {
  std::optional<int64_t> num_epochs;  // none: without end
  bool shuffle = true;                // the rows of each epoch
  std::optional<int64_t> seed;        // of that
  int64_t capacity = 32;              // of the queue
  std::string shared_name;            // of the queue; empty: not shared
  // Replaces the operation that cancels the queue. (Not for RangeInputProducer
  // and SliceInputProducer.)
  Operation cancel_op;
  LimitEpochsOptions limit;
  // InputProducer only: the shape of a row, if the tensor's shape does not
  // determine it, and the name of a summary of the queue's fill level.
  PartialShape element_shape;
  std::string summary_name;
};

// Queues the rows of `input_tensor`.
ops::Queue InputProducer(const Scope& scope, const Input& input_tensor,
                         const ProducerOptions& options = {});
// Queues the elements of a vector of strings, which must not be empty, neither
// at graph construction nor at run time.
ops::Queue StringInputProducer(const Scope& scope, const Input& string_tensor,
                               const ProducerOptions& options = {});
// Queues the integers from 0 to `limit` - 1, an int32.
ops::Queue RangeInputProducer(const Scope& scope, const Input& limit,
                              const ProducerOptions& options = {});
// Dequeues one row of each tensor; all have the same number of rows.
std::vector<Output> SliceInputProducer(const Scope& scope,
                                       const InputList& tensors,
                                       const ProducerOptions& options = {});

// Returns a local variable of the matching paths, so that the pattern is
// evaluated once.
ops::Variable MatchFilenamesOnce(const Scope& scope, const Input& pattern,
                                 bool use_resource = true);

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_INPUT_QUEUES_INPUT_PRODUCER_H_
