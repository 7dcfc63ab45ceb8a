// How full a queue is, as a scalar summary, and the QueueRunner of a queue:
// what the builders of input queues have in common.
//
// Errors stick to the scope. Threads: as the scope's.
#ifndef WEFT_LIBS_TRAIN_QUEUE_FULLNESS_H_
#define WEFT_LIBS_TRAIN_QUEUE_FULLNESS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libs/ops/resource/queue.h"
#include "libs/ops/scope.h"

namespace weft::train {

// False, with an error in the scope, unless 0 < capacity.
bool CheckCapacity(const Scope& scope, int64_t capacity);

// Where TensorFlow puts a first-in-first-out queue: on the CPU, whatever the
// step depends on.
Scope QueueScope(const Scope& scope);

// Adds a QueueRunner that runs these, and operations that close the queue in
// this scope; `cancel_op` instead of one of them, where it is not null.
void AddRunner(const Scope& scope, const ops::Queue& queue,
               std::vector<Operation> enqueue_ops, const Operation& cancel_op);

// The summary "NAME": `amount`, an int32, of `capacity`.
void AddFullness(const Scope& scope, const std::string& name,
                 const Output& amount, int64_t capacity);

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_QUEUE_FULLNESS_H_
