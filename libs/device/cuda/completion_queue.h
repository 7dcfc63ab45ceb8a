// CompletionQueue: calls back, in order, when what it was told of has come to
// pass. It has no thread: one of the Scheduler's waits while there is anything
// to wait for.
#ifndef WEFT_LIBS_DEVICE_CUDA_COMPLETION_QUEUE_H_
#define WEFT_LIBS_DEVICE_CUDA_COMPLETION_QUEUE_H_

#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "libs/base/scheduler.h"

namespace weft {

// Thread-safe.
class CompletionQueue {
 public:
  // Returns when it has come to pass, or never will.
  using Wait = absl::AnyInvocable<absl::Status()>;
  using Done = absl::AnyInvocable<void(absl::Status)>;

  // `scheduler` outlives the queue; Pool::kOwnThread waits.
  explicit CompletionQueue(Scheduler& scheduler);
  // Drains.
  ~CompletionQueue();

  // Calls `wait` after those added before, then `done` with what it returned.
  // No lock is held meanwhile, and both are destroyed before the next is
  // waited for.
  void Add(Wait wait, Done done);

  // Returns when all that was added has been done, also by a `done`; false when
  // there was nothing. REQUIRES: it isn't called by a `done` or a `wait`, nor
  // by two at once.
  bool Drain();

  // Whether the calling thread is in a `wait` or a `done` of this queue, or
  // destroys one.
  bool IsCalledBack() const;

 private:
  struct State;
  static void Run(const std::shared_ptr<State>& state);

  // The thread keeps it until it has left.
  const std::shared_ptr<State> state_;
};

}  // namespace weft

#endif  // WEFT_LIBS_DEVICE_CUDA_COMPLETION_QUEUE_H_
