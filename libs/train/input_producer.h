// What fills a queue with the rows of a tensor, once for each epoch: the names
// of files above all; TensorFlow's tf.train.string_input_producer and its kin,
// with their names of nodes.
//
//   auto files = train::StringInputProducer(
//       root, Tensor::Vector<std::string>({"a.csv", "b.csv"}),
//       {.num_epochs = 2});
//   auto line = ops::Reader::TextLine(root).Read(root, files);
//
// Each adds a QueueRunner to collection "queue_runners", which a
// MonitoredSession runs, and StartQueueRunners. A limit of epochs is counted in
// a local variable (LocalVariablesInitializer); afterwards the queue is closed,
// and whoever takes from it ends with OUT_OF_RANGE.
//
// Errors stick to the scope; what is returned is null then. Threads: as the
// scope's.
#ifndef WEFT_LIBS_TRAIN_INPUT_PRODUCER_H_
#define WEFT_LIBS_TRAIN_INPUT_PRODUCER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libs/ops/resource/queue.h"
#include "libs/ops/scope.h"
#include "libs/ops/state/variable.h"

namespace weft::train {

struct LimitEpochsOptions {
  // Of the local variable that counts.
  bool use_resource = true;
};
// `tensor`, so many times; then OUT_OF_RANGE. Without a number the tensor
// itself.
Output LimitEpochs(const Scope& scope, const Input& tensor,
                   std::optional<int64_t> num_epochs,
                   const LimitEpochsOptions& options = {});

struct ProducerOptions {
  std::optional<int64_t> num_epochs;  // none: without end
  bool shuffle = true;                // the rows of each epoch
  std::optional<int64_t> seed;        // of that
  int64_t capacity = 32;              // of the queue
  std::string shared_name;            // of the queue; empty: not shared
  // Instead of the operation that cancels the queue. (Not of
  // RangeInputProducer and SliceInputProducer.)
  Operation cancel_op;
  LimitEpochsOptions limit;
  // InputProducer alone: the shape of a row, where that of the tensor does not
  // tell it, and the name of a summary of how full the queue is.
  PartialShape element_shape;
  std::string summary_name;
};

// The rows of `input_tensor`.
ops::Queue InputProducer(const Scope& scope, const Input& input_tensor,
                         const ProducerOptions& options = {});
// The elements of a vector of strings, which must not be empty: not when the
// graph is built, and not when it runs.
ops::Queue StringInputProducer(const Scope& scope, const Input& string_tensor,
                               const ProducerOptions& options = {});
// The integers from 0 to `limit` - 1, an int32.
ops::Queue RangeInputProducer(const Scope& scope, const Input& limit,
                              const ProducerOptions& options = {});
// One row of each tensor, which have as many of them.
std::vector<Output> SliceInputProducer(const Scope& scope,
                                       const InputList& tensors,
                                       const ProducerOptions& options = {});

// A local variable of the paths that match, so that they are looked for once.
ops::Variable MatchFilenamesOnce(const Scope& scope, const Input& pattern,
                                 bool use_resource = true);

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_INPUT_PRODUCER_H_
