// CompletionQueue runs callbacks, in order, when the waits added before them
// have ended. It has no thread of its own: one of the Scheduler's waits while
// the queue is not empty.
#ifndef WEFT_LIBS_DEVICE_CUDA_COMPLETION_QUEUE_H_
#define WEFT_LIBS_DEVICE_CUDA_COMPLETION_QUEUE_H_

#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "libs/base/scheduler/scheduler.h"

namespace weft {

// Thread-safe.
class CompletionQueue {
 public:
  // Returns when the awaited work has ended, or never will.
  using Wait = absl::AnyInvocable<absl::Status()>;
  using Done = absl::AnyInvocable<void(absl::Status)>;

  // `scheduler` must outlive the queue; Pool::kUnbounded waits.
  explicit CompletionQueue(Scheduler& scheduler);
  // Drains.
  ~CompletionQueue();

  // Calls `wait` after all entries added earlier, then `done` with the result
  // of `wait`. No lock is held during these calls. Both callbacks are destroyed
  // before the next entry's `wait`.
  void Add(Wait wait, Done done);

  // Returns when everything added has been done, also by a `done`; returns
  // false if the queue was empty. REQUIRES: not called by a `done` or a `wait`,
  // nor concurrently.
  bool Drain();

  // Whether the calling thread runs a `wait` or a `done` of this queue, or a
  // destructor of such a callback.
  bool IsCalledBack() const;

 private:
  struct State;
  static void Run(const std::shared_ptr<State>& state);

  // The thread keeps it alive until it has left.
  const std::shared_ptr<State> state_;
};

}  // namespace weft

#endif  // WEFT_LIBS_DEVICE_CUDA_COMPLETION_QUEUE_H_
