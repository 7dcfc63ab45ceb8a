// Shared helpers of input queue builders: the summary of a queue's fill level,
// and its QueueRunner.
//
// Errors stick to the scope. Threads: as the scope's.
#ifndef WEFT_LIBS_TRAIN_INPUT_QUEUES_QUEUE_FULLNESS_H_
#define WEFT_LIBS_TRAIN_INPUT_QUEUES_QUEUE_FULLNESS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libs/ops/resource/queue.h"
#include "libs/ops/scope.h"

namespace weft::train {

// Returns false, with an error in the scope, unless 0 < capacity.
bool CheckCapacity(const Scope& scope, int64_t capacity);

// Returns the scope in which TensorFlow creates FIFO queues: on the CPU,
// without control dependencies.
Scope QueueScope(const Scope& scope);

// Adds a QueueRunner that runs `enqueue_ops` and operations that close the
// queue, in this scope; `cancel_op`, if not null, replaces the operation that
// cancels.
void AddRunner(const Scope& scope, const ops::Queue& queue,
               std::vector<Operation> enqueue_ops, const Operation& cancel_op);

// Adds summary "NAME": `amount` (int32) divided by `capacity`.
void AddFullness(const Scope& scope, const std::string& name,
                 const Output& amount, int64_t capacity);

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_INPUT_QUEUES_QUEUE_FULLNESS_H_
