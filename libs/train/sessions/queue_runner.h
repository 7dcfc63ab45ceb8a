// QueueRunner describes threads that fill a queue during a session, and close
// it when the input has ended, like TensorFlow's tf.train.QueueRunner.
//
//   train::AddQueueRunner(root, {.queue = queue, .enqueue_ops = {enqueue},
//                                .close_op = close, .cancel_op = cancel});
//   ...
//   train::StartQueueRunners(root, *session, coordinator);
//
// A MonitoredSession starts the queue runners of its graph. They are stored in
// collection "queue_runners" as TensorFlow's QueueRunnerDef
// (schemas/tf/queue_runner.proto), so a MetaGraph contains them.
#ifndef WEFT_LIBS_TRAIN_SESSIONS_QUEUE_RUNNER_H_
#define WEFT_LIBS_TRAIN_SESSIONS_QUEUE_RUNNER_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libs/ops/scope.h"
#include "libs/session/session.h"
#include "libs/train/sessions/coordinator.h"

namespace weft::train {

struct QueueRunner {
  Output queue;
  // One thread runs each entry; an operation may occur several times.
  std::vector<Operation> enqueue_ops;
  // Operation that closes the queue, whose elements can still be dequeued.
  // Null: AddQueueRunner creates the operation.
  Operation close_op;
  // Operation that closes the queue and cancels pending enqueues. Null:
  // AddQueueRunner creates the operation.
  Operation cancel_op;
  // Error codes of enqueue_ops that only end the thread: the input has ended.
  // The last such thread closes the queue.
  std::vector<absl::StatusCode> queue_closed_exception_types = {
      absl::StatusCode::kOutOfRange};
};

// Starts the threads on the coordinator, and one that runs cancel_op when a
// stop is requested: as in TensorFlow, the queue is then closed for all
// sessions that share it. Errors other than queue_closed_exception_types
// request a stop. After UNAVAILABLE and ABORTED, a lost session, cancel_op is
// not run, because a queue that outlives the session would stay closed; closing
// the session ends pending steps. `session` must live until the threads have
// ended. Any thread.
void StartQueueRunner(const QueueRunner& runner, Session& session,
                      Coordinator& coordinator);

// Adds `runner` to collection "queue_runners", and creates missing operations
// at the root of the graph ("NAME_Close"). Errors stick to the scope:
// INVALID_ARGUMENT if it has no queue or no enqueue_ops. Threads: as the
// scope's.
void AddQueueRunner(const Scope& scope, const QueueRunner& runner);

// Returns the queue runners of the collection. INVALID_ARGUMENT if a queue
// runner names nodes that the graph does not have.
absl::StatusOr<std::vector<QueueRunner>> QueueRunners(const Scope& scope);

// Starts the queue runners of the collection. Adds no node to the graph.
absl::Status StartQueueRunners(const Scope& scope, Session& session,
                               Coordinator& coordinator);

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SESSIONS_QUEUE_RUNNER_H_
