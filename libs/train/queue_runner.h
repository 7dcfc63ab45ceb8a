// QueueRunner: threads that fill a queue as long as a session lasts, and close
// it when the input has ended; TensorFlow's tf.train.QueueRunner.
//
//   train::AddQueueRunner(root, {.queue = queue, .enqueue_ops = {enqueue},
//                                .close_op = close, .cancel_op = cancel});
//   ...
//   train::StartQueueRunners(root, *session, coordinator);
//
// A MonitoredSession starts those of its graph by itself. They lie in
// collection "queue_runners" as TensorFlow's QueueRunnerDef
// (schemas/tf/queue_runner.proto), so a MetaGraph brings them along.
#ifndef WEFT_LIBS_TRAIN_QUEUE_RUNNER_H_
#define WEFT_LIBS_TRAIN_QUEUE_RUNNER_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libs/ops/scope.h"
#include "libs/session/session.h"
#include "libs/train/coordinator.h"

namespace weft::train {

struct QueueRunner {
  Output queue;
  // One thread runs each; the same operation may be there several times.
  std::vector<Operation> enqueue_ops;
  // Closes the queue: elements that are there can still be taken. Null:
  // AddQueueRunner makes it.
  Operation close_op;
  // Closes it and cancels enqueues that wait. Null: likewise.
  Operation cancel_op;
  // Errors of enqueue_ops that end a thread and nothing else: the input has
  // ended. The last thread to end so closes the queue.
  std::vector<absl::StatusCode> queue_closed_exception_types = {
      absl::StatusCode::kOutOfRange};
};

// Starts its threads with the coordinator, and one that cancels what waits when
// that is asked to stop: as in TensorFlow the queue is closed then, for whoever
// shares it, too. Other errors than the ones above ask it to stop. After
// UNAVAILABLE and ABORTED, a lost session, nothing is cancelled, for a queue
// that outlives the session would stay closed: closing the session ends what
// waits. `session` lives until threads have ended. Any thread.
void StartQueueRunner(const QueueRunner& runner, Session& session,
                      Coordinator& coordinator);

// Into collection "queue_runners", with operations of the graph's root for
// those that it has not ("NAME_Close"). Errors stick to the scope:
// INVALID_ARGUMENT where it has no queue or nothing to run. Threads: as the
// scope's.
void AddQueueRunner(const Scope& scope, const QueueRunner& runner);

// Those of the collection. INVALID_ARGUMENT where it names nodes that the graph
// has not.
absl::StatusOr<std::vector<QueueRunner>> QueueRunners(const Scope& scope);

// Starts those of the collection. Adds nothing to the graph.
absl::Status StartQueueRunners(const Scope& scope, Session& session,
                               Coordinator& coordinator);

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_QUEUE_RUNNER_H_
