// Queue: elements that wait on a device between steps, as TensorFlow's queues
// do: a bounded store, and the enqueues and dequeues that wait for it.
//
// Nobody waits with a thread: who can't go on leaves a function to call. Calls
// are served in the order in which they came, enqueues and dequeues apart; an
// enqueue never waits for a dequeue that came before it, nor the reverse.
// Elements of a step that is cancelled while it waits to take them stay: what
// it had gathered goes back to where it was.
//
// Rules and error texts are TensorFlow's (core/kernels/queue_base.cc,
// fifo_queue.cc, random_shuffle_queue_op.cc).
//
// Threads: all methods may be called from any thread. Functions given run
// without a lock held, on the caller's thread, on that of the call that made it
// possible, or on that of the cancellation.
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
#include "libs/base/cancellation.h"
#include "libs/resource/queue_store.h"
#include "libs/resource/resource.h"
#include "libs/tensor/tensor.h"

namespace weft {

struct QueueOptions {
  std::string kind;  // "FIFOQueue", for texts
  DataTypeVector types;
  // One for each component, or none: then any shape will do.
  std::vector<PartialShape> shapes;
  int64_t capacity = -1;  // elements; negative: no bound
  // As long as the queue is open, this many stay: they mix what is drawn.
  int64_t min_after_dequeue = 0;
};

// Held by shared_ptr: who waits keeps it.
class Queue : public Resource, public std::enable_shared_from_this<Queue> {
 public:
  static constexpr absl::string_view kTypeName = "Queue";

  // Dequeues: OK with the elements, or an error and none.
  using Dequeued =
      absl::AnyInvocable<void(absl::StatusOr<std::vector<QueueElement>>)>;
  using Done = absl::AnyInvocable<void(absl::Status)>;

  // `name` is for error texts.
  Queue(std::string name, QueueOptions options,
        std::unique_ptr<QueueStore> store);

  absl::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override;

  const std::string& name() const { return name_; }
  const QueueOptions& options() const { return options_; }
  int64_t size() const;
  bool is_closed() const;

  // INVALID_ARGUMENT unless the components are what the queue holds; with
  // `is_batch` each has one more dimension in front, of one size for all.
  absl::Status Check(absl::Span<const Tensor> components, bool is_batch) const;
  // INVALID_ARGUMENT unless a node that asks for `wanted` may share this queue.
  absl::Status CheckShared(const QueueOptions& wanted) const;

  // For all three: `done` is called exactly once; `step` lives until then and
  // ends the call when it is cancelled.

  // Adds elements, each as soon as there is room. CANCELLED when the queue is
  // closed. REQUIRES: each has been checked.
  void Enqueue(Cancellation& step, std::vector<QueueElement> elements,
               Done done);
  // Takes `count` elements, or with `or_fewer`, once the queue is closed, those
  // that are left. OUT_OF_RANGE when there will never be enough.
  // REQUIRES: count > 0.
  void Dequeue(Cancellation& step, int64_t count, bool or_fewer, Dequeued done);
  // Refuses elements from now on, once those that wait to be added are, or,
  // with `cancel_pending_enqueues`, at once. CANCELLED when it is closed.
  void Close(Cancellation& step, bool cancel_pending_enqueues, Done done);

 private:
  struct Attempt;
  using Attempts = std::deque<std::shared_ptr<Attempt>>;
  using Finished = std::vector<std::shared_ptr<Attempt>>;
  enum class Progress { kNone, kSome, kOver };

  void Submit(std::shared_ptr<Attempt> attempt);
  // Also ends the enqueues that wait.
  absl::Status CloseAtOnce(const Cancellation& step, Finished& finished)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The step of an attempt was cancelled.
  void Cancel(const std::shared_ptr<Attempt>& attempt,
              const absl::Status& cause);
  // Calls what was waiting.
  static void Finish(const Finished& finished);

  // Lets those that are first go on until none can.
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
  Attempts enqueues_ ABSL_GUARDED_BY(mutex_);  // and closes
  Attempts dequeues_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_QUEUE_H_
