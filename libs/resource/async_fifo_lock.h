// AsyncFifoLock is an asynchronous lock. Callers get the lock one at a time, in
// FIFO order, and no thread is blocked while they wait.
//
// Threads: all methods may be called from any thread; the destructor must run
// last, when no caller waits. Callbacks run without a mutex held, on the thread
// of the caller, of the previous holder, or of the cancellation.
#ifndef WEFT_LIBS_RESOURCE_ASYNC_FIFO_LOCK_H_
#define WEFT_LIBS_RESOURCE_ASYNC_FIFO_LOCK_H_

#include <deque>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/async/cancellation.h"

namespace weft {

class AsyncFifoLock {
 public:
  using Begin = absl::AnyInvocable<void(absl::Status)>;

  AsyncFifoLock() : state_(std::make_shared<State>()) {}
  AsyncFifoLock(const AsyncFifoLock&) = delete;
  AsyncFifoLock& operator=(const AsyncFifoLock&) = delete;

  // Calls `begin` exactly once. The status is OK when the caller has the lock,
  // which it holds until End. If `step` is cancelled before, the status is the
  // cause, and the caller does not get the lock. `step` must live until `begin`
  // is called. `begin` must be short, because it runs on the thread of the
  // previous holder.
  void Take(Cancellation& step, Begin begin);
  // Takes the lock if it is free. Otherwise returns false.
  bool TryTake();
  // Releases the lock. Must be called by the caller that holds it.
  void End();

 private:
  struct Waiter;
  struct State {
    absl::Mutex mutex;
    bool is_taken ABSL_GUARDED_BY(mutex) = false;
    std::deque<std::shared_ptr<Waiter>> waiting ABSL_GUARDED_BY(mutex);
  };

  static void Cancel(State& state, const std::shared_ptr<Waiter>& waiter,
                     const absl::Status& cause);

  // The state is shared with the callbacks of cancellations.
  const std::shared_ptr<State> state_;
};

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_ASYNC_FIFO_LOCK_H_
