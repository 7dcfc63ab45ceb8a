// Join waits for the parts of an operation without holding a thread. It counts
// the parts and keeps the error to report. EndPart tells its caller whether
// this was the last part. JoinCalls wraps a Join in a callback shared by
// several asynchronous calls.
//
// The error to report is the first error that is not derived (see MarkDerived),
// or the first error if all errors are derived.
#ifndef WEFT_LIBS_BASE_ASYNC_JOIN_H_
#define WEFT_LIBS_BASE_ASYNC_JOIN_H_

#include <atomic>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/status.h"

namespace weft {

// Join is thread-safe except for Begin. A part that ends with OK takes no lock.
// It sees the effects of the parts that ended before it.
class Join {
 public:
  // Starts an operation with `parts` parts. The caller that starts the parts
  // counts as one of them and must end its part last, so that the Join cannot
  // finish before all parts have started. May be called again for another
  // operation. REQUIRES: no part of an earlier operation is left.
  void Begin(int parts) { left_.store(parts, std::memory_order_relaxed); }
  // Adds a part. REQUIRES: another part is left and does not end during this
  // call.
  void AddPart() { left_.fetch_add(1, std::memory_order_relaxed); }

  // Records an error of a part that continues. OK has no effect.
  void AddError(const absl::Status& status) {
    if (status.ok()) return;
    absl::MutexLock lock(&mutex_);
    if (error_.ok() || (IsDerived(error_) && !IsDerived(status))) {
      error_ = status;
    }
  }

  // Ends a part. Returns true for the last part; its caller must continue the
  // operation. Otherwise the Join may already be destroyed when this returns.
  [[nodiscard]] bool EndPart(const absl::Status& status = absl::OkStatus()) {
    AddError(status);
    return left_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

  // Returns the error to report and clears it. Returns OK if no part had an
  // error.
  absl::Status TakeError() {
    absl::MutexLock lock(&mutex_);
    return std::exchange(error_, absl::OkStatus());
  }

 private:
  std::atomic<int> left_{0};
  absl::Mutex mutex_;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);
};

// Returns a callback for `calls` asynchronous calls. The callback and its
// copies must be called `calls` times in total, each with the status of one
// call, from any thread. The last call runs `done` with the error to report.
// REQUIRES: calls > 0.
inline auto JoinCalls(int calls, absl::AnyInvocable<void(absl::Status)> done) {
  struct State {
    Join join;
    absl::AnyInvocable<void(absl::Status)> done;
  };
  auto state = std::make_shared<State>();
  state->join.Begin(calls);
  state->done = std::move(done);
  return [state = std::move(state)](const absl::Status& status) {
    if (state->join.EndPart(status)) state->done(state->join.TakeError());
  };
}

}  // namespace weft

#endif  // WEFT_LIBS_BASE_ASYNC_JOIN_H_
