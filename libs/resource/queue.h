// Queue holds elements on a device between steps, like TensorFlow's queues. It
// is a bounded store with the enqueues and dequeues that wait for it.
//
// Waiting calls do not block a thread; they leave a callback. Enqueues are
// served in FIFO order, and so are dequeues. An enqueue never waits for an
// earlier dequeue, and a dequeue never waits for an earlier enqueue. A dequeue
// whose step is cancelled while it waits takes no elements: the elements that
// it had gathered return to their place.
//
// Rules and error texts are TensorFlow's (core/kernels/queue_base.cc,
// fifo_queue.cc, random_shuffle_queue_op.cc).
//
// Threads: all methods may be called from any thread. Callbacks run without a
// lock held, on the thread of the caller, of another call that let this one
// complete, or of the cancellation.
#ifndef WEFT_LIBS_RESOURCE_QUEUE_H_
#define WEFT_LIBS_RESOURCE_QUEUE_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/async/cancellation.h"
#include "libs/resource/queue_store.h"
#include "libs/resource/resource.h"
#include "libs/tensor/tensor.h"

namespace weft {

struct QueueOptions {
  std::string kind;  // "FIFOQueue", for error texts
  DataTypeVector types;
  // One shape for each component. If it is empty, any shape is accepted.
  std::vector<PartialShape> shapes;
  int64_t capacity = -1;  // in elements; negative: unbounded
  // The number of elements that stay in an open queue, so that random draws
  // have enough elements to choose from.
  int64_t min_after_dequeue = 0;
};

// A Queue must be owned by a shared_ptr, because waiting calls keep it alive.
class Queue : public Resource, public std::enable_shared_from_this<Queue> {
 public:
  static constexpr absl::string_view kTypeName = "Queue";

  // The callback of a dequeue gets the elements or an error.
  using Dequeued =
      absl::AnyInvocable<void(absl::StatusOr<std::vector<QueueElement>>)>;
  using Done = absl::AnyInvocable<void(absl::Status)>;

  // `name` is used in error texts.
  Queue(std::string name, QueueOptions options,
        std::unique_ptr<QueueStore> store);

  absl::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override;

  const std::string& name() const { return name_; }
  const QueueOptions& options() const { return options_; }
  int64_t size() const;
  bool is_closed() const;

  // Returns OK if the components have the types and shapes of the queue, else
  // INVALID_ARGUMENT. With `is_batch`, each component has one more leading
  // dimension, which has the same size for all components.
  absl::Status Check(absl::Span<const Tensor> components, bool is_batch) const;
  // Returns OK if a node that requests `wanted` may share this queue, else
  // INVALID_ARGUMENT.
  absl::Status CheckShared(const QueueOptions& wanted) const;

  // The next three methods call `done` exactly once. `step` must live until
  // then; if it is cancelled, the call ends.

  // Adds elements, each as soon as there is capacity. Calls `done` with
  // CANCELLED if the queue is closed. REQUIRES: Check accepted each element.
  void Enqueue(Cancellation& step, std::vector<QueueElement> elements,
               Done done);
  // Takes `count` elements. With `or_fewer`, a closed queue returns the
  // elements that are left. Calls `done` with OUT_OF_RANGE if the queue can
  // never have enough elements. REQUIRES: count > 0.
  void Dequeue(Cancellation& step, int64_t count, bool or_fewer, Dequeued done);
  // Closes the queue to new elements. Without `cancel_pending_enqueues`, the
  // queue closes after the waiting enqueues have completed. With it, the queue
  // closes at once. Calls `done` with CANCELLED if the queue is already closed.
  void Close(Cancellation& step, bool cancel_pending_enqueues, Done done);

 private:
  struct Attempt;
  using Attempts = std::deque<std::shared_ptr<Attempt>>;
  using Finished = std::vector<std::shared_ptr<Attempt>>;
  enum class Progress { kNone, kSome, kOver };

  void Submit(std::shared_ptr<Attempt> attempt);
  // Closes the queue and ends the waiting enqueues with CANCELLED.
  absl::Status CloseAtOnce(const Cancellation& step, Finished& finished)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends an attempt whose step was cancelled.
  void Cancel(const std::shared_ptr<Attempt>& attempt,
              const absl::Status& cause);
  // Calls the callbacks of completed attempts.
  static void Finish(const Finished& finished);

  // Lets the first waiting enqueue and dequeue continue until neither can make
  // progress.
  void Advance(Finished& finished) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool AdvanceFirst(Attempts& attempts, Finished& finished)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Progress Try(Attempt& attempt) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Progress TryEnqueue(Attempt& attempt) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Progress TryClose(Attempt& attempt) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Progress TryDequeue(Attempt& attempt) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void GiveBack(Attempt& attempt) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Attempts& WaitingWith(const Attempt& attempt)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string Title() const;

  const std::string name_;
  const QueueOptions options_;
  mutable absl::Mutex mutex_;
  const std::unique_ptr<QueueStore> store_ ABSL_PT_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  Attempts enqueues_ ABSL_GUARDED_BY(mutex_);  // enqueues and closes
  Attempts dequeues_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_QUEUE_H_
