// Shared helpers of input queue builders: the summary of a queue's fill level,
// and its QueueRunner.
//
// Errors stick to the scope. The functions are as thread-safe as the scope.
#ifndef WEFT_LIBS_TRAIN_INPUT_QUEUES_QUEUE_FULLNESS_H_
#define WEFT_LIBS_TRAIN_INPUT_QUEUES_QUEUE_FULLNESS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libs/ops/resource/queue.h"
#include "libs/ops/scope.h"

namespace weft::train {

// Returns false, with an error in the scope, if `capacity` is not positive.
bool CheckCapacity(const Scope& scope, int64_t capacity);

// Returns the scope in which TensorFlow creates FIFO queues: on the CPU,
// without control dependencies.
Scope QueueScope(const Scope& scope);

// Adds a QueueRunner to the scope's graph. The runner runs `enqueue_ops`, and
// at the end an operation that closes the queue. To cancel the queue it runs
// `cancel_op` or, if that is null, an operation that this function creates.
void AddRunner(const Scope& scope, const ops::Queue& queue,
               std::vector<Operation> enqueue_ops, const Operation& cancel_op);

// Adds summary `name` with the value `amount` (int32) / `capacity`.
void AddFullness(const Scope& scope, const std::string& name,
                 const Output& amount, int64_t capacity);

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_INPUT_QUEUES_QUEUE_FULLNESS_H_
