// Cancellation ends one step or call early. It keeps the first cause and calls
// the registered callbacks. It corresponds to TensorFlow's CancellationManager.
//
// Threads: all methods may be called from any thread. Callbacks run on the
// thread that cancels, without a lock held.
#ifndef WEFT_LIBS_BASE_ASYNC_CANCELLATION_H_
#define WEFT_LIBS_BASE_ASYNC_CANCELLATION_H_

#include <atomic>
#include <cstdint>
#include <thread>

#include "absl/container/btree_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace weft {

class Cancellation {
 public:
  using Callback = absl::AnyInvocable<void(const absl::Status& cause)>;
  using Token = uint64_t;  // never 0

  Cancellation() = default;
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  // Cancels with `cause`, an error. Only the first call has an effect: it keeps
  // its cause and calls every registered callback once with it, in the order of
  // registration, before it returns.
  void Cancel(absl::Status cause);

  // Returns whether Cancel was called. Costs one atomic load, so kernels may
  // call it often.
  bool IsCancelled() const {
    return cancelled_.load(std::memory_order_acquire);
  }

  // Returns the cause, or OK while not cancelled.
  absl::Status status() const;

  // Registers `callback`. If already cancelled, returns 0 and drops the
  // callback; the caller must then handle the cancellation itself.
  Token Register(Callback callback);

  // Removes the callback. When this returns, the callback has run or never
  // will. Blocks while the callback runs, so the caller must not hold a lock
  // that the callback takes. A callback may deregister itself. Returns true if
  // the callback never ran.
  bool Deregister(Token token);

 private:
  // Runs the oldest callback that has not run yet. Returns false if all
  // callbacks have run.
  bool RunNextCallback(const absl::Status& cause);

  std::atomic<bool> cancelled_{false};
  mutable absl::Mutex mutex_;
  absl::CondVar callback_finished_;
  absl::Status cause_ ABSL_GUARDED_BY(mutex_);
  std::thread::id canceller_ ABSL_GUARDED_BY(mutex_);
  // The callback that runs now, or 0 if no callback runs.
  Token running_ ABSL_GUARDED_BY(mutex_) = 0;
  Token next_token_ ABSL_GUARDED_BY(mutex_) = 1;
  // The map is ordered, so that a simulated run can be repeated exactly.
  absl::btree_map<Token, Callback> callbacks_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_ASYNC_CANCELLATION_H_
