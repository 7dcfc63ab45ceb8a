// AsyncFifoLock is an asynchronous lock: callers get it one at a time, in FIFO
// order, and wait without a thread.
//
// Threads: all methods may be called from any thread; the destructor must run
// last, when no caller waits. Callbacks run without a lock held, on the thread
// of the caller, of the previous turn, or of the cancellation.
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

  // Calls `begin` exactly once: with OK when the caller has the turn, which
  // lasts until End; or with the cause if `step` is cancelled before, without
  // the turn. `step` must live until then. `begin` must be short: it runs on
  // the thread that ended the previous turn.
  void Take(Cancellation& step, Begin begin);
  // Takes the turn if it is free; otherwise returns false.
  bool TryTake();
  // Must be called by the caller that has the turn.
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

  // Shared with the callbacks of cancellations.
  const std::shared_ptr<State> state_;
};

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_ASYNC_FIFO_LOCK_H_
